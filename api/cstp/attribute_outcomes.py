"""cstp.attributeOutcomes: review decisions by their pull requests, with evidence from the caller."""

from collections.abc import Mapping
from typing import Any

from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import ParameterError, ParamsSchema, check_errors
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.ledger import LedgerService
from api.service.outcome_attribution import (
    AttributionQuery,
    Candidate,
    OutcomeEvidence,
    attribute_candidates,
)
from events.limits import ITEMS_MAX

PR_DIGITS_MAX = 15

ADVICE = (
    "Age alone does not prove success, so these stay unreviewed. Pass "
    'evidence {"<pr>": {"outcome": "success", "text": "how you know"}} for the pull requests that you know about, or '
    "call cstp.reviewDecision."
)


_schema: ParamsSchema[AttributionQuery] = ParamsSchema(
    AttributionQuery, types={"project": str | None}, defaults={"project": ""}, without=("evidence",), reads=True
)
_evidence: ParamsSchema[OutcomeEvidence] = ParamsSchema(OutcomeEvidence)


async def attribute_outcomes(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Review the unreviewed decisions of a project that have a pull request and are old enough.

    `evidence` maps a pull request to a text, or to {outcome, text}; the default outcome is success. Decisions with
    evidence are reviewed in the caller's name, with the text as notes: `stable` is their number. The others are not
    reviewed: `skipped` is their number.
    """
    errors: list[ParameterError] = []
    values, evidence = _schema.convert(params, errors), _parse_evidence(params.get("evidence"), errors)
    check_errors(errors)
    query = AttributionQuery(**values, evidence=evidence)
    if not query.project:
        raise RpcError(INVALID_PARAMS, "project is required", {"fields": ["project"]})
    now = ledger.clock()
    attribution = await attribute_candidates(ledger, caller, query)
    candidates = attribution.candidates
    stable = sum(candidate.updated for candidate in candidates)
    answer: dict[str, object] = {
        "processed": attribution.processed,
        "attributed": {"stable": stable, "skipped": attribution.processed - stable},
        "decisions": [_row(candidate, query) for candidate in candidates],
        "queryTime": now.isoformat(),
    }
    if any(candidate.evidence is None for candidate in candidates):
        answer["note"] = ADVICE
    if unused := sorted(set(evidence) - {candidate.pr for candidate in candidates}):
        answer["unusedEvidence"] = [str(pr) for pr in unused]
    return answer


def _parse_evidence(param: object, errors: list[ParameterError]) -> dict[int, OutcomeEvidence]:
    """Return the evidence by the number of its pull request."""
    if param is None:
        return {}
    if not isinstance(param, Mapping) or len(param) > ITEMS_MAX:
        errors.append(
            ParameterError("evidence", f"must be an object of at most {ITEMS_MAX} pull requests, each text or object")
        )
        return {}
    by_pr: dict[int, OutcomeEvidence] = {}
    for name, value in param.items():
        if not (name.isascii() and name.isdigit() and len(name) <= PR_DIGITS_MAX):
            errors.append(ParameterError(f"evidence.{name}", "must be named by the number of a pull request"))
            continue
        fields = {"text": value} if isinstance(value, str) else value
        evidence = _evidence.convert_object(fields, errors, f"evidence.{name}")
        if evidence is not None:
            by_pr[int(name)] = evidence
    return by_pr


def _row(candidate: Candidate, query: AttributionQuery) -> dict[str, object]:
    evidence = candidate.evidence
    row: dict[str, object] = {
        "id": candidate.decision_id,
        "outcome": evidence.outcome if evidence is not None else "pending",
        "reason": f"PR #{candidate.pr} stable for {query.stability_days} days",
        "path": f"decision/{candidate.decision_id}",
        "updated": candidate.updated,
    }
    if evidence is None:
        row["note"] = "No evidence: not reviewed."
    elif query.dry_run:
        row["note"] = "Dry run: not reviewed."
    elif not candidate.updated:
        row["note"] = "Another caller reviewed it meanwhile."
    return row

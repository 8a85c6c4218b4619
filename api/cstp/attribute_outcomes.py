"""cstp.attributeOutcomes: review decisions by their pull requests, from evidence that the caller gives."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

import msgspec

from api.auth import Principal
from api.cstp.jsonrpc import RpcError
from api.cstp.params import ParameterError, ParamsSchema, parse_period, refuse_params
from api.errors import INVALID_PARAMS
from api.service.ledger import LedgerService
from api.service.outcome_attribution import AttributionQuery, Candidate, OutcomeEvidence, attribute
from events.decision import Outcome
from events.limits import ITEMS_MAX
from events.payload import Text

STABILITY_DAYS = 14
STABILITY_DAYS_MAX = 36_500

ADVICE = (
    "Age alone does not prove success, so these stay unreviewed. Pass "
    'evidence {"<pr>": {"outcome": "success", "text": "how you know"}} for the pull requests that you know about, or '
    "call cstp.reviewDecision."
)


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    project: str | None = None
    since: str | None = None
    stability_days: Annotated[int, msgspec.Meta(ge=0, le=STABILITY_DAYS_MAX)] = STABILITY_DAYS
    dry_run: bool = False


class _Evidence(msgspec.Struct, frozen=True, kw_only=True):
    outcome: Outcome = "success"
    text: Text


_asked: ParamsSchema[_Asked] = ParamsSchema(_Asked)
_evidence: ParamsSchema[_Evidence] = ParamsSchema(_Evidence)


async def attribute_outcomes(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Review the unreviewed decisions of a project that have a pull request and are old enough.

    `evidence` maps a pull request to a text, or to {outcome, text}; the default outcome is success. Decisions with
    evidence are reviewed in the caller's name, with the text as notes, and count as stable; the others are skipped.
    """
    wrong: list[ParameterError] = []
    values, evidence = _asked.take(params, wrong), _evidence_of(params.get("evidence"), wrong)
    if wrong:
        raise refuse_params(wrong)
    given = _Asked(**values)
    if not given.project:
        raise RpcError(INVALID_PARAMS, "project is required", {"fields": ["project"]})
    now, dry_run = ledger.clock(), given.dry_run
    since = parse_period(given.since or None, None, now).since
    age = timedelta(days=given.stability_days)
    asked = AttributionQuery(project=given.project, since=since, age=age, evidence=evidence, dry_run=dry_run)
    found = await attribute(ledger, caller, asked)
    stable = sum(one.updated for one in found.candidates)
    answer: dict[str, object] = {
        "processed": found.processed,
        "attributed": {"stable": stable, "skipped": found.processed - stable},
        "decisions": [_row(one, given.stability_days, dry_run=dry_run) for one in found.candidates],
        "queryTime": now.isoformat(),
    }
    if any(one.evidence is None for one in found.candidates):
        answer["note"] = ADVICE
    if unused := sorted(set(evidence) - {one.pr for one in found.candidates}):
        answer["unusedEvidence"] = [str(pr) for pr in unused]
    return answer


def _evidence_of(given: object, wrong: list[ParameterError]) -> dict[int, OutcomeEvidence]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or len(given) > ITEMS_MAX:
        wrong.append(
            ParameterError("evidence", f"must be an object of at most {ITEMS_MAX} pull requests, each text or object")
        )
        return {}
    found: dict[int, OutcomeEvidence] = {}
    for name, value in given.items():
        if not (name.isascii() and name.isdigit() and len(name) < len(str(2**53))):
            wrong.append(ParameterError(f"evidence.{name}", "must be named by the number of a pull request"))
            continue
        one = _evidence.make({"text": value} if isinstance(value, str) else value, wrong, f"evidence.{name}")
        if one is not None:
            found[int(name)] = OutcomeEvidence(outcome=one.outcome, text=one.text)
    return found


def _row(candidate: Candidate, stability_days: int, *, dry_run: bool) -> dict[str, object]:
    evidence = candidate.evidence
    row: dict[str, object] = {
        "id": candidate.decision_id,
        "outcome": evidence.outcome if evidence is not None else "pending",
        "reason": f"PR #{candidate.pr} stable for {stability_days} days",
        "path": f"decision/{candidate.decision_id}",
        "updated": candidate.updated,
    }
    if evidence is None:
        row["note"] = "No evidence: not reviewed."
    elif dry_run:
        row["note"] = "Dry run: not reviewed."
    elif not candidate.updated:
        row["note"] = "Another caller reviewed it meanwhile."
    return row

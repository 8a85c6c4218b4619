"""Use case: check a rule against people, on decisions that it reviewed, drawn at random."""

import secrets
from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from api.service.calibration_params import SEED_MAX
from api.service.decisions import decision_states
from api.service.ledger import View
from api.service.operation import operation
from api.service.review_sample import NEW_SEEDS
from api.service.unknown_names import find_unknown_names
from events.limits import PAGE_EVENTS_MAX
from ledger.errors import InvalidQuery
from projections.resolve.rule_audit import LABELS_MIN, Stratum, corrected_rate, error_of
from projections.resolve.rules import ALL_OF, ANY_OF, RULES
from projections.resolve.stated_tests import DecisionWithTest, StatedTests
from projections.stats.random_sample import draw_sample
from tallystick.shapes.tests import AuditedDecision, RuleAudit

SIZE_DEFAULT = 40
_VALUES = {"success": 1.0, "partial": 0.5, "failure": 0.0, "abandoned": 0.0}


class RuleAuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which rule is checked, and on how many decisions."""

    rule: Annotated[str, Meta(description="The rule, such as `git.kept`.")]
    size: Annotated[int, Meta(ge=1, le=PAGE_EVENTS_MAX, description="How many decisions to name.")] = SIZE_DEFAULT
    seed: Annotated[
        int | None, Meta(ge=0, le=SEED_MAX, description="The seed of the sample; without it, a new one.")
    ] = None
    drawn_at: Annotated[
        int | None, Meta(ge=0, description="Draw from what the rule had reviewed at this position; by default `as_of`.")
    ] = None


@operation("/tests/audit", "tests")
async def get_rule_audit(view: View, params: RuleAuditQuery) -> RuleAudit:
    """Draw decisions that a rule reviewed, to be reviewed by people without knowing its verdict.

    The answer states `seed` and `drawn_at`, which draw the same decisions again. When all are reviewed, it says how
    often people disagree with each verdict, and corrects the rule's success rate.
    """
    # Within each verdict uniformly, without replacement; half of the sample from each as far as there are so many.
    projection, position = await view.at(StatedTests)
    drawn_at = position if params.drawn_at is None else params.drawn_at
    if drawn_at > position:
        detail = f"{drawn_at} is beyond {position}, the position of the answer."
        raise InvalidQuery("drawn_at", detail, "Name the position that the sample was drawn at.")
    known = {*RULES, ALL_OF, ANY_OF}
    by_verdict = {
        verdict: projection.reviewed_by_rule(params.rule, verdict, drawn_at) for verdict in ("success", "failure")
    }
    seed = secrets.randbelow(NEW_SEEDS) if params.seed is None else params.seed
    half, sizes = (params.size + 1) // 2, {verdict: len(found) for verdict, found in by_verdict.items()}
    failures = min(sizes["failure"], max(half, params.size - sizes["success"]))
    wanted = {"failure": failures, "success": min(sizes["success"], params.size - failures)}
    drawn = {
        verdict: [found[place] for place in draw_sample(len(found), wanted[verdict], seed)]
        for verdict, found in by_verdict.items()
    }
    sample = sorted((one for some in drawn.values() for one in some), key=lambda one: one.test.position)
    states = await decision_states(view, [f"decision/{one.decision_id}" for one in sample], position)
    labels = {
        verdict: [_VALUES[one.person_outcome] for one in some if one.person_outcome] for verdict, some in drawn.items()
    }
    reviewed = sum(map(len, labels.values()))
    is_over = bool(sample) and reviewed == sum(not one.is_retracted for one in sample)
    strata = [
        Stratum(sizes[verdict], _VALUES[verdict], [label - _VALUES[verdict] for label in some])
        for verdict, some in labels.items()
    ]
    return RuleAudit(
        rule=params.rule,
        seed=seed,
        drawn_at=drawn_at,
        total=sum(sizes.values()),
        decisions=[
            AuditedDecision(
                decision_id=state.decision_id,
                agent=state.agent,
                recorded_at=state.recorded_at,
                decision=state.decision.decision,
                is_reviewed=one.person_outcome is not None,
                command=f"tallystick review {state.decision_id} --outcome OUTCOME",
            )
            for one, state in zip(sample, states, strict=True)
            if not one.is_retracted
        ],
        reviewed=reviewed,
        checked=_checked(params.rule, reviewed),
        wrong_successes=error_of(labels["success"], passed=True) if is_over else None,
        wrong_failures=error_of(labels["failure"], passed=False) if is_over else None,
        corrected=corrected_rate(strata) if is_over and reviewed >= LABELS_MIN else None,
        as_of=await view.dated(position),
        unknown_names=UNSET if sample else find_unknown_names({"rule": params.rule}, {"rule": known}),
    )


def _labels(decisions: Iterable[DecisionWithTest]) -> list[float]:
    """Return what people found. A retracted decision needs no review."""
    kept = [one.person_outcome for one in decisions if not one.is_retracted]
    return [_VALUES[outcome] for outcome in kept if outcome is not None]


def _checked(rule: str, reviewed: int) -> str:
    if reviewed < LABELS_MIN:
        return f"{rule} has not been checked against people: {reviewed} of at least {LABELS_MIN} reviews."
    return f"{rule} was checked against {reviewed:,} reviews of people."

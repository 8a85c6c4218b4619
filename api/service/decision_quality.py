"""Score how completely a decision is described, and suggest the missing parts."""

from collections.abc import Callable

import msgspec

from events.decision import DecisionRecordedV1


class Quality(msgspec.Struct, frozen=True):
    """A score of 0..1, and a suggestion for each missing part, the most important first."""

    score: float
    suggestions: list[str]


def quality_of(decision: DecisionRecordedV1) -> Quality:
    """Return the quality of a recorded decision."""
    checks = [(weight, test(decision), suggestion) for weight, test, suggestion in _CRITERIA]
    score = sum(weight for weight, passed, _ in checks if passed)
    return Quality(score / 100, [suggestion for _, passed, suggestion in checks if not passed])


def _has_step(decision: DecisionRecordedV1) -> bool:
    return bool(decision.trace) or (decision.deliberation is not None and bool(decision.deliberation.steps))


_CRITERIA: tuple[tuple[int, Callable[[DecisionRecordedV1], bool], str], ...] = (
    (15, lambda it: bool(it.pattern), "Add a pattern: the general rule this decision is a case of."),
    (15, lambda it: bool(it.tags), "Add tags, to find it by."),
    (15, lambda it: len({reason.type for reason in it.reasons}) >= 2, "Give reasons of at least two types."),
    (10, lambda it: it.bridge is not None, "Add a bridge: its structure and its function."),
    (10, lambda it: len(it.decision) > 20, "Say the decision in more than 20 characters."),
    (10, lambda it: len(it.context or "") > 10, "Give the context in more than 10 characters."),
    (10, lambda it: it.project is not None, "Name the project."),
    (10, _has_step, "Add at least one reasoning step (trace or deliberation.steps)."),
    (5, lambda it: bool(it.deliberation or it.pre_decision), "Add the deliberation, or what was checked before."),
)
"""Weight in hundredths, condition, and the suggestion if the condition is false."""

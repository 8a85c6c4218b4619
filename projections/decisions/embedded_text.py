"""The texts of a decision that an embeddings endpoint turns into vectors: the decision as it is now, and each thought.

An amendment or a review makes a new text of the decision. What describes it best comes first, because a text is cut at
TEXT_CHARS_MAX: endpoints refuse longer ones.
"""

from collections.abc import Iterable, Iterator

from events.decision import Bridge, DecisionRecorded

TEXT_CHARS_MAX = 8_000
"""Characters of a text that are embedded."""

REVIEW_FIELDS = ("outcome", "actual_result", "lessons", "notes")


def decision_text(decision: DecisionRecorded, review: dict[str, str]) -> str:
    """Return the text of a decision with the fields of its review."""
    return "\n".join(_lines(decision, review))[:TEXT_CHARS_MAX]


def thought_text(text: str) -> str:
    """Return the text of a thought."""
    return text[:TEXT_CHARS_MAX]


def query_text(query: str, side: str | None) -> str:
    """Return the text of a query; with `side`, in the form of that side of a bridge."""
    prefix = f"{side.capitalize()}: " if side is not None else ""
    return f"{prefix}{query}"[:TEXT_CHARS_MAX]


def _lines(decision: DecisionRecorded, review: dict[str, str]) -> Iterator[str]:
    bridge = decision.bridge or Bridge()
    yield decision.decision
    yield from _labelled("Context", (decision.context,))
    yield from _labelled("Category", (decision.category,))
    yield from _labelled("Pattern", (decision.pattern,))
    yield from _labelled("Tags", (", ".join(decision.tags),))
    yield from _labelled("Project", (decision.project,))
    yield from _labelled("Feature", (decision.feature,))
    yield from _labelled("Structure", (bridge.structure,))
    yield from _labelled("Function", (bridge.function,))
    for name in REVIEW_FIELDS:
        yield from _labelled(name.replace("_", " ").capitalize(), (review.get(name),))
    yield from _labelled("Reason", (reason.text for reason in decision.reasons))
    if decision.deliberation is not None:
        yield from _labelled("Thought", (step.thought for step in decision.deliberation.steps))
    yield from _labelled("Step", (step.thought for step in decision.trace))


def _labelled(label: str, texts: Iterable[str | None]) -> Iterator[str]:
    return (f"{label}: {text}" for text in texts if text)

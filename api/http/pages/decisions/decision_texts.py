"""The texts of one decision, in the order in which its page shows them."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from api.http.pages.decisions.long_texts import ITEMS_SHOWN, PageText, TextBudget
from api.reports.escape import one_line
from events.decision import (
    Bridge,
    DecisionThought,
    Deliberation,
    DeliberationInput,
    DeliberationStep,
    Reason,
    TraceStep,
)
from projections.decisions.decision_state import DecisionState, HistoryEntry

_Item = TypeVar("_Item")


class ShownText(NamedTuple):
    """A text with its heading, and what is known of it beside: strength (0..1), and facts in words."""

    heading: str
    text: PageText
    strength: float | None = None
    notes: Sequence[str] = ()


class TextGroup(NamedTuple):
    """Texts of one kind: the first ones, and how many there are in all."""

    shown: Sequence[ShownText]
    total: int


class ShownThought(NamedTuple):
    """A thought that was added, and the event that added it."""

    entry: HistoryEntry
    text: PageText


class DecisionTexts(NamedTuple):
    """Every text of a decision, cut so that the page stays small. `thoughts` are the latest."""

    main: TextGroup
    review: TextGroup
    reasons: TextGroup
    inputs: TextGroup
    steps: TextGroup
    trace: TextGroup
    bridge: TextGroup
    thoughts: Sequence[ShownThought]
    thought_total: int


class _Text(NamedTuple):
    heading: str
    text: str
    strength: float | None = None
    notes: Sequence[str | None] = ()


def read_texts(state: DecisionState, heading: str) -> DecisionTexts:
    """Return the texts of a decision, which is given with its history.

    `heading` is what the page has as its heading. If it is the whole statement, the statement is not repeated.
    """
    decision, budget = state.decision, TextBudget()
    deliberation = decision.deliberation or Deliberation()
    statement = None if one_line(decision.decision) == heading else decision.decision
    main = [("Decision", statement), ("Context", decision.context), ("Pattern", decision.pattern)]
    thoughts = [(entry, entry.data.text) for entry in state.history if isinstance(entry.data, DecisionThought)]
    return DecisionTexts(
        main=_group(budget, main, _named),
        review=_group(budget, _review_texts(state), _named),
        reasons=_group(budget, decision.reasons, _reason),
        inputs=_group(budget, deliberation.inputs, _input),
        steps=_group(budget, deliberation.steps, _step),
        trace=_group(budget, decision.trace, _trace_step),
        bridge=_group(budget, _bridge_texts(decision.bridge or Bridge()), _named),
        thoughts=[ShownThought(entry, budget.take(text)) for entry, text in thoughts[-ITEMS_SHOWN:]],
        thought_total=len(thoughts),
    )


def _group(budget: TextBudget, items: Iterable[_Item], read: Callable[[_Item], _Text]) -> TextGroup:
    texts = [text for text in map(read, items) if text.text or any(text.notes)]
    shown = [
        ShownText(text.heading, budget.take(text.text), text.strength, [note for note in text.notes if note])
        for text in texts[:ITEMS_SHOWN]
    ]
    return TextGroup(shown, len(texts))


def _named(named: tuple[str, str | None]) -> _Text:
    return _Text(named[0], named[1] or "")


def _reason(reason: Reason) -> _Text:
    return _Text(reason.type, reason.text, reason.strength)


def _input(item: DeliberationInput) -> _Text:
    return _Text(item.id, item.text, None, (item.source, item.timestamp))


def _step(step: DeliberationStep) -> _Text:
    notes = (
        step.type,
        f"uses {', '.join(step.inputs_used)}" if step.inputs_used else None,
        None if step.duration_ms is None else f"{step.duration_ms:,} ms",
        step.timestamp,
        "conclusion" if step.conclusion else None,
    )
    return _Text("" if step.step is None else str(step.step), step.thought, None, notes)


def _trace_step(step: TraceStep) -> _Text:
    notes = (
        None if step.confidence is None else f"confidence {step.confidence:g}",
        ", ".join(step.tags),
    )
    text = "\n".join(filter(None, (step.thought, step.output)))
    return _Text("" if step.step is None else str(step.step), text, None, notes)


def _bridge_texts(bridge: Bridge) -> Sequence[tuple[str, str | None]]:
    return [
        ("Structure", bridge.structure),
        ("Function", bridge.function),
        ("What may vary", "\n".join(bridge.tolerance)),
        ("What must stay true", "\n".join(bridge.enforcement)),
        ("What must not happen", "\n".join(bridge.prevention)),
    ]


def _review_texts(state: DecisionState) -> Sequence[tuple[str, str | None]]:
    review = state.review
    if review is None:
        return []
    return [("What happened", review.actual_result), ("Lessons", review.lessons), ("Notes", review.notes)]

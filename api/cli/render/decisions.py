"""Print a list of decisions, and one with its history."""

from collections.abc import Iterator

from msgspec import UNSET

from api.cli.output import figure, make_facts, open_console, print_note, table_of
from api.service.decisions import DecisionPage
from api.text_format import (
    format_count,
    format_figure,
    format_time,
    one_line,
    pluralize,
)
from projections.decisions.decision_state import DecisionState


def print_decisions(page: DecisionPage) -> None:
    """Print one line for each decision."""
    table = table_of(
        page.decisions,
        {"id": "decision_id", "time (UTC)": "recorded_at", "agent": "agent", "category": "decision.category",
         "stakes": "decision.stakes", "confidence": figure("decision.confidence"), "outcome": "review.outcome",
         "reviewed by": "review.reviewed_by", "decision": "decision.decision"},
        right=("confidence",), wrap=("agent", "category", "reviewed by"), cut=("decision",),
        drop=("reviewed by", "stakes", "category", "time (UTC)", "agent", "confidence", "decision"),
    )  # fmt: skip
    open_console().print(table)
    more = f" Next page: --offset {page.next}" if page.next is not None else ""
    print_note(f"{format_count(len(page.decisions))} of {pluralize(page.total, 'decision')}.{more}")
    if page.retrieval is not UNSET:
        note = f": {page.retrieval.note}" if page.retrieval.note is not None else ""
        print_note(f"Ranked by {page.retrieval.mode}{note or '.'}")


def print_decision(state: DecisionState) -> None:
    """Print the fields of a decision, its review, and its events."""
    console = open_console()
    console.print(f"{state.decision_id}  {one_line(state.decision.decision)}", style="bold")
    console.print(make_facts(_facts(state)))
    history = table_of(
        state.history,
        {"position": lambda entry: str(entry.position), "time (UTC)": "time", "type": "type", "agent": "agent"},
        right=("position",), wrap=("agent",),
    )  # fmt: skip
    console.print()
    console.print(history)


def _facts(state: DecisionState) -> Iterator[tuple[str, object]]:
    decision = state.decision
    yield "agent", state.agent
    yield "recorded", f"{format_time(state.recorded_at)} UTC"
    yield "confidence", format_figure(decision.confidence)
    for name in (
        "category",
        "stakes",
        "project",
        "feature",
        "cluster",
        "model",
        "reported_model",
        "context",
        "pattern",
    ):
        yield name.replace("_", " "), getattr(decision, name)
    yield "tags", decision.tags or None
    for reason in decision.reasons:
        yield reason.type, reason.text
    yield "superseded by", state.superseded_by or None
    if state.preserve:
        yield "preserved", "views of old decisions show it in full"
    if (retracted := state.retracted) is not None:
        yield "retracted", f"{format_time(retracted.at)} by {one_line(retracted.by)}: it counts in no figure"
        yield "why", retracted.reason
    if (review := state.review) is not None:
        reviewed = f"reviewed {format_time(review.reviewed_at)} by {one_line(review.reviewed_by)}"
        yield "outcome", f"{review.outcome}, {reviewed}"
        for name in ("actual_result", "lessons", "notes"):
            yield name.replace("_", " "), getattr(review, name)
    for thought in state.thoughts:
        yield "thought", thought

"""Print a list of decisions, and one with its history."""

from collections.abc import Iterator

from msgspec import UNSET

from api.cli.output import make_facts, make_table, open_console, print_note, truncate
from api.service.decisions import DecisionPage
from api.text_format import (
    format_count,
    format_figure,
    format_time,
    one_line,
    pluralize,
)
from projections.decisions.decision_state import DecisionState
from tallystick.shapes.decisions import Retraction, Review


def print_decisions(page: DecisionPage) -> None:
    """Print one line for each decision."""
    columns = (
        "id", "time (UTC)", "agent", "category", "stakes", "confidence", "outcome", "reviewed by", "decision",
    )  # fmt: skip
    table = make_table(
        *columns,
        right=("confidence",),
        wrap=("agent", "category", "reviewed by", "decision"),
        drop=("reviewed by", "stakes", "category", "time (UTC)", "agent", "confidence", "decision"),
    )
    for state in page.decisions:
        reviewer = state.review.reviewed_by if state.review is not None else "-"
        table.add_row(
            state.decision_id,
            format_time(state.recorded_at),
            one_line(state.agent),
            one_line(state.decision.category),
            state.decision.stakes or "-",
            format_figure(state.decision.confidence),
            state.review.outcome if state.review is not None else "-",
            one_line(reviewer),
            truncate(one_line(state.decision.decision)),
        )
    open_console().print(table)
    more = f" Next page: --offset {page.next}" if page.next is not None else ""
    print_note(f"{format_count(len(page.decisions))} of {pluralize(page.total, 'decision')}.{more}")
    if page.retrieval is not UNSET:
        note = f": {page.retrieval.note}" if page.retrieval.note is not None else ""
        print_note(f"Ranked by {page.retrieval.mode}{note or '.'}")


def print_decision(state: DecisionState) -> None:
    """Print the fields of a decision, its review, and its events."""
    console = open_console()
    decision = state.decision
    console.print(f"{state.decision_id}  {one_line(decision.decision)}", style="bold")
    fields = make_facts()
    fields.add_row("agent", one_line(state.agent))
    fields.add_row("recorded", f"{format_time(state.recorded_at)} UTC")
    fields.add_row("confidence", format_figure(decision.confidence))
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
        if (value := getattr(decision, name)) is not None:
            fields.add_row(name.replace("_", " "), one_line(value))
    if decision.tags:
        fields.add_row("tags", one_line(", ".join(decision.tags)))
    for reason in decision.reasons:
        fields.add_row(reason.type, one_line(reason.text))
    if state.superseded_by:
        fields.add_row("superseded by", ", ".join(state.superseded_by))
    if state.preserve:
        fields.add_row("preserved", "views of old decisions show it in full")
    for name, text in (*_retraction(state.retracted), *_review(state.review)):
        fields.add_row(name, text)
    for thought in state.thoughts:
        fields.add_row("thought", one_line(thought))
    console.print(fields)
    history = make_table("position", "time (UTC)", "type", "agent", right=("position",), wrap=("agent",))
    for entry in state.history:
        history.add_row(str(entry.position), format_time(entry.time), entry.type, one_line(entry.agent))
    console.print()
    console.print(history)


def _retraction(retracted: Retraction | None) -> Iterator[tuple[str, str]]:
    if retracted is not None:
        yield "retracted", f"{format_time(retracted.at)} by {one_line(retracted.by)}: it counts in no figure"
        yield "why", one_line(retracted.reason)


def _review(review: Review | None) -> Iterator[tuple[str, str]]:
    if review is None:
        return
    yield "outcome", f"{review.outcome}, reviewed {format_time(review.reviewed_at)} by {one_line(review.reviewed_by)}"
    for name in ("actual_result", "lessons", "notes"):
        if (value := getattr(review, name)) is not None:
            yield name.replace("_", " "), one_line(value)

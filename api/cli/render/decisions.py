"""Print a list of decisions, and one with its history."""

from api.cli.output import format_figure, make_table, open_console, print_note, truncate
from api.service.decisions import DecisionPage
from api.text import count, many, moment, one_line
from projections.decisions.decision_state import DecisionState


def print_decisions(page: DecisionPage) -> None:
    """Print one line for each decision."""
    columns = ("id", "time (UTC)", "agent", "category", "stakes", "confidence", "outcome", "decision")
    shown = make_table(*columns, right=("confidence",), wrap=("agent", "category", "decision"))
    for found in page.decisions:
        shown.add_row(
            found.decision_id,
            moment(found.recorded_at),
            truncate(one_line(found.agent)),
            truncate(one_line(found.decision.category)),
            found.decision.stakes or "-",
            format_figure(found.decision.confidence),
            found.review.outcome if found.review is not None else "-",
            truncate(one_line(found.decision.decision)),
        )
    open_console().print(shown)
    more = f" Next page: --offset {page.next}" if page.next is not None else ""
    print_note(f"{count(len(page.decisions))} of {many(page.total, 'decision')}.{more}")


def print_decision(found: DecisionState) -> None:
    """Print the fields of a decision, its review, and its events."""
    console = open_console()
    decision, review = found.decision, found.review
    console.print(f"{found.decision_id}  {one_line(decision.decision)}", style="bold")
    shown = make_table("", "", wrap=("",))
    shown.show_header = False
    shown.add_row("agent", one_line(found.agent))
    shown.add_row("recorded", f"{moment(found.recorded_at)} UTC")
    shown.add_row("confidence", format_figure(decision.confidence))
    for name in ("category", "stakes", "project", "feature", "context", "pattern"):
        if (value := getattr(decision, name)) is not None:
            shown.add_row(name, one_line(value))
    if decision.tags:
        shown.add_row("tags", one_line(", ".join(decision.tags)))
    for reason in decision.reasons:
        shown.add_row(reason.type, one_line(reason.text))
    if review is not None:
        shown.add_row(
            "outcome", f"{review.outcome}, reviewed {moment(review.reviewed_at)} by {one_line(review.reviewed_by)}"
        )
        for name in ("actual_result", "lessons", "notes"):
            if (value := getattr(review, name)) is not None:
                shown.add_row(name.replace("_", " "), one_line(value))
    for thought in found.thoughts:
        shown.add_row("thought", one_line(thought))
    console.print(shown)
    history = make_table("position", "time (UTC)", "type", "agent", right=("position",))
    for entry in found.history:
        history.add_row(str(entry.position), moment(entry.time), entry.type, one_line(entry.agent))
    console.print()
    console.print(history)

"""Decisions as people read them."""

from api.cli.output import cut, figure, out, say, table
from api.service.decisions import DecisionPage
from api.text import count, many, moment, one_line
from projections.decisions.decision_state import DecisionState


def print_decisions(page: DecisionPage) -> None:
    """Decisions, one a line."""
    shown = table(
        "id",
        "time (UTC)",
        "agent",
        "category",
        "stakes",
        "confidence",
        "outcome",
        "decision",
        right=("confidence",),
        wrap=("agent", "category", "decision"),
    )
    for standing in page.decisions:
        shown.add_row(
            standing.decision_id,
            moment(standing.recorded_at),
            cut(one_line(standing.agent)),
            cut(one_line(standing.decision.category)),
            standing.decision.stakes or "-",
            figure(standing.decision.confidence),
            standing.review.outcome if standing.review is not None else "-",
            cut(one_line(standing.decision.decision)),
        )
    out().print(shown)
    more = f" The next: --offset {page.next}." if page.next is not None else ""
    say(f"{count(len(page.decisions))} of {many(page.total, 'decision')}.{more}")


def print_decision(standing: DecisionState) -> None:
    """One decision: how it stands, and how it came to."""
    console = out()
    decision, review = standing.decision, standing.review
    console.print(f"{standing.decision_id}  {one_line(decision.decision)}", style="bold")
    shown = table("", "", wrap=("",))
    shown.show_header = False
    shown.add_row("agent", one_line(standing.agent))
    shown.add_row("recorded", f"{moment(standing.recorded_at)} UTC")
    shown.add_row("confidence", figure(decision.confidence))
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
    for thought in standing.thoughts:
        shown.add_row("thought", one_line(thought))
    console.print(shown)
    history = table("position", "time (UTC)", "type", "agent", right=("position",))
    for entry in standing.history:
        history.add_row(str(entry.position), moment(entry.time), entry.type, one_line(entry.agent))
    console.print()
    console.print(history)

"""review: record how a decision turned out from options, without hand-written JSON."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import OUTCOMES, choice, source_of_agent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.service.decision_writer import RecordedReview


@verb(server=True)
def review(
    target: LedgerTarget,
    decision: Annotated[
        str, typer.Argument(metavar="DECISION", help="The decision's id, or an unambiguous beginning of it.")
    ],
    *,
    outcome: Annotated[str, choice("How it turned out.", OUTCOMES)],
    result: Annotated[str | None, typer.Option(help="What happened.", metavar="TEXT")] = None,
    lessons: Annotated[str | None, typer.Option(help="What was learned.", metavar="TEXT")] = None,
    notes: Annotated[str | None, typer.Option(help="Anything else.", metavar="TEXT")] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", "--agent", help="The reviewer; without it the token's agent, or TALLYSTICK_AGENT.", metavar="NAME"
        ),
    ] = None,
    event_id: Annotated[
        str | None, typer.Option(help="The event's id. Repeating the command with it adds nothing.", metavar="ID")
    ] = None,
) -> None:
    """Record how a decision turned out.

    Prints the id of the decision and the position of the review. A later review supersedes an earlier one, which stays
    in the history.

    Example: tallystick review 3f2a9c1e --outcome success --result "Latency halved" --lessons "Measure idle time first"
    """
    import asyncio

    from api.cli.output import print_json, print_note

    fields = {
        "decision_id": decision,
        "outcome": outcome,
        "actual_result": result,
        "lessons": lessons,
        "notes": notes,
    }
    recorded = asyncio.run(_review(target, fields, event_id, source_of_agent(target, "by", by)))
    if target.json:
        print_json(recorded)
        return
    state = "there already" if recorded.duplicate else "recorded"
    print_note(f"Review of {recorded.decision_id} {state} at position {recorded.position:,}.")
    typer.echo(recorded.decision_id)


async def _review(
    target: LedgerTarget, fields: "Mapping[str, object]", event_id: str | None, source: str | None
) -> "RecordedReview":
    from api.cli.open_ledger import open_store
    from api.cli.payload import convert_options, convert_text
    from events.decision import DecisionReviewed
    from events.envelope import EventId

    review = convert_options(fields, DecisionReviewed, {"decision_id": "DECISION", "actual_result": "result"})
    event_id = convert_text("event_id", event_id, EventId)
    async with open_store(target) as store:
        return await store.review_decision(review, event_id=event_id, source=source)

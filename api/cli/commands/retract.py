"""retract: withdraw a decision, such as one that was recorded twice."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, source_of_agent, verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.service.decision_writer import RecordedRetraction


@verb(server=True)
def retract(
    target: LedgerTarget,
    decision: Annotated[
        str, typer.Argument(metavar="DECISION", help="The decision's id, or an unambiguous beginning of it.")
    ],
    *,
    reason: Annotated[str, typer.Option(help="Why the decision is withdrawn.", metavar="TEXT")],
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            "--agent",
            help="Who withdraws it; without it the token's agent, or TALLYSTICK_AGENT.",
            metavar="NAME",
        ),
    ] = None,
    event_id: Annotated[
        str | None, typer.Option(help="The event's id. Repeating the command with it adds nothing.", metavar="ID")
    ] = None,
) -> None:
    """Withdraw a decision from every figure.

    Prints the id of the decision and the position of the retraction. The decision keeps its history: `decision` shows
    it, and `decisions --status retracted` lists it. A retraction cannot be undone; record the decision again instead.
    Only the decision's agent may retract it, or a token with the scope import or admin.

    Example: tallystick retract 3f2a9c1e --reason "Imported twice: it is decision 9b01c2d3"
    """
    import asyncio

    from api.cli.output import print_json, print_note

    fields = {"decision_id": decision, "reason": reason}
    recorded = asyncio.run(_retract(target, fields, event_id, source_of_agent(target, "by", by)))
    if target.json:
        print_json(recorded)
        return
    state = "was retracted already" if recorded.duplicate else "is retracted"
    print_note(f"Decision {recorded.decision_id} {state}, at position {recorded.position:,}.")
    typer.echo(recorded.decision_id)


async def _retract(
    target: LedgerTarget, fields: "Mapping[str, object]", event_id: str | None, source: str | None
) -> "RecordedRetraction":
    from api.cli.open_ledger import open_store
    from api.cli.payload import convert_options, convert_text
    from api.service.store import RETRACTION
    from events.decision import DecisionRetracted
    from events.envelope import EventId

    retraction = convert_options(fields, DecisionRetracted, {"decision_id": "DECISION"})
    event_id = convert_text("event_id", event_id, EventId)
    async with open_store(target) as store:
        return await store.submit(RETRACTION, retraction, event_id=event_id, source=source)

"""retract: withdraw a decision, such as one that was recorded twice."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, source_of_agent, verb
from api.cli.open_ledger import show
from api.cli.options import EventIdOption, argument, option
from api.cli.output import print_note

if TYPE_CHECKING:
    from api.service.decision_writer import RecordedRetraction


@verb(server=True)
def retract(
    target: LedgerTarget,
    decision: Annotated[str, argument("The decision's id, or an unambiguous beginning of it.", "DECISION")],
    *,
    reason: Annotated[str, option("Why the decision is withdrawn.", "TEXT")],
    by: Annotated[
        str | None,
        option("Who withdraws it; without it the token's agent, or TALLYSTICK_AGENT.", "NAME", "--by", "--agent"),
    ] = None,
    event_id: EventIdOption = None,
) -> None:
    """Withdraw a decision from every figure.

    Prints the id of the decision and the position of the retraction. The decision keeps its history: `decision` shows
    it, and `decisions --status retracted` lists it. A retraction cannot be undone; record the decision again instead.
    Only the decision's agent may retract it, or a token with the scope import or admin.

    Example: tallystick retract 3f2a9c1e --reason "Imported twice: it is decision 9b01c2d3"
    """
    from api.cli.payload import convert_options, submit
    from api.service.store import RETRACTION
    from events.decision import DecisionRetracted

    source = source_of_agent(target, "by", by)
    fields = {"decision_id": decision, "reason": reason}
    retraction = convert_options(fields, DecisionRetracted, {"decision_id": "DECISION"})
    show(target, submit(target, RETRACTION, retraction, event_id, source), _print_retracted)


def _print_retracted(recorded: "RecordedRetraction") -> None:
    state = "was retracted already" if recorded.duplicate else "is retracted"
    print_note(f"Decision {recorded.decision_id} {state}, at position {recorded.position:,}.")
    typer.echo(recorded.decision_id)

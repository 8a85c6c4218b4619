"""link and graph: link a decision to another one, and show the links around a decision."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, source_of_agent, verb
from api.cli.open_ledger import ask, show
from api.cli.options import AsOf, EventIdOption, argument, choice, option
from api.cli.output import print_note
from api.service.decision_params import LinkGraphParams

if TYPE_CHECKING:
    from tallystick.shapes.decisions import RecordedLink

LINK_TYPES = ("relates_to", "supersedes", "depends_on")


@verb(server=True)
def link(
    target: LedgerTarget,
    decision: Annotated[str, argument("The decision that relates, supersedes or depends.", "DECISION")],
    other: Annotated[str, argument("The decision that it is linked to.", "OTHER")],
    *,
    edge_type: Annotated[str, choice("What the first decision does to the other one.", LINK_TYPES)],
    weight: Annotated[float | None, option("How strongly they are linked, above 0, at most 1.", "NUMBER")] = None,
    context: Annotated[str | None, option("Why they are linked.", "TEXT")] = None,
    by: Annotated[
        str | None,
        option("Who links them; without it the token's agent, or TALLYSTICK_AGENT.", "NAME", "--by", "--agent"),
    ] = None,
    event_id: EventIdOption = None,
) -> None:
    """Link a decision to another one.

    Prints the ids of both. Each may be given by an unambiguous beginning of it. A decision need not be in the ledger;
    one that is not is named on standard error. A later link of the same type between the same two replaces an earlier
    one. `decision` shows by which decisions one is superseded.

    Example: tallystick link 9b01c2d3 3f2a9c1e --edge-type supersedes --context "The load has doubled"
    """
    from api.cli.payload import convert_options, submit
    from api.service.store import LINK
    from events.link import DecisionLinked

    source = source_of_agent(target, "by", by)
    fields = {
        "source_id": decision, "target_id": other, "edge_type": edge_type, "weight": weight, "context": context,
    }  # fmt: skip
    linked = convert_options(fields, DecisionLinked, {"source_id": "DECISION", "target_id": "OTHER"})
    show(target, submit(target, LINK, linked, event_id, source), _print_linked)


def _print_linked(recorded: "RecordedLink") -> None:
    for name in recorded.unknown:
        print_note(f"Decision {name} is not in the ledger.")
    state = "are linked already" if recorded.duplicate else "are linked"
    print_note(f"The decisions {state}, at position {recorded.position:,}.")
    typer.echo(f"{recorded.source_id} {recorded.target_id}")


@verb(server=True, reads=True)
def graph(target: LedgerTarget, params: LinkGraphParams, as_of: AsOf = None) -> None:
    """Show the links around a decision.

    Lists each link once, the nearest first, and the decisions that they join.

    Example: tallystick graph 3f2a9c1e --depth 3 --edge-type supersedes,depends_on
    """
    from api.cli.render.graph import print_graph
    from api.service.decision_links import get_graph

    show(target, ask(target, get_graph, params, as_of), print_graph)

"""related: show all that happened under one correlation id."""

from typing import Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf


@verb(server=True, reads=True)
def related(
    target: LedgerTarget,
    correlationid: Annotated[str, typer.Argument(metavar="ID", help="The correlation id.")],
    *,
    after: Annotated[int, typer.Option(help="Only events after this position.", metavar="POSITION", min=0)] = 0,
    as_of: AsOf = None,
) -> None:
    """Show what happened under a correlation id.

    Lists the events, the decisions with their outcomes, and the scores of evaluations and of probes.

    Example: tallystick related order-66
    """
    from api.cli.open_ledger import answer_as_of
    from api.cli.output import print_json
    from api.cli.render.related import print_related
    from api.service.related_events import find_related

    answer = answer_as_of(
        target,
        as_of,
        lambda view: find_related(view, correlationid, after),
        lambda server: server.related(correlationid, after),
    )
    if target.json:
        print_json(answer)
    else:
        print_related(answer)

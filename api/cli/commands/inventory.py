"""inventory: list the models that answered."""

from typing import Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf


@verb(server=True, reads=True)
def inventory(
    target: LedgerTarget,
    *,
    model: Annotated[str | None, typer.Option(help="Only this model, by any of its names, with all its runs.")] = None,
    as_of: AsOf = None,
) -> None:
    """List the models that answered.

    For each model: its names, sightings and runs. Answers that name no model, and contradictory ones, are listed
    separately.

    Example: tallystick inventory --as-of 2026-11-01
    """
    from api.cli.open_ledger import answer_as_of
    from api.cli.output import print_json
    from api.cli.render.model_inventory import print_inventory
    from api.service.model_queries import list_inventory
    from projections.discovery.model_inventory import InventoryQuery

    answer = answer_as_of(
        target,
        as_of,
        lambda view: list_inventory(view, InventoryQuery(model=model)),
        lambda server: server.inventory(model),
    )
    if target.json:
        print_json(answer)
    else:
        print_inventory(answer)

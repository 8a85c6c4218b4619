"""inventory: the models that answered."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf

if TYPE_CHECKING:
    from api.service.models import InventoryAnswer


@verb()
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
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.models import print_inventory

    found = asyncio.run(_inventory(target, model, as_of))
    if target.json:
        print_json(found)
    else:
        print_inventory(found)


async def _inventory(target: LedgerTarget, model: str | None, as_of: str | None) -> "InventoryAnswer":
    from api.cli.open_ledger import open_reader
    from api.service.models import list_inventory

    async with open_reader(target.ledger) as service:
        return await list_inventory(service, model, await service.resolve(as_of))

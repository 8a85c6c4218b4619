"""inventory: which models are really got."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, AsOf, ledger_of

if TYPE_CHECKING:
    from pathlib import Path

    from api.service.models import InventoryAnswer


def inventory(
    context: typer.Context,
    *,
    model: Annotated[str | None, typer.Option(help="Only this one, by any of its names, with all its runs.")] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Which models do we really get? Each with what speaks for it; what names no model, and what does not fit, apart.

    Example: tallystick inventory --as-of 2026-11-01
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.models import print_inventory

    found = asyncio.run(_inventory(ledger_of(context), model, as_of))
    if as_json:
        print_json(found)
    else:
        print_inventory(found)


async def _inventory(ledger: "Path", model: str | None, as_of: str | None) -> "InventoryAnswer":
    from api.cli.open_ledger import open_reader
    from api.service.models import inventory

    async with open_reader(ledger) as service:
        return await inventory(service, model, await service.resolve(as_of))

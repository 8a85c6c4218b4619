"""projections: every projection, or one."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, AsOf, ledger_of
from api.service.projections import list_projections, show_projection

if TYPE_CHECKING:
    from pathlib import Path

    from api.service.projections import ProjectionInfo


def projections(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One of them; all without it.")] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """List the views, or show one: its digest and its summary.

    Example: tallystick projections calibration --as-of 2026-11-01
    """
    import asyncio

    import msgspec

    from api.cli.output import out, print_json, print_line, table
    from api.text import count, to_json

    found = asyncio.run(_projections(ledger_of(context), name, as_of))
    if as_json:
        print_json(found if name is not None else {"projections": found})
    elif not isinstance(found, list):
        print_line(msgspec.json.format(to_json(found)))
    else:
        shown = table("projection", "version", "position", "reads", right=("position",))
        for info in found:
            shown.add_row(info.name, str(info.version), count(info.position), ", ".join(info.types))
        out().print(shown)


async def _projections(ledger: "Path", name: str | None, as_of: str | None) -> "ProjectionInfo | list[ProjectionInfo]":
    from api.cli.open_ledger import open_reader
    from ledger.errors import InvalidQuery

    if name is None and as_of is not None:
        raise InvalidQuery("as_of", "needs the name of a projection.", "Write: tallystick projections NAME --as-of ...")
    async with open_reader(ledger) as service:
        if name is None:
            return await list_projections(service)
        return await show_projection(service, name, await service.resolve(as_of))

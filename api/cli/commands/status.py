"""status: show what a ledger contains, which process writes it, and its state."""

from typing import TYPE_CHECKING

import typer

from api.cli.ledger_target import LedgerTarget, verb

if TYPE_CHECKING:
    from api.service.status import LedgerStatus


@verb(server=True, reads=True)
def status(target: LedgerTarget) -> None:
    """Show what a ledger contains, which process writes it, and its state.

    Exit code 1: the newest checkpoint is not valid. `tallystick verify` then says more.

    Example: tallystick status
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.status import print_status

    state = asyncio.run(_read(target))
    if target.json:
        print_json(state)
    else:
        shared = target.url is None and target.place.database is not None
        print_status(state, target.url or str(target.place), shared=shared)
    if state.checkpoint is not None and not state.checkpoint.valid:
        raise typer.Exit(1)


async def _read(target: LedgerTarget) -> "LedgerStatus":
    if target.url is not None:
        from api.client.open_store import open_remote_store
        from api.client.remote_views import RemoteViews

        async with open_remote_store(target.url, target.token) as remote:
            return await RemoteViews(remote).status()
    from api.cli.open_ledger import open_reader
    from api.service.status import read_status

    async with open_reader(target.place) as service:
        return await read_status(service)

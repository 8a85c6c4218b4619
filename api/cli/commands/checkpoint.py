"""checkpoint: print the newest signed checkpoint."""

import sys

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.output import print_json


@verb(server=True, reads=True)
def checkpoint(target: LedgerTarget) -> None:
    """Print the newest checkpoint.

    A checkpoint is the signed name of the log, number of events, and root of these events. Without a running server,
    the command signs a new one; with one, it prints the checkpoint that the server signed last.

    Example: tallystick checkpoint >today.checkpoint
    """
    import asyncio

    from ledger.transparency.signed_note import SignedCheckpoint

    encoded = asyncio.run(_fetch(target))
    if target.json:
        print_json(SignedCheckpoint.parse(encoded).checkpoint._asdict() | {"note": encoded.decode()})
        return
    sys.stdout.buffer.write(encoded)
    sys.stdout.buffer.flush()


async def _fetch(target: LedgerTarget) -> bytes:
    from api.client.open_store import open_remote_store
    from api.service.ledger import open_for_signing

    if target.url is not None:
        async with open_remote_store(target.url, target.token) as remote:
            return (await remote.checkpoint()).note.encode()
    async with open_for_signing(target.place) as service:
        return (await service.proving.checkpoint()).note.encode()

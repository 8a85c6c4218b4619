"""Find the server that holds a ledger file, by the file's lock.

The lock file names the address of the server and a random name, `instance`. The address may lead elsewhere: to nothing,
or to the server of another ledger (from outside a container, for example). So the page `/` of the server must repeat
the name before anything else is sent, a token included.
"""

import asyncio
from pathlib import Path

import httpx
import msgspec

from api.client.server_connection import connect
from events.decode_error_messages import DECODE_ERRORS
from events.errors import TallystickError
from ledger.errors import LedgerLocked
from ledger.sqlite.lock import find_writer
from tallystick.request_flow import Request

ANSWER_S = 10.0
"""Seconds that the server has to name itself."""

INDEX_BYTES_MAX = 65_536
"""An index of a server is not longer."""

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses on which a server listens everywhere, and those at which it is reached from the same machine."""


class _Index(msgspec.Struct):
    """The part of the page `/` that names the server."""

    instance: str | None = None


def find_server(ledger: Path) -> str | None:
    """Return the address of the server that holds a ledger file; None if no server holds it.

    Errors: LedgerLocked, if the address does not lead to that server.
    """
    holder = find_writer(ledger)
    if holder is None or holder.address is None or holder.instance is None:
        return None
    address = _reachable(holder.address)
    unusable = asyncio.run(_check_instance(address, holder.instance))
    if unusable is not None and find_writer(ledger) == holder:
        raise LedgerLocked(str(ledger), holder.pid, holder.address, unusable=unusable)
    return address if unusable is None else None


def _reachable(address: str) -> str:
    """Return an address to connect to, for the address on which a server listens."""
    url = httpx.URL(address)
    return str(url.copy_with(host=ANY_ADDRESS.get(url.host, url.host)))


async def _check_instance(address: str, instance: str) -> str | None:
    """Return why the server at an address is not the one with this name; None if it is."""
    try:
        async with asyncio.timeout(ANSWER_S), connect(address, None) as server:
            request = Request(
                method="GET", path="/", headers={"accept": "application/json"}, answer_bytes_max=INDEX_BYTES_MAX
            )
            index = msgspec.json.decode((await server.answer(request)).body, type=_Index)
    except TimeoutError:
        return f"it did not answer within {ANSWER_S:g} s."
    except TallystickError as error:
        return f"it gives no answer: {error.detail} {error.advice}"
    except DECODE_ERRORS:
        index = _Index()
    return None if index.instance == instance else "another server answers there, which does not hold this ledger."

"""Tallystick's client: record what an agent decided, review it, and ask how good its confidence is.

`Client` and `AsyncClient` speak to a server; `local` and `async_local` start a private one over a ledger file.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallystick.async_client import AsyncClient
    from tallystick.client import Client
    from tallystick.errors import (
        Busy,
        Conflict,
        ConnectionFailed,
        Erased,
        InvalidArgument,
        InvalidEvent,
        InvalidQuery,
        LocalServerFailed,
        NotAllowed,
        NotFound,
        Refused,
        ServerFault,
        TallystickError,
        TooLarge,
        UnexpectedAnswer,
    )
    from tallystick.local_server import async_local, local
    from tallystick.results import Event, Reason, Reply

__all__ = [
    "AsyncClient",
    "Busy",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "Erased",
    "Event",
    "InvalidArgument",
    "InvalidEvent",
    "InvalidQuery",
    "LocalServerFailed",
    "NotAllowed",
    "NotFound",
    "Reason",
    "Refused",
    "Reply",
    "ServerFault",
    "TallystickError",
    "TooLarge",
    "UnexpectedAnswer",
    "async_local",
    "local",
]

_MODULES = {
    "AsyncClient": "async_client",
    "Client": "client",
    "Event": "results",
    "Reason": "results",
    "Reply": "results",
    "async_local": "local_server",
    "local": "local_server",
}
"""The module of each name; that of the others is `errors`."""


def __getattr__(name: str) -> object:
    """Import a public name at its first use: pytest loads this package for the plugin, and must load nothing else."""
    if name not in __all__:
        raise AttributeError(f"module 'tallystick' has no attribute {name!r}")
    found: object = getattr(import_module(f"tallystick.{_MODULES.get(name, 'errors')}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Tallystick's client: record what an agent decided, review it, and ask how good its confidence is.

`Client` and `AsyncClient` speak to a server; `local` and `async_local` start a private one over a ledger file.

A name's module is imported when the name is first used: the command and the pytest plugin, which every pytest session
loads, import this package and need none of the client.
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
else:

    def __getattr__(name: str) -> object:
        """Import a public name from its module. Errors: AttributeError."""
        if name in __all__:
            for module in ("client", "async_client", "errors", "local_server", "results"):
                found = vars(import_module(f"{__name__}.{module}"))
                if name in found:
                    globals()[name] = found[name]
                    return found[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """Name what is public, and what is imported already."""
        return sorted({*globals(), *__all__})


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

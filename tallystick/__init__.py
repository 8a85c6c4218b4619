"""Tallystick's client: record and review the decisions of an agent, and compute how well calibrated it is.

`Client` and `AsyncClient` use a server; `local` and `async_local` start a private server for a ledger file.

The module of a name is imported when the name is first used. The command and the pytest plugin, which every pytest
session loads, also import this package, but do not need the client.
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
                names = vars(import_module(f"{__name__}.{module}"))
                if name in names:
                    globals()[name] = names[name]
                    return names[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """Return the public names, and those that are imported already."""
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

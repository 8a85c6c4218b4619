"""Tallystick's client: record what an agent decided, review it, and ask how good its confidence is.

`Client` and `AsyncClient` speak to a server; `local` and `async_local` start a private one over a ledger file.
"""

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

"""What several answers contain (an interval, the log's state, unknown names, optional parts), and a lock's holder."""

from datetime import datetime
from typing import Annotated, TypeVar

import msgspec

_Kind = TypeVar("_Kind")

OMITTED = msgspec.Meta(extra_json_schema={"omitted": True})
"""Marks a field that JSON lacks, instead of a null or a 0, where it has its default: its struct has `omit_defaults`."""

Part = Annotated[_Kind | None, OMITTED]
"""A part that an answer may lack: None then."""


class Interval(msgspec.Struct, frozen=True, array_like=True):
    """The two ends of an interval."""

    low: float
    """The lower end."""
    high: float
    """The upper end."""


class AsOf(msgspec.Struct, frozen=True):
    """The state of the log that an answer is computed from."""

    position: int
    """The newest position that is included; 0 for an empty log."""
    time: datetime | None
    """When that position was recorded, UTC; None for an empty log."""


class LockHolder(msgspec.Struct, frozen=True):
    """The process that writes a ledger file, as the lock file beside it names it."""

    pid: int
    """The process."""
    address: str | None = None
    """The address of a server."""
    instance: str | None = None
    """A random name of the server, which its page `/` repeats. It shows that the address leads to this server."""


class UnknownName(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A name in a filter that the ledger does not know."""

    parameter: str
    """The parameter."""
    value: str
    """The name."""
    nearest: str | None = None
    """The most similar name that the ledger knows, if one is near."""

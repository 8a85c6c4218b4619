"""Time, from outside. Only the ledger and the doors read it; folds never do."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Clock(Protocol):
    """Whatever tells the time when called."""

    def __call__(self) -> datetime:
        """Now, in UTC."""
        ...


def system_clock() -> datetime:
    """The clock of the machine."""
    return datetime.now(UTC)


def microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970-01-01 UTC."""
    return (moment - EPOCH) // _MICROSECOND


def moment_of(microseconds_utc: int) -> datetime:
    """The inverse of `microseconds`."""
    return EPOCH + microseconds_utc * _MICROSECOND

"""The clock, which callers pass in, and times in microseconds. Folds never read the clock."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Clock(Protocol):
    """A function that returns the current time."""

    def __call__(self) -> datetime:
        """Return the current time in UTC."""
        ...


def system_clock() -> datetime:
    """Return the time of the machine's clock, in UTC."""
    return datetime.now(UTC)


def microseconds(moment: datetime) -> int:
    """Return the whole microseconds from 1970-01-01 UTC to a moment."""
    return (moment - EPOCH) // _MICROSECOND


def moment_of(microseconds_utc: int) -> datetime:
    """Return the moment that is some microseconds after 1970-01-01 UTC; the inverse of `microseconds`."""
    return EPOCH + microseconds_utc * _MICROSECOND

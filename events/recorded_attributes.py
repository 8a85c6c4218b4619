"""The attributes that only the ledger sets, in an event that a client read and posts again."""

from datetime import datetime

from events.envelope import Event, timestamp
from events.errors import InvalidEvent
from events.extensions import AddedAttributes


def refuse_recorded(added: AddedAttributes, index: int) -> None:
    """Refuse these attributes in an event that is not in the log. Errors: InvalidEvent."""
    for name in added.recorded:
        raise InvalidEvent(f"{name} is set by the ledger.", "Leave it out.", field=name, index=index)


def compare_recorded(added: AddedAttributes, stored: Event, index: int) -> None:
    """Compare these attributes with those of the event in the log. Errors: InvalidEvent."""
    for name, value in added.recorded.items():
        recorded = getattr(stored, name)
        if _normal(name, value) != recorded:
            raise InvalidEvent(
                f"{name} {value!r} differs from the log, where this id is at position {stored.position} with {name} "
                f"{recorded!r}.",
                "Leave it out, or read the event again.",
                field=name,
                index=index,
            )


def _normal(name: str, value: object) -> object:
    """Return a value as the ledger writes it: a time may have another offset or fewer digits."""
    if name != "recordedtime" or not isinstance(value, str):
        return value
    try:
        return timestamp(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        return value

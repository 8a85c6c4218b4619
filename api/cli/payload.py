"""Convert the options of a verb to the payload of an event, with errors that name the option, and record it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from api.cli.ledger_target import LedgerTarget
from api.cli.open_ledger import use_store
from events.decode_error_messages import DECODE_ERRORS, explain_decode_error
from events.envelope import EventId
from events.errors import InvalidEvent

if TYPE_CHECKING:
    from api.service.store import Submission

_Payload = TypeVar("_Payload", bound=msgspec.Struct)
_Data = TypeVar("_Data")
_Recorded = TypeVar("_Recorded")


def convert_options(
    fields: Mapping[str, object], kind: type[_Payload], options: Mapping[str, str] | None = None
) -> _Payload:
    """Return a payload with the fields that are not None.

    `options` maps fields to the names of their options, where these differ.
    Errors: InvalidEvent, whose field is the name of the option.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    try:
        payload = msgspec.convert(given, kind)
        msgspec.json.encode(payload)
    except UnicodeEncodeError:
        raise InvalidEvent("A text is not valid Unicode.", "Type it in UTF-8.") from None
    except DECODE_ERRORS as error:
        raise _name_option(explain_decode_error(error, (), shape=kind), options or {}) from None
    return payload


def convert_text(name: str, text: str | None, kind: Any) -> str | None:  # noqa: ANN401 - a type with limits
    """Check that a text or None fits a type such as `Label`; return it. Errors: InvalidEvent, naming the option."""
    try:
        converted: str | None = msgspec.convert(text, kind | None)
    except msgspec.ValidationError as error:
        explained = explain_decode_error(error, (), whole=name)
        explained.field = name
        raise explained from None
    return converted


def submit(
    target: LedgerTarget, kind: "Submission[_Data, _Recorded]", data: _Data, event_id: str | None, source: str | None
) -> _Recorded:
    """Record a review, retraction or link at the server of a target, or in its ledger.

    Errors: InvalidEvent for a wrong event id, and those of `EventStore.submit`.
    """
    event_id = convert_text("event_id", event_id, EventId)
    return use_store(target, lambda store: store.submit(kind, data, event_id=event_id, source=source))


def _name_option(error: InvalidEvent, options: Mapping[str, str]) -> InvalidEvent:
    field = (error.field or "").partition("[")[0]
    name = options.get(field, field)
    return InvalidEvent(error.detail_for(name), error.advice, field=name or None)

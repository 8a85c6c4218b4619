"""The attributes that an event may have beside those of `Draft`, as CloudEvents 1.0.2 allows.

Extension attributes, and `dataschema`, are stored as sent. The attributes that the ledger sets are accepted in an event
that was read and is posted again, and compared with the log.
"""

import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from events.decode_error_messages import DECODE_ERRORS, LEDGER_FIELDS
from events.errors import InvalidEvent
from events.limits import EXTENSION_BYTES_MAX, EXTENSION_NAME_CHARS_MAX, EXTENSIONS_MAX

ExtensionValue = bool | int | str

EXTENSION_NAME_PATTERN = rf"^[a-z0-9]{{1,{EXTENSION_NAME_CHARS_MAX}}}$"
"""Shape of an extension's name."""

INTEGER_MIN, INTEGER_MAX = -(2**31), 2**31 - 1
"""The range of CloudEvents' type Integer."""

_name = re.compile(rf"[a-z0-9]{{1,{EXTENSION_NAME_CHARS_MAX}}}")
_json_media = re.compile(r"(application|text)/json|[^/;\s]+/[^/;\s]+\+json", re.IGNORECASE)
_control = re.compile("[\x00-\x1f\x7f-\x9f]")
_address = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_any_json = msgspec.json.Decoder(Any)
_raw_json = msgspec.json.Decoder(msgspec.Raw)


class AddedAttributes(msgspec.Struct, frozen=True):
    """What an event has beside the attributes of `Draft`.

    `extensions` are in the order in which they are stored, by name. `recorded` has the attributes that the ledger sets,
    as the client read them.
    """

    extensions: dict[str, ExtensionValue]
    recorded: dict[str, object]


class SeparatedAttributes(NamedTuple):
    """The attributes of an event: those of `Draft`, all others, and whether the first differ from what was sent."""

    plain: dict[str, msgspec.Raw]
    others: dict[str, msgspec.Raw]
    changed: bool


def is_json_media_type(text: str) -> bool:
    """Return whether a media type, perhaps with parameters, is JSON: application/json, or any that ends in +json."""
    return _json_media.fullmatch(text.partition(";")[0].strip()) is not None


def separate_attributes(attributes: Mapping[str, msgspec.Raw], known: frozenset[str]) -> SeparatedAttributes:
    """Separate the attributes of `Draft` from all others; decode `data_base64`; drop a `datacontenttype` that is JSON.

    Errors: InvalidEvent, for `data_base64` that is not JSON in base64.
    """
    plain = {name: value for name, value in attributes.items() if name in known}
    others = {name: value for name, value in attributes.items() if name not in known and bytes(value) != b"null"}
    media = _decode("datacontenttype", plain["datacontenttype"]) if "datacontenttype" in plain else None
    if isinstance(media, str) and is_json_media_type(media):
        del plain["datacontenttype"]
    encoded = others.pop("data_base64", None)
    if encoded is not None:
        if "data" in plain:
            raise InvalidEvent("data_base64 is given beside data.", "Send one of them.", field="data_base64")
        plain["data"] = _decode_base64(encoded)
    return SeparatedAttributes(plain, others, bool(others) or plain.keys() != attributes.keys())


def _decode(name: str, value: msgspec.Raw) -> object:
    """Decode the value of an attribute. Errors: InvalidEvent."""
    try:
        return _any_json.decode(value)
    except DECODE_ERRORS as error:
        raise InvalidEvent(f"{name} cannot be read: {error}.", "Correct the value.", field=name) from None


def _decode_base64(encoded: msgspec.Raw) -> msgspec.Raw:
    text = _decode("data_base64", encoded)
    try:
        if not isinstance(text, str):
            raise ValueError("it is not text")
        return msgspec.Raw(bytes(_raw_json.decode(b64decode(text, validate=True))))
    except (ValueError, *DECODE_ERRORS) as error:
        raise InvalidEvent(
            f"data_base64 is not JSON in base64: {error}.",
            "The payload of an event is JSON: send it as data.",
            field="data_base64",
        ) from None


def check_added_attributes(others: Mapping[str, msgspec.Raw]) -> AddedAttributes:
    """Return the attributes that are not those of `Draft`. Errors: InvalidEvent, with its field."""
    values = {name: _decode(name, value) for name, value in others.items()}
    recorded = {name: value for name, value in values.items() if name in LEDGER_FIELDS}
    extensions = {name: _checked(name, values[name]) for name in sorted(values.keys() - LEDGER_FIELDS)}
    size = sum(len(name) + len(str(value).encode()) for name, value in extensions.items())
    if len(extensions) > EXTENSIONS_MAX or size > EXTENSION_BYTES_MAX:
        raise InvalidEvent(
            f"The event has {len(extensions)} extension attributes of {size:,} bytes; at most {EXTENSIONS_MAX} and "
            f"{EXTENSION_BYTES_MAX:,} bytes are stored.",
            "Send fewer, or put them into the payload.",
            field=list(extensions)[-1],
        )
    return AddedAttributes(extensions, recorded)


def _checked(name: str, value: object) -> ExtensionValue:
    """Return the value of an extension attribute. Errors: InvalidEvent."""
    if _name.fullmatch(name) is None:
        raise InvalidEvent(
            f"{name!r} is neither an attribute of events nor the name of an extension.",
            f"Use 1..{EXTENSION_NAME_CHARS_MAX} lower-case letters and digits, or leave it out.",
            field=name,
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, bool | int | str):
        problem = "is neither text nor a whole number nor true or false"
    elif isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
        problem = "is not a whole number of 32 bits"
    elif isinstance(value, str) and _control.search(value):
        problem = "contains control characters"
    elif name == "dataschema" and not (isinstance(value, str) and _address.fullmatch(value)):
        problem = "is not an absolute URI"
    else:
        return value
    raise InvalidEvent(f"{name} {problem}.", "Correct the value, or leave it out.", field=name)

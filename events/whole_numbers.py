"""Whole numbers that a client wrote as `7.0`: JSON Schema counts them as integers, and the strict decoder does not."""

from typing import Any

import msgspec

from events.payload import COUNT_MAX

_any_json = msgspec.json.Decoder(Any)
_encode = msgspec.json.Encoder().encode


def may_lack_whole_numbers(error: Exception) -> bool:
    """Return whether a decoder's error may be due to an integer with a decimal point."""
    return isinstance(error, msgspec.ValidationError) and "got `float`" in str(error)


def write_whole_numbers(body: bytes | msgspec.Raw) -> bytes:
    """Return JSON in which every number without a fraction is written without a point. Errors: DECODE_ERRORS."""
    return _encode(_convert(_any_json.decode(body)))


def _convert(value: object) -> object:
    if isinstance(value, float) and value.is_integer() and abs(value) <= COUNT_MAX:
        return int(value)
    if isinstance(value, list):
        return [_convert(item) for item in value]
    if isinstance(value, dict):
        return {name: _convert(item) for name, item in value.items()}
    return value

"""Decode JSON as other programs write it: unknown members are skipped, NaN and the infinities are texts.

Python's own encoder, and others, write NaN, Infinity and -Infinity, which JSON does not have. They become the texts
"NaN", "Infinity" and "-Infinity", so that a reader sees them where it expects a number.
"""

import re
from datetime import datetime
from mmap import mmap
from typing import Any, Generic, TypeVar

import msgspec

from api.importers.values import InvalidValue, parse_time

_T = TypeVar("_T")
_token = re.compile(rb'"(?:[^"\\]|\\.)*+"|-?Infinity|NaN')


class LenientDecoder(Generic[_T]):
    """Decodes bytes as one type. Errors: msgspec.DecodeError, msgspec.ValidationError, RecursionError."""

    def __init__(self, type_: type[_T]) -> None:
        self._decoder = msgspec.json.Decoder(type_, strict=True)

    def decode(self, data: "bytes | mmap | msgspec.Raw | memoryview") -> _T:
        """Return the value."""
        try:
            return self._decoder.decode(data)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            quoted = quote_constants(bytes(data))
            if quoted is None:
                raise
            return self._decoder.decode(quoted)


def quote_constants(data: bytes) -> bytes | None:
    """Return JSON with NaN and the infinities as texts; None if it has none of them outside of texts."""
    found = False

    def quote(match: re.Match[bytes]) -> bytes:
        nonlocal found
        token = match[0]
        if token.startswith(b'"'):
            return token
        found = True
        return b'"' + token + b'"'

    quoted = _token.sub(quote, data)
    return quoted if found else None


def number(value: Any) -> float | None:  # noqa: ANN401 - any JSON value
    """Return a finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        as_float = float(value)
    except OverflowError:
        return None
    return as_float if as_float - as_float == 0 else None


def time_of(text: str | None) -> datetime | None:
    """Return a time that a file states; None without one, or for a text that is none."""
    try:
        return parse_time(text) if text else None
    except InvalidValue:
        return None

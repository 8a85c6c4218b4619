"""Values that JSON can write and nothing can hold: numbers beyond every float, halves of a surrogate pair, NaN.

The decoder of every call refuses the whole body for one of them. What is read here is only such a body, to name them.
"""

import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

BODY_BYTES_MAX = 1024 * 1024
"""A longer body is not read once more: no parameter that fits into a line needs as much."""

STRAYS_MAX = 20
"""Values that are named; who has more of them learns of the rest later."""

_INTEGER_CHARS_MAX = 4_300
"""Python reads no longer integer, because that would take it too long."""

NUMBER = "must be a number between -1.8e308 and 1.8e308"
TEXT = "must be Unicode text, without half of a surrogate pair"

_half = re.compile("[\ud800-\udfff]")


class Stray(NamedTuple):
    """Where a value stands, as the caller spelled it, and what it must be."""

    field: str
    rule: str


def strays_of(body: bytes) -> tuple[dict[str, object], list[Stray]] | None:
    """A frame and the strays among its params; None where the body is no such frame, or has strays elsewhere."""
    if len(body) > BODY_BYTES_MAX:
        return None
    try:
        frame = json.loads(body.decode(), parse_int=_integer)
        found = list(islice(_strays(frame.get("params")), STRAYS_MAX)) if isinstance(frame, dict) else []
        if not found or any(_strays({**frame, "params": None})):
            return None
    except (ValueError, RecursionError):
        return None
    return frame, found


def _strays(value: object, path: str = "") -> Iterator[Stray]:
    if isinstance(value, dict):
        for name, inner in value.items():
            at = f"{path}.{_shown(name)}" if path else _shown(name)
            if not _is_text(name):
                yield Stray(at, TEXT)
            yield from _strays(inner, at)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strays(inner, f"{path}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield Stray(path, NUMBER)
    elif isinstance(value, str) and not _is_text(value):
        yield Stray(path, TEXT)


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _INTEGER_CHARS_MAX else math.inf


def _is_text(text: str) -> bool:
    return _half.search(text) is None


def _shown(name: str) -> str:
    return name.encode(errors="backslashreplace").decode()

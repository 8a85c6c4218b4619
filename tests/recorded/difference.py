"""Compare golden lines with those of today, and show the first difference."""

import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec

CONTEXT_CHARS = 100
"""Characters to show before and after a difference."""

DIGITS = 13
"""From this many significant digits on, numbers may differ in the last ones: these depend on the processor."""

RELATIVE = 1e-9
"""How much such numbers may differ."""

_number = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+e[+-]?\d+")


def encoded(records: Sequence[msgspec.Struct]) -> bytes:
    """Encode records as lines of JSON."""
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def lines_of(data: bytes) -> list[str]:
    """Split such bytes into lines. `str.splitlines` would also split at characters that JSON may contain."""
    return data.decode().split("\n")[:-1]


def alike(expected: str, found: str) -> bool:
    """Tell whether two lines have the same bytes, except for the last digits of long numbers."""
    if expected == found:
        return True
    if _number.sub("#", expected) != _number.sub("#", found):
        return False
    pairs = zip(_number.findall(expected), _number.findall(found), strict=True)
    return all(one == other or (_is_long(one, other) and _is_near(one, other)) for one, other in pairs)


def _is_long(one: str, other: str) -> bool:
    return max(len(re.sub(r"e.*|\D", "", text).lstrip("0")) for text in (one, other)) >= DIGITS


def _is_near(one: str, other: str) -> bool:
    return math.isclose(float(one), float(other), rel_tol=RELATIVE, abs_tol=RELATIVE)


def difference(expected: Sequence[str], found: Sequence[str]) -> str:
    """Describe the first difference, and name the next ones; an empty text if the lines are alike."""
    differ = [place for place, pair in enumerate(zip(expected, found, strict=False)) if not alike(*pair)]
    if not differ and len(expected) == len(found):
        return ""
    said = [_first_difference(expected[differ[0]], found[differ[0]])] if differ else []
    if len(expected) != len(found):
        said.append(f"{len(expected)} lines are recorded, and there are {len(found)} now.")
    if len(differ) > 1:
        names = [_name(msgspec.json.decode(found[place])) for place in differ[1:6]]
        said.append("\n  ".join([f"{len(differ)} lines differ in all; the next ones:", *names]))
    said.append("If you mean this change: record the answers again with `python -m tests.recorded`, and say why.")
    return "\n".join(said)


def _first_difference(expected: str, found: str) -> str:
    """Name the fields in which two lines differ, and show the text around the first difference."""
    before, now = msgspec.json.decode(expected), msgspec.json.decode(found)
    fields = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    pairs = enumerate(zip(expected, found, strict=False))
    at = next((place for place, (one, other) in pairs if one != other), min(len(expected), len(found)))
    start = max(0, at - CONTEXT_CHARS)
    return "\n".join(
        [
            f"{_name(now)}",
            f"  differs in {', '.join(fields) or 'the order of keys or the spelling of values'}:",
            f"  recorded …{expected[start : at + CONTEXT_CHARS]}…",
            f"  now      …{found[start : at + CONTEXT_CHARS]}…",
            f"            {' ' * (at - start)}^",
        ]
    )


def _name(line: dict[str, Any]) -> str:
    if "command" in line:
        return f"tallystick {line['command']} --json"
    return f"{line['scene']} {line['step']}: {line['request']} {line.get('sent', '')}".rstrip()

"""Plain values as the fields they stand for: each that does not fit is told, with its key and what to do."""

import math
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

import msgspec

Tell = Callable[[str, str, str], None]
"""Takes a fault's key, what is wrong there, and what to do."""

_SHOWN_CHARS = 60


def shown(value: object) -> str:
    """A wrong value in a few words; the backslashes of a text as they were written."""
    if value is None:
        return "nothing"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value).replace("\\\\", "\\")
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def near(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name that is most like this one."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=cutoff)), None)


def text(at: str, value: object, tell: Tell) -> str | None:
    """A text; None where there is none that says anything, which was told. A text of blanks says nothing."""
    if isinstance(value, str):
        if value.strip():
            return value
        tell(at, "is empty", "Write what it is to say.")
    elif isinstance(value, bool | int | float):
        advice = "Put it in quotes: without them YAML makes a number or a truth of it."
        tell(at, f"is {shown(value)}, and a text belongs there", advice)
    else:
        tell(at, f"is {shown(value)}, and a text belongs there", "Write a text.")
    return None


def number(at: str, value: object, tell: Tell, *, least: float, most: float, above: bool = False) -> float | None:
    """A number from `least`, or from `above` it, to `most`; None where it is no such number, which was told."""
    bounds = f"above {least:g} and at most {most:g}" if above else f"from {least:g} to {most:g}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        advice = "Take the quotes off." if isinstance(value, str) else f"Write a number {bounds}."
        tell(at, f"is {shown(value)}, and a number belongs there", advice)
        return None
    if not math.isfinite(value) or not least <= value <= most or (above and value == least):
        tell(at, f"is {shown(value)}, and must be {bounds}", "Correct it.")
        return None
    return float(value)


def items(at: str, value: object, tell: Tell) -> list[Any]:
    """A list; an empty one where it is none, which was told. `null` is an empty list."""
    if isinstance(value, list):
        return value
    if value is not None:
        example = f"[{value}]" if isinstance(value, str) and len(value) <= _SHOWN_CHARS else "[...]"
        tell(at, f"is {shown(value)}, and a list belongs there", f"Write a list, even of one: {example}.")
    return []


def keys(at: str, value: object, shape: type[msgspec.Struct], tell: Tell) -> dict[str, Any]:
    """A mapping with the keys of a shape; what is none, and each key that is not of them, is told.

    A misspelt key is then taken as what it seems to mean, so that what stands there is checked as well.
    """
    known = shape.__struct_fields__
    if not isinstance(value, dict):
        tell(at, f"is {shown(value)}, and a mapping belongs there", f"Its keys may be {', '.join(known)}.")
        return {}
    found = {name: value[name] for name in known if name in value}
    for name in value.keys() - set(known):
        meant = near(name, known)
        advice = f"Did you mean {meant}?" if meant else f"Its keys may be {', '.join(known)}."
        tell(f"{at}.{name}", "is not a key here", advice)
        if meant:
            found.setdefault(meant, value[name])
    return found

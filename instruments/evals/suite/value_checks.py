"""Check single values of a scenario's fields; report a value that is not valid, with its key and advice."""

import math
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

ReportFault = Callable[[str, str, str], None]
"""Reports a fault: its key, the problem, and advice."""

_SHOWN_CHARS = 60


def describe_value(value: object) -> str:
    """Describe a wrong value in a few words; backslashes of a text appear as written."""
    if value is None:
        return "nothing"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value).replace("\\\\", "\\")
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def closest_name(name: str, candidates: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name that is most similar to a name; None if none is similar enough."""
    return next(iter(get_close_matches(name, list(candidates), n=1, cutoff=cutoff)), None)


def check_text(key: str, value: object, report: ReportFault) -> str | None:
    """Return a text; report and return None if the value is not a text, or is blank."""
    if isinstance(value, str):
        if value.strip():
            return value
        report(key, "is empty", "Write a text.")
    elif isinstance(value, bool | int | float):
        advice = "Put it in quotes: without them YAML reads a number or a truth value."
        report(key, f"is {describe_value(value)}, but must be a text", advice)
    else:
        report(key, f"is {describe_value(value)}, but must be a text", "Write a text.")
    return None


def check_number(
    key: str, value: object, report: ReportFault, *, minimum: float, maximum: float, above: bool = False
) -> float | None:
    """Return a number from `minimum` (exclusive with `above`) to `maximum`; report and return None if it is not one."""
    bounds = f"above {minimum:g} and at most {maximum:g}" if above else f"from {minimum:g} to {maximum:g}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        advice = "Take the quotes off." if isinstance(value, str) else f"Write a number {bounds}."
        report(key, f"is {describe_value(value)}, but must be a number", advice)
        return None
    if not math.isfinite(value) or not minimum <= value <= maximum or (above and value == minimum):
        report(key, f"is {describe_value(value)}, and must be {bounds}", "Correct it.")
        return None
    return float(value)


def check_list(key: str, value: object, report: ReportFault) -> list[Any]:
    """Return a list; report and return an empty one if it is not a list. `null` is an empty list."""
    if isinstance(value, list):
        return value
    if value is not None:
        example = f"[{value}]" if isinstance(value, str) and len(value) <= _SHOWN_CHARS else "[...]"
        report(key, f"is {describe_value(value)}, but must be a list", f"Write a list, even of one: {example}.")
    return []


def check_mapping(
    key: str,
    value: object,
    shape: type[msgspec.Struct],
    report: ReportFault,
    *,
    known_keys: Sequence[str] | None = None,
    advice: Callable[[], str] | None = None,
) -> dict[str, Any]:
    """Return a mapping with the keys of a struct, or `known_keys`; report another value, and unknown keys.

    The value of an unknown key is returned as that of the most similar known key, so that it is checked as well.
    `advice` is given for a key that resembles no known one; without it, the known keys are listed.
    """
    known_keys = shape.__struct_fields__ if known_keys is None else known_keys
    listed = f"Its keys may be {', '.join(known_keys)}."
    if not isinstance(value, dict):
        report(key, f"is {describe_value(value)}, but must be a mapping", listed)
        return {}
    fields = {name: value[name] for name in known_keys if name in value}
    for name in value.keys() - set(known_keys):
        closest = closest_name(name, known_keys)
        other = advice() if advice is not None and not closest else listed
        report(f"{key}.{name}", "is not a key here", f"Did you mean {closest}?" if closest else other)
        if closest:
            fields.setdefault(closest, value[name])
    return fields


def check_finite(key: str, value: object, report: ReportFault) -> bool:
    """Report each number inside a value that JSON cannot represent; return whether there is none."""
    pending: list[tuple[str, object]] = [(key, value)]
    is_finite = True
    while pending:
        inner_key, inner = pending.pop()
        if isinstance(inner, dict):
            pending += [(f"{inner_key}.{name}", item) for name, item in inner.items()]
        elif isinstance(inner, list):
            pending += [(f"{inner_key}[{number}]", item) for number, item in enumerate(inner)]
        elif isinstance(inner, float) and not math.isfinite(inner):
            is_finite = False
            problem = f"is {inner}, which JSON cannot represent"
            report(inner_key, problem, "Write a number or a text.")
    return is_finite

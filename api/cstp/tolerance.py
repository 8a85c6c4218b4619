"""Parameters that the protocol's reference server takes, although their values are not of the documented form.

Such a call succeeds. In its answer, `ignored` names the parameters whose value was not used as it was sent, and `used`
has the values that were used in their place, such as 0.7 for "0.7".
"""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_whole = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
_decimal = re.compile(r"[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})(e[+-]?[0-9]{1,3})?", re.ASCII | re.IGNORECASE)

_current: ContextVar[dict[str, object] | None] = ContextVar("tolerated", default=None)


@contextmanager
def collect_tolerated() -> Iterator[dict[str, object]]:
    """Collect the parameters that are tolerated meanwhile: the value used for each, None if it counts as absent."""
    tolerated: dict[str, object] = {}
    token = _current.set(tolerated)
    try:
        yield tolerated
    finally:
        _current.reset(token)


def tolerate(field: str, used: object = None) -> None:
    """Note that the value of a parameter was ignored, and the value that was used in its place."""
    tolerated = _current.get()
    if tolerated is not None and tolerated.get(field) is None:
        tolerated[field] = used


def name_tolerated(result: object, tolerated: dict[str, object]) -> object:
    """Return the result of a call with the names of the tolerated parameters."""
    if not tolerated or not isinstance(result, dict):
        return result
    ignored = dict.fromkeys([*result.get("ignored", []), *tolerated])
    used = {field: value for field, value in tolerated.items() if value is not None}
    return {**result, "ignored": list(ignored), **({"used": used} if used else {})}


def read_number(text: str, kind: type[int] | type[float]) -> object:
    """Return the number that a text states, or the text itself if it states none."""
    if kind is int:
        return int(text) if _whole.fullmatch(text) else text
    number = float(text) if _decimal.fullmatch(text) else math.nan
    return number if math.isfinite(number) else text

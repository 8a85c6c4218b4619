"""Values of Inspect's scores as numbers, as Inspect itself converts them (`value_to_float` with its defaults)."""

from math import isfinite, isnan
from typing import Any

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partly correct, incorrect, no answer. Other texts are compared in lower case."""

WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

UNSCORED = "NaN"
"""A value that Inspect counts as unscored, as the decoder of JSON returns it."""


def value_to_number(value: Any) -> float | None:  # noqa: ANN401 - any JSON value
    """Return the number of a value; None for an unscored one, and for what Inspect cannot convert either.

    Inspect counts texts that it cannot convert as 0 and warns; here they have no number.
    """
    if isinstance(value, bool | int | float):
        as_float = float(value)
        return None if isnan(as_float) else as_float
    if not isinstance(value, str):
        return None
    if value in LETTERS:
        return LETTERS[value]
    lower = value.lower()
    if lower in WORDS:
        return WORDS[lower]
    try:
        as_float = float(lower)
    except ValueError:
        return None
    return as_float if isfinite(as_float) else None


def is_infinite(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether a value is infinite, as the decoder of JSON returns it."""
    return value in ("Infinity", "-Infinity")

"""Rates in words for messages: a rate below 1 never looks like 1, one above 0 never like 0."""

_DECIMALS_MAX = 9

_TOLERANCE = 1e-9
"""A rate this close to 0 or 1 is equal to it."""


def format_rate(rate: float, decimals: int = 2) -> str:
    """Return a rate (0..1) with so many decimals, or more if it would look like 0 or 1: 0.999, but 1.00."""
    while decimals < _DECIMALS_MAX and _looks_exact(float(f"{rate:.{decimals}f}"), rate, 1):
        decimals += 1
    return f"{rate + 0.0:.{decimals}f}"


def format_percent(rate: float, decimals: int = 0) -> str:
    """Return a rate (0..1) in percent with so many decimals, or more if it would look like 0% or 100%: 99.9%."""
    while decimals < _DECIMALS_MAX and _looks_exact(float(f"{100 * rate:.{decimals}f}"), 100 * rate, 100):
        decimals += 1
    return f"{100 * rate + 0.0:.{decimals}f}%"


def _looks_exact(shown: float, value: float, whole: int) -> bool:
    """Tell whether a value that is neither 0 nor the whole is shown as one of them."""
    return shown in {0.0, float(whole)} and abs(shown - value) > _TOLERANCE * whole

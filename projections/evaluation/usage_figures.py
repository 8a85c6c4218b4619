"""What answers used: tokens, cost and latency, in total and at the median.

A try is one scored answer or error; a skipped attempt is none. Totals are over all tries, because errors and retries
cost too. Medians and percentiles are over the last try of each attempt, which is the one whose score counts. A try that
does not state a value is left out of the figures of this value, and nothing is assumed in its place.

Median and 95th percentile are quantiles by definition 7 of Hyndman and Fan (1996), as R and NumPy compute them unless
told otherwise: linear between the two nearest values.
"""

from collections.abc import Iterable
from math import fsum
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from events.evaluation import EvalScored
from events.payload import COUNT_MAX
from projections.arrays import Floats

_NAN = float("nan")
_P95 = 0.95


class Quantity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One value of several tries: tokens, US dollars, or nanoseconds.

    `stated` counts the tries that state it, and `total` is their sum. `attempts` counts the attempts whose last try
    states it; `median` and `p95` are over these, and absent without any.
    """

    stated: int
    total: int | float
    attempts: int
    median: float | None = None
    p95: float | None = None


class UsageFigures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What several answers used. A quantity is absent if no try states it.

    `tries` counts all tries, `attempts` those that are the last of their attempt. The cost is in US dollars, the
    latency `elapsed_ns` in nanoseconds.
    """

    tries: int
    attempts: int
    input_tokens: Quantity | None = None
    output_tokens: Quantity | None = None
    cost_usd: Quantity | None = None
    elapsed_ns: Quantity | None = None


class UsageColumns(NamedTuple):
    """The values of many tries, with one entry for each; NaN for one that is not known.

    Counts up to 2^53 - 1 are exact.
    """

    input_tokens: Floats
    output_tokens: Floats
    cost_usd: Floats
    elapsed_ns: Floats

    @classmethod
    def of(cls, values: Iterable[tuple[float, ...]]) -> Self:
        """Return the columns of some tries."""
        rows = np.array(list(values), dtype=np.float64).reshape(-1, len(cls._fields))
        return cls(*rows.T)

    def select(self, rows: npt.NDArray[Any]) -> "UsageColumns":
        """Return only the tries with some row numbers, or those that a mask selects."""
        return UsageColumns(*(column[rows] for column in self))


class EarlierTries(NamedTuple):
    """The tries of attempts that a later try replaced: the row of the last try of the attempt, and what they used."""

    last: npt.NDArray[np.intp]
    used: UsageColumns

    def of(self, rows: npt.NDArray[Any], size: int) -> UsageColumns:
        """Return what the earlier tries of the attempts with some rows used; `size` is the number of all rows."""
        if not len(self.last):
            return self.used
        chosen = np.zeros(size, dtype=np.bool_)
        chosen[rows] = True
        return self.used.select(chosen[self.last])


USAGE_NAMES = UsageColumns._fields


def usage_values(data: EvalScored) -> tuple[float, ...]:
    """Return the values that a score states, in the order of USAGE_NAMES; NaN for one that it does not."""
    return tuple(_NAN if (value := getattr(data, name)) is None else value for name in USAGE_NAMES)


def measure_usage(last: UsageColumns, earlier: UsageColumns) -> UsageFigures | None:
    """Return the figures of the last tries of attempts and of their earlier tries; None if no try states a value.

    Skipped attempts are in neither.
    """
    attempts, before = len(last.cost_usd), len(earlier.cost_usd)
    quantities = {name: _measure(getattr(last, name), getattr(earlier, name)) for name in USAGE_NAMES}
    if not any(quantities.values()):
        return None
    return UsageFigures(tries=attempts + before, attempts=attempts, **quantities)


def _measure(last: Floats, earlier: Floats) -> Quantity | None:
    last, earlier = last[~np.isnan(last)], earlier[~np.isnan(earlier)]
    if not len(last) + len(earlier):
        return None
    median, p95 = np.quantile(last, (0.5, _P95), method="linear").tolist() if len(last) else (None, None)
    return Quantity(
        stated=len(last) + len(earlier),
        total=_total(np.concatenate((last, earlier))),
        attempts=len(last),
        median=median,
        p95=p95,
    )


def _total(values: Floats) -> int | float:
    """Return the sum, in any order of the values the same; as a whole number if it is one."""
    total = float(values.sum())
    if total > COUNT_MAX or not bool((values == np.floor(values)).all()):
        total = fsum(values.tolist())
    return int(total) if total.is_integer() and total <= COUNT_MAX else total

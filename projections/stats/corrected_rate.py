"""A pass rate that is corrected for the errors of the judge that gave the verdicts.

A judge with sensitivity q1 (the share of good answers that it passes) and specificity q0 (the share of bad answers that
it fails) passes a share p = t q1 + (1 - t)(1 - q0) of answers of which a share t is good. Hence

    t = (p + q0 - 1) / (q0 + q1 - 1)          (Rogan and Gladen 1978; Lee et al., arXiv 2511.21140)

q1 and q0 are known from labels of people only. Where q0 + q1 <= 1 the judge is no better than a coin, and a class
without labels leaves one of them unknown: then there is no corrected rate.

Labels are often on some of the same answers. Of those the truth is known, so only the others are corrected: with a
share f of answers without a label, and a rate t_l of labels that pass, the rate is f t + (1 - f) t_l. If the judge's
errors are known from these labels alone, that is the same as the formula over all answers. It stays right if people
label more bad answers than good ones, but not if they choose by the judge's verdict.

The interval is Fieller's: all rates r with T(r)^2 <= Z^2 var T(r), where T(r) = f (p + q0 - 1) - (q0 + q1 - 1) (r -
(1 - f) t_l) has the mean 0 at the true rate. That is a quadratic inequality in r, and allows for the ratio's skewness.
Half an answer is added to each cell of the table for the value of T, and a whole one for its variance, as otherwise a
judge without an error among few labels seems to be known exactly. If the data cannot tell q0 + q1 from 1, the interval
is 0..1. In simulations it covers 93 to 97% from 40 labels on; with fewer it is often too wide, and never much too
narrow (tests/projections/stats/test_corrected_rate.py has the figures).
"""

from math import sqrt
from typing import Final, Literal, NamedTuple

import msgspec

from projections.stats.intervals import Z, wilson_interval
from tallystick.shapes.parts import Interval

UnknownRate = Literal["no labels that pass", "no labels that fail", "errors too frequent", "no verdicts"]
"""Why there is no corrected rate: no answer is labelled as good, or none as bad; q0 + q1 <= 1; no answer was judged."""

_POINT, _SPREAD = 0.5, 1.0
"""What is added to each cell for the value of T, and for its variance."""

INDEPENDENT: Final = 1.0


class Sample(NamedTuple):
    """Answers, and how many pass. `effect` is the design effect: how often the variance is that of independent ones."""

    n: float
    passed: float
    effect: float = INDEPENDENT

    def rate(self, added: float = 0.0) -> float:
        """Return the share that passes, with answers added to both sides."""
        return (self.passed + added) / (self.n + 2 * added)

    def variance(self) -> float:
        """Return the variance of the share, with one answer added to both sides."""
        rate = self.rate(_SPREAD)
        return rate * (1 - rate) / (self.n + 2 * _SPREAD) * self.effect


class CorrectedRate(msgspec.Struct, frozen=True, kw_only=True):
    """The corrected pass rate, 0..1, with its 95% interval, which allows for the errors in q0, q1 and p."""

    rate: float
    interval: Interval


def correct_rate(unlabelled: Sample, labelled: Sample, good: Sample, bad: Sample) -> CorrectedRate | UnknownRate:
    """Return the pass rate of a judge's answers, corrected for its errors; or why it is unknown.

    `unlabelled` are its verdicts on answers without a label, `labelled` the labels of the other ones. `good` and `bad`
    are its verdicts on all answers with a label that passes, and that fails; also those of other runs.
    """
    n = unlabelled.n + labelled.n
    reason = _reason(n, good, bad)
    if reason is not None:
        return reason
    known = labelled.passed / n
    if unlabelled.n == 0:
        share, interval = 0.0, _interval_of_labels(labelled)
    else:
        q1, q0 = good.rate(), 1 - bad.rate()
        share = min(1.0, max(0.0, (unlabelled.rate() + q0 - 1) / (q0 + q1 - 1)))
        interval = _fieller(unlabelled, labelled, good, bad)
    rate = share * unlabelled.n / n + known
    return CorrectedRate(rate=rate, interval=Interval(min(rate, interval.low), max(rate, interval.high)))


def _reason(n: float, good: Sample, bad: Sample) -> UnknownRate | None:
    if n == 0:
        return "no verdicts"
    if good.n == 0:
        return "no labels that pass"
    if bad.n == 0:
        return "no labels that fail"
    return "errors too frequent" if good.rate() <= bad.rate() else None


def _interval_of_labels(labelled: Sample) -> Interval:
    """Return Wilson's interval: every answer has a label."""
    size = labelled.n / labelled.effect
    return wilson_interval(labelled.rate() * size, size)


def _fieller(unlabelled: Sample, labelled: Sample, good: Sample, bad: Sample) -> Interval:
    """Return the rates r = (1 - f) t_l + u with T(r)^2 <= Z^2 var T(r), clipped to 0..1."""
    n = unlabelled.n + labelled.n
    f, known = unlabelled.n / n, labelled.passed / n
    q1, q0 = good.rate(_POINT), 1 - bad.rate(_POINT)
    gain, excess = q0 + q1 - 1, f * (unlabelled.rate(_POINT) + q0 - 1)
    of_labels = (1 - f) ** 2 * labelled.variance() if labelled.n else 0.0
    z2, v1, v0 = Z * Z, good.variance(), bad.variance()
    square = gain**2 - z2 * (v1 + v0)
    linear = 2 * (z2 * f * v0 - gain * excess)
    constant = excess**2 - z2 * (f * f * (unlabelled.variance() + v0) + gain**2 * of_labels)
    # then all rates fit, or all outside of an interval: the data cannot tell the judge from a coin
    if square <= 0:
        return Interval(0.0, 1.0)
    half = sqrt(max(0.0, linear**2 - 4 * square * constant))
    low, high = (known + (-linear + sign * half) / (2 * square) for sign in (-1, 1))
    return Interval(min(1.0, max(0.0, low)), max(0.0, min(1.0, high)))

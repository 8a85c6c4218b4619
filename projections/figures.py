"""The arithmetic of calibration (CSTP's getCalibration, known as F009), on counts of outcomes by stated confidence.

o is 1 for success, 0.5 for partial, 0 for failure and abandoned; c is the stated confidence. Only reviewed decisions
with a stated confidence count. Nothing is rounded here; doors that promise rounding round.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from projections.cells import Counts

Verdict = Literal[
    "well_calibrated", "overconfident", "slightly_overconfident", "underconfident", "slightly_underconfident"
]
Reading = Literal["excellent", "good", "fair", "poor"]

TOLERANCE = 1e-9
"""Floats this close to a cut-off stand on it, so that the same gap reads the same wherever it occurs."""

BUCKET_REVIEWS_MIN = 3
"""A bucket with fewer reviews is left out."""

BUCKETS = (("0.9-1.0", 0.9, 0.95), ("0.7-0.9", 0.7, 0.80), ("0.5-0.7", 0.5, 0.60), ("0.0-0.5", 0.0, 0.25))
"""Name, lower bound (included) and expected rate of each bucket, from the top; 1.0 is in the first."""

Confidences = npt.NDArray[np.float64]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a set of decisions. `reviewed` counts those that have both outcome and confidence, `total` all."""

    brier_score: float
    accuracy: float
    mean_confidence: float
    gap: float
    interpretation: Verdict
    brier_reading: Reading
    reviewed: int
    total: int


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a range of stated confidence; `gap` is success rate less expected rate."""

    bucket: str
    decisions: int
    success_rate: float
    expected_rate: float
    mean_confidence: float
    gap: float
    interpretation: Verdict


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """How the stated confidences spread, those of unreviewed decisions included; `tenths` counts them by tenth."""

    mean: float
    std_dev: float
    min: float
    max: float
    count: int
    tenths: dict[str, int]


def figures(confidence: Confidences, counts: Counts) -> Figures | None:
    """The figures of some cells; None where no decision is reviewed and has a confidence."""
    stated = ~np.isnan(confidence)
    c, reviewed = confidence[stated], counts[stated, 1:].astype(np.float64)
    success, partial, rest = reviewed[:, 0], reviewed[:, 1], reviewed[:, 2] + reviewed[:, 3]
    n = float(reviewed.sum())
    if n == 0:
        return None
    brier = float((success * (c - 1) ** 2 + partial * (c - 0.5) ** 2 + rest * c**2).sum()) / n
    accuracy = float((success + 0.5 * partial).sum()) / n
    mean = float((c * reviewed.sum(axis=1)).sum()) / n
    gap = _zero(accuracy - mean)
    return Figures(
        brier_score=brier,
        accuracy=accuracy,
        mean_confidence=mean,
        gap=gap,
        interpretation=interpret(gap),
        brier_reading=read_brier(brier),
        reviewed=int(n),
        total=int(counts.sum()),
    )


def interpret(gap: float) -> Verdict:
    """The verdict on accuracy less mean confidence."""
    size = abs(gap)
    if size < 0.05 - TOLERANCE:
        return "well_calibrated"
    if gap < 0:
        return "overconfident" if size > 0.10 + TOLERANCE else "slightly_overconfident"
    return "underconfident" if size > 0.10 + TOLERANCE else "slightly_underconfident"


def interpret_bucket(gap: float) -> Verdict:
    """The verdict on a bucket. A gap of .10 is none: stated .70 and achieved .70 stands .10 off its bucket's middle."""
    if abs(gap) <= 0.10 + TOLERANCE:
        return "well_calibrated"
    return "overconfident" if gap < 0 else "underconfident"


def read_brier(score: float) -> Reading:
    """The score in a word."""
    if score < 0.10 - TOLERANCE:
        return "excellent"
    if score < 0.20 - TOLERANCE:
        return "good"
    return "fair" if score < 0.30 - TOLERANCE else "poor"


def bucket_of(confidence: Confidences) -> npt.NDArray[np.intp]:
    """The number of each confidence's bucket in `BUCKETS`; -1 where none is stated. 3 * 0.3 stands on .9."""
    edges = np.array([low for _, low, _ in reversed(BUCKETS)])
    numbers = len(BUCKETS) - np.searchsorted(edges, confidence + TOLERANCE, side="right")
    return np.where(np.isnan(confidence), -1, numbers)


def buckets(confidence: Confidences, counts: Counts) -> Iterator[Bucket]:
    """The buckets that hold at least BUCKET_REVIEWS_MIN reviews, from the top."""
    numbers = bucket_of(confidence)
    for number, (name, _, expected) in enumerate(BUCKETS):
        inside = numbers == number
        found = figures(confidence[inside], counts[inside])
        if found is None or found.reviewed < BUCKET_REVIEWS_MIN:
            continue
        gap = _zero(found.accuracy - expected)
        yield Bucket(
            bucket=name,
            decisions=found.reviewed,
            success_rate=found.accuracy,
            expected_rate=expected,
            mean_confidence=found.mean_confidence,
            gap=gap,
            interpretation=interpret_bucket(gap),
        )


def spread(confidence: Confidences, counts: Counts) -> Spread | None:
    """The spread of all stated confidences; None where none is stated."""
    stated = ~np.isnan(confidence)
    c, n = confidence[stated] + 0.0, counts[stated].sum(axis=1)  # which turns -0.0 into 0.0
    total = int(n.sum())
    if total == 0:
        return None
    mean = float((c * n).sum()) / total
    tenth = np.minimum(np.floor((c + TOLERANCE) * 10), 9).astype(np.intp)
    by_tenth = np.bincount(tenth, weights=n, minlength=10)
    return Spread(
        mean=mean,
        std_dev=float(np.sqrt((n * (c - mean) ** 2).sum() / total)),
        min=float(c[n > 0].min()),
        max=float(c[n > 0].max()),
        count=total,
        tenths={f"{i / 10:.1f}-{(i + 1) / 10:.1f}": int(by_tenth[i]) for i in range(9, -1, -1) if by_tenth[i]},
    )


def _zero(value: float) -> float:
    """A difference that is rounding alone is none, and never -0.0."""
    return 0.0 if abs(value) < TOLERANCE * 1e-3 else value

"""Discrimination of a probe: a measure of how well its scores tell models apart.

A probe discriminates if scores of one model are closer to each other than to those of another. The measure is the share
of the variance of a single score that is between models, corrected for differences of means that arise by chance:
ICC(1) of a one-way analysis of variance,

    (MSB - MSW) / (MSB + (n0 - 1) MSW),     n0 = (N - sum n_i^2 / N) / (k - 1),

with k models of n_i scores each, N in all, MSB and MSW the mean squares between and within models. 1 means that the
model decides the score, 0 that it has no influence (negative estimates are shown as 0). ICC(1) needs repeats: one score
of a model does not show how much its scores vary. Only models with two or more scores are compared. With fewer
than two such models the result is None.

Scores are clustered and bounded, so the actual level of the F test is far from the nominal one. A permutation test
computes how often the same scores, randomly assigned to the models, differ as much. For many scores the F test is used.

A simpler measure needs no variance: the share of pairs of answers whose scores differ by DIFFERENCE_MIN or more. A
scorer that always gives the same score separates no pair. A random scorer separates answers of one model as often as
answers of two models, so it is of no use either.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np
from msgspec import structs

from projections.arrays import Floats, Ints

REPEATS_MIN = 2
"""A model with fewer scores is not compared."""

MODELS_MIN = 2
"""With fewer compared models there is no variance share."""

SATURATED_SHARE = 0.9
"""A probe is saturated if at least this share of its scores is one value."""

SATURATED_SCORES_MIN = 5
"""With fewer scores a probe is never called saturated."""

SIGNIFICANCE_LEVEL = 0.05
"""The probe distinguishes models if the p value is below this."""

SHUFFLED_MAX = 2_000
"""With more scores, the F distribution replaces the shuffling."""

DIFFERENCE_MIN = 0.05
"""Smaller differences of two scores are ignored. Source: a fifth of the least weight in the total of probe refactor."""

SCORE_SCALE = 1_000_000
"""Scores are compared as whole millionths, so that 0.85 and 0.8 differ by exactly 0.05."""

_CEILING: Final = SCORE_SCALE
_SHUFFLES: Final = 999
_SEED: Final = 1_935
_SHUFFLED_KEPT: Final = 64
"""How many results of shuffling are kept; each with its scores, at most 16 KB."""

_TOLERANCE: Final = 1e-9


class Discrimination(msgspec.Struct, frozen=True, kw_only=True):
    """How well the scores of a probe tell models apart. A value that needs more scores is None, never 0."""

    scores: int
    """Number of scores."""
    distinct: int
    """Number of different values."""
    ceiling_share: float | None
    """Share of scores that are 1."""
    mode: float | None
    """The most frequent value, the lowest of several."""
    mode_share: float | None
    """Share of scores with that value."""
    between: float | None
    """Share of pairs of answers of different models whose scores differ by DIFFERENCE_MIN or more, or None."""
    within: float | None
    """The same share of pairs of answers of one model, which is noise; None if no model answered twice."""
    discrimination: float | None
    """`between` minus `within`; below 0 if there is more noise than difference."""
    models: int
    """Models with at least REPEATS_MIN scores, which are compared."""
    compared: int
    """Number of their scores."""
    variance_share: float | None
    """ICC(1), 0..1: share of the variance of a score that is between models."""
    p: float | None
    """The p value: the probability of such a difference if the models do not differ."""
    tells_apart: bool | None
    """Whether `p` is below SIGNIFICANCE_LEVEL."""
    says: str
    """A summary for people."""


def measure_discrimination(models: Iterable[Sequence[float]], others: Sequence[float] = ()) -> Discrimination:
    """Measure how well a probe tells models apart, given the scores (0..1) of each model.

    `others` are scores without a known model, used only for saturation. The order of models and scores does not matter.
    """
    groups = sorted((_to_millionths(group) for group in models if len(group)), key=lambda group: group.tolist())
    pooled = np.concatenate([*groups, _to_millionths(others)])
    compared = [group for group in groups if len(group) >= REPEATS_MIN]
    values, counts = np.unique(pooled, return_counts=True)
    mode = int(counts.argmax()) if len(counts) else None
    between, within = _pairs_distinguished(groups)
    share, p = _analyse(compared) if len(compared) >= MODELS_MIN else (None, None)
    result = Discrimination(
        scores=len(pooled),
        distinct=len(values),
        ceiling_share=None if mode is None else float((pooled == _CEILING).mean()),
        mode=None if mode is None else float(values[mode] / SCORE_SCALE),
        mode_share=None if mode is None else float(counts[mode] / len(pooled)),
        between=between,
        within=within,
        discrimination=None if between is None or within is None else between - within,
        models=len(compared),
        compared=sum(map(len, compared)),
        variance_share=share,
        p=p,
        tells_apart=None if p is None else p < SIGNIFICANCE_LEVEL,
        says="",
    )
    return structs.replace(result, says=_summarize(result))


def _to_millionths(scores: Sequence[float]) -> Ints:
    return np.sort(np.rint(np.array(scores, dtype=np.float64) * SCORE_SCALE).astype(np.int64))


def _pairs_distinguished(groups: Sequence[Ints]) -> tuple[float | None, float | None]:
    """Return the shares of pairs that scores tell apart, between models and within one. O(n log n)."""
    pooled = np.sort(np.concatenate([*groups, np.zeros(0, dtype=np.int64)]))
    alike_within, pairs_within = sum(map(_count_alike, groups)), sum(map(_count_pairs, groups))
    pairs_between = _count_pairs(pooled) - pairs_within
    return _share(_count_alike(pooled) - alike_within, pairs_between), _share(alike_within, pairs_within)


def _count_pairs(scores: Ints) -> int:
    return len(scores) * (len(scores) - 1) // 2


def _count_alike(scores: Ints) -> int:
    """Count the pairs of sorted scores that differ by less than DIFFERENCE_MIN."""
    first = np.searchsorted(scores, scores - round(DIFFERENCE_MIN * SCORE_SCALE), side="right")
    return int((np.arange(len(scores)) - first).sum())


def _share(alike: int, pairs: int) -> float | None:
    return None if pairs == 0 else 1.0 - alike / pairs


def _analyse(groups: Sequence[Ints]) -> tuple[float, float] | tuple[None, None]:
    """Return ICC(1) and its p value; None if all scores are equal."""
    sizes = np.array([len(group) for group in groups])
    scores = np.concatenate(groups) / SCORE_SCALE
    n, k = len(scores), len(groups)
    scores = scores - scores.mean()
    if np.ptp(scores) < _TOLERANCE:
        return None, None
    total = float(scores @ scores)
    between = float(_squares(scores[np.newaxis], sizes)[0])
    mean_between, mean_within = between / (k - 1), max(0.0, total - between) / (n - k)
    n0 = (n - float(sizes @ sizes) / n) / (k - 1)
    share = (mean_between - mean_within) / (mean_between + (n0 - 1) * mean_within)
    share = min(1.0, max(0.0, share))
    if n <= SHUFFLED_MAX:
        return share, _shuffle(scores.tobytes(), sizes.tobytes(), between)
    return share, _f_test_p_value(mean_between, mean_within, k - 1, n - k)


def _squares(rows: Floats, sizes: Ints) -> Floats:
    """Return the sum of squares between groups for each row of centred scores."""
    sums = np.add.reduceat(rows, np.concatenate([[0], np.cumsum(sizes)[:-1]]), axis=1)
    return np.asarray((sums**2 / sizes).sum(axis=1))


@lru_cache(_SHUFFLED_KEPT)
def _shuffle(score_bytes: bytes, size_bytes: bytes, between: float) -> float:
    """Return the p value. It depends on nothing else, so it is kept until the scores change."""
    scores, sizes = np.frombuffer(score_bytes, dtype=np.float64), np.frombuffer(size_bytes, dtype=np.int64)
    rows = np.random.default_rng(_SEED).permuted(np.tile(scores, (_SHUFFLES, 1)), axis=1)
    as_high = int((_squares(rows, sizes) >= between - _TOLERANCE).sum())
    return (1 + as_high) / (1 + _SHUFFLES)


def _f_test_p_value(mean_between: float, mean_within: float, between: int, within: int) -> float:
    from scipy.special import fdtrc

    return float(fdtrc(between, within, mean_between / mean_within)) if mean_within > 0 else 0.0


def _summarize(result: Discrimination) -> str:
    """Summarize the result for people."""
    if result.mode is None or result.mode_share is None:
        return "no scores yet"
    same = round(result.mode_share * result.scores)
    alike = f"all {same}" if same == result.scores else f"{same} of {result.scores}"
    saturated = result.scores >= SATURATED_SCORES_MIN and result.mode_share >= SATURATED_SHARE
    saturation = f"saturated: {alike} scores are {result.mode:.2f}" if saturated else ""
    if saturated and result.distinct == 1:
        return saturation
    return "; ".join(part for part in (saturation, _compare(result)) if part)


def _compare(result: Discrimination) -> str:
    if result.models < MODELS_MIN:
        needed = f"at least {MODELS_MIN} models with {REPEATS_MIN} scores each are needed"
        return f"too few repeats to compare models: {needed}; found {result.models}"
    scores = f"{result.compared} scores of {result.models} models"
    if result.variance_share is None or result.p is None:
        return f"not shown to tell models apart: {scores} are all the same"
    chance = "p < 0.001" if result.p < 0.001 else f"p = {result.p:.3f}"
    if result.tells_apart:
        share = f"{result.variance_share:.0%}"
        return f"tells models apart: {share} of the variance of {scores} is between models ({chance})"
    return f"not shown to tell models apart: {scores} could differ as far by chance ({chance})"

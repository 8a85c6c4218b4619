"""Does a probe tell models apart at all?

A probe discriminates where one model's scores resemble each other more than those of another. The figure is the share
of the variance of a single score that lies between models, corrected for the differences of means that arise by chance:
ICC(1) of a one-way analysis of variance,

    (MSB - MSW) / (MSB + (n0 - 1) MSW),     n0 = (N - sum n_i^2 / N) / (k - 1),

with k models of n_i scores each, N in all, MSB and MSW the mean squares between and within models. 1: the model decides
the score; 0 (estimates below it are shown as 0): it does not matter. It needs repeats: a model with one score says
nothing of how far its next one may be, so that only models with two or more are compared, and there is no figure with
fewer than two of these.

Scores are bunched and bounded, where the F test is far from its level; a permutation asks only whether the same scores,
dealt out to the models anew, would differ as far. From many scores on, the F test is taken.

Beside it stands what needs no variance to be read: how many pairs of answers have scores that differ by TELLING or
more. A scorer that gives everybody the same tells no pair apart; one that throws dice tells the answers of one model
apart as often as those of two, and is worth as little.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np
from msgspec import structs

from projections.arrays import Floats, Ints

REPEATS_MIN = 2
"""Scores of a model below which it is not compared."""

MODELS_MIN = 2
"""Models compared below which there is no figure."""

SATURATED_SHARE = 0.9
"""A probe of which so many scores, at least, are one and the same is saturated."""

SATURATED_SCORES_MIN = 5
"""Scores below which nothing is called saturated."""

SIGNIFICANCE_LEVEL = 0.05
"""Models are told apart where scores dealt out anew differ as far with a lower chance than this."""

SHUFFLED_MAX = 2_000
"""More scores than this are not shuffled; the F distribution is taken."""

DIFFERENCE_MIN = 0.05
"""A smaller difference of two scores says nothing. Source: a fifth of the least weight in the total of refactor."""

SCORE_SCALE = 1_000_000
"""Scores are compared as whole millionths, so that 0.85 and 0.8 differ by as much as they seem to."""

_CEILING: Final = SCORE_SCALE
_SHUFFLES: Final = 999
_SEED: Final = 1_935
_TOLERANCE: Final = 1e-9


class Discrimination(msgspec.Struct, frozen=True, kw_only=True):
    """What some scores say of their probe; a figure that they are too few for is None, never 0."""

    scores: int
    """All of them."""
    distinct: int
    """Values among them."""
    ceiling_share: float | None
    """Part of them that is 1."""
    mode: float | None
    """The value had most often, the lowest of several."""
    mode_share: float | None
    """Part of the scores that has it."""
    between: float | None
    """Share of pairs of answers of different models whose scores differ by TELLING or more; None without such pairs."""
    within: float | None
    """The same share of pairs of answers of one model: noise; None where no model answered twice."""
    discrimination: float | None
    """The first less the second, below 0 where there is more noise than difference."""
    models: int
    """Models with repeats, which are compared."""
    compared: int
    """Scores of these."""
    variance_share: float | None
    """ICC(1), 0..1: part of the variance of a score that is between models."""
    p: float | None
    """The chance of as large a difference between models that do not differ."""
    tells_apart: bool | None
    """Whether that is below LEVEL."""
    says: str
    """All this in words."""


def measure_discrimination(models: Iterable[Sequence[float]], others: Sequence[float] = ()) -> Discrimination:
    """Whether a probe tells models apart, from the scores (0..1) of each model.

    `others` are scores that no model can be named for: they count in what says whether the probe is saturated, and in
    nothing else. The order of models and of their scores makes no difference.
    """
    groups = sorted((_grains(own) for own in models if len(own)), key=lambda own: own.tolist())
    every = np.concatenate([*groups, _grains(others)])
    compared = [own for own in groups if len(own) >= REPEATS_MIN]
    values, counts = np.unique(every, return_counts=True)
    most = int(counts.argmax()) if len(counts) else None
    between, within = _pairs_told_apart(groups)
    share, p = _analyse(compared) if len(compared) >= MODELS_MIN else (None, None)
    found = Discrimination(
        scores=len(every),
        distinct=len(values),
        ceiling_share=None if most is None else float((every == _CEILING).mean()),
        mode=None if most is None else float(values[most] / SCORE_SCALE),
        mode_share=None if most is None else float(counts[most] / len(every)),
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
    return structs.replace(found, says=_say(found))


def _grains(scores: Sequence[float]) -> Ints:
    return np.sort(np.rint(np.array(scores, dtype=np.float64) * SCORE_SCALE).astype(np.int64))


def _pairs_told_apart(groups: Sequence[Ints]) -> tuple[float | None, float | None]:
    """The share of pairs of answers that scores tell apart: of different models, and of one. O(n log n)."""
    every = np.sort(np.concatenate([*groups, np.zeros(0, dtype=np.int64)]))
    alike_within, pairs_within = sum(map(_alike, groups)), sum(map(_pairs, groups))
    pairs_between = _pairs(every) - pairs_within
    return _share(_alike(every) - alike_within, pairs_between), _share(alike_within, pairs_within)


def _pairs(grains: Ints) -> int:
    return len(grains) * (len(grains) - 1) // 2


def _alike(grains: Ints) -> int:
    """Pairs of sorted scores that are not told apart."""
    first = np.searchsorted(grains, grains - round(DIFFERENCE_MIN * SCORE_SCALE), side="right")
    return int((np.arange(len(grains)) - first).sum())


def _share(alike: int, pairs: int) -> float | None:
    return None if pairs == 0 else 1.0 - alike / pairs


def _analyse(groups: Sequence[Ints]) -> tuple[float, float] | tuple[None, None]:
    """ICC(1) and its p; None where all scores are one and the same."""
    sizes = np.array([len(own) for own in groups])
    scores = np.concatenate(groups) / SCORE_SCALE
    n, k = len(scores), len(groups)
    scores = scores - scores.mean()
    if np.ptp(scores) < _TOLERANCE:
        return None, None
    whole = float(scores @ scores)
    between = float(_squares(scores[np.newaxis], sizes)[0])
    mean_between, mean_within = between / (k - 1), max(0.0, whole - between) / (n - k)
    n0 = (n - float(sizes @ sizes) / n) / (k - 1)
    share = (mean_between - mean_within) / (mean_between + (n0 - 1) * mean_within)
    p = _shuffled(scores, sizes, between) if n <= SHUFFLED_MAX else _limit(mean_between, mean_within, k - 1, n - k)
    return min(1.0, max(0.0, share)), p


def _squares(rows: Floats, sizes: Ints) -> Floats:
    """The sum of squares between groups, of each row of centred scores."""
    sums = np.add.reduceat(rows, np.concatenate([[0], np.cumsum(sizes)[:-1]]), axis=1)
    return np.asarray((sums**2 / sizes).sum(axis=1))


def _shuffled(scores: Floats, sizes: Ints, between: float) -> float:
    rows = np.random.default_rng(_SEED).permuted(np.tile(scores, (_SHUFFLES, 1)), axis=1)
    beyond = int((_squares(rows, sizes) >= between - _TOLERANCE).sum())
    return (1 + beyond) / (1 + _SHUFFLES)


def _limit(mean_between: float, mean_within: float, between: int, within: int) -> float:
    from scipy.special import fdtrc

    return float(fdtrc(between, within, mean_between / mean_within)) if mean_within > 0 else 0.0


def _say(found: Discrimination) -> str:
    """The figures in words."""
    if found.mode is None or found.mode_share is None:
        return "no scores yet"
    same = round(found.mode_share * found.scores)
    alike = f"all {same}" if same == found.scores else f"{same} of {found.scores}"
    saturated = found.scores >= SATURATED_SCORES_MIN and found.mode_share >= SATURATED_SHARE
    lead = f"saturated: {alike} scores are {found.mode:.2f}" if saturated else ""
    if saturated and found.distinct == 1:
        return lead
    return "; ".join(part for part in (lead, _compare(found)) if part)


def _compare(found: Discrimination) -> str:
    if found.models < MODELS_MIN:
        needed = f"it takes {MODELS_MIN} models with {REPEATS_MIN} scores each"
        return f"too few repeats to say: {needed}, and there {'is 1' if found.models else 'is none'}"
    about = f"{found.compared} scores of {found.models} models"
    if found.variance_share is None or found.p is None:
        return f"not shown to tell models apart: {about} are all the same"
    chance = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    if found.tells_apart:
        return f"tells models apart: {found.variance_share:.0%} of the variance of {about} is between models ({chance})"
    return f"not shown to tell models apart: {about} could differ as far by chance ({chance})"

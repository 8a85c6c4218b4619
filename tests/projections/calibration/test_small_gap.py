"""The remark on a small gap that is surely not 0: how often it is made of calibrated agents, and of others.

The remark is asked for at every look at which the evidence would allow it, from the program itself. Seeds are fixed.
"""

import numpy as np
import pytest

from projections.arrays import Floats
from projections.calibration.score_recommendations import recommend_from_scores
from projections.calibration.scores import WELL_CALIBRATED_BELOW, compute_scores
from projections.stats.gap_martingale import E_VALUE_SURE
from tests.projections.stats.evidence import running_log_e_values
from tests.projections.stats.test_gap_martingale import STATING, draw

pytestmark = pytest.mark.slow

LOOKS = 1_000
HISTORIES = 1_000


def is_remarked(confidence: Floats, outcome: Floats) -> bool:
    """Whether the recommendations on these reviews have the remark."""
    levels, place = np.unique(confidence, return_inverse=True)
    counts = np.zeros((len(levels), 5), dtype=np.int64)
    counts[:, 1] = np.bincount(place, weights=outcome)
    counts[:, 3] = np.bincount(place, weights=1 - outcome)
    scores = compute_scores(levels, counts)
    assert scores is not None
    return any(one.type == "small_gap" for one in recommend_from_scores(scores, [], None))


def allowed_looks(confidence: Floats, outcome: Floats) -> list[int]:
    """The numbers of reviews after which the mean of both e-values is 20 or more, and the gap within its margin."""
    logs = running_log_e_values(confidence, outcome)
    sure = np.logaddexp(logs.over, logs.under) - np.log(2) >= np.log(E_VALUE_SURE) - 1e-6
    gap = np.cumsum(outcome - confidence) / np.arange(1, len(confidence) + 1)
    found: list[int] = (np.flatnonzero(sure & (np.abs(gap) < WELL_CALIBRATED_BELOW)) + 1).tolist()
    return found


def ever_remarked(confidence: Floats, outcome: Floats) -> bool:
    return any(is_remarked(confidence[:n], outcome[:n]) for n in allowed_looks(confidence, outcome))


@pytest.mark.defect(14)
@pytest.mark.parametrize("name", STATING)
def test_a_calibrated_agent_is_hardly_ever_said_to_be_off_by_little(name: str) -> None:
    """At most 5% of histories have the remark at any of 1,000 looks."""
    rng = np.random.default_rng([20, len(name)])
    remarked = 0
    for _ in range(HISTORIES):
        confidence = STATING[name](rng, LOOKS)
        remarked += ever_remarked(confidence, draw(confidence, rng))
    assert remarked / HISTORIES <= 0.05


def test_the_remark_is_made_of_the_looks_that_were_tried() -> None:
    """No look outside `allowed_looks` has the remark: every look of ten histories, half of them a little off."""
    rng = np.random.default_rng(21)
    for history in range(10):
        confidence = rng.choice([0.97, 0.99], 400)
        outcome = draw(confidence - (0.03 if history % 2 else 0), rng)
        tried = set(allowed_looks(confidence, outcome))
        assert {n for n in range(1, 401) if is_remarked(confidence[:n], outcome[:n])} <= tried


@pytest.mark.defect(12)
@pytest.mark.defect(14)
def test_four_times_the_failures_are_found() -> None:
    """Stated .99 and right in .96: the remark comes within 1,000 reviews in at least 80% of histories."""
    rng = np.random.default_rng(22)
    stated = np.full(LOOKS, 0.99)
    found = [ever_remarked(stated, draw(stated - 0.03, rng)) for _ in range(200)]
    assert np.mean(found) >= 0.8

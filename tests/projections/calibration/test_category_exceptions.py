"""Categories that the advice for the whole names as exceptions: how often calibrated ones, and how often bad ones.

The advice is that of the program, of a table with one bad category that makes the whole look off. Seeds are fixed.
"""

from collections.abc import Iterator

import numpy as np
import pytest
from msgspec import structs

from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.calibration_view import build_calibration_view
from projections.calibration.count_table import CountTable
from tests.projections.short_decisions import calibration_of, judged

pytestmark = pytest.mark.slow

CALIBRATED = 20
DISTRIBUTIONS = {
    "heaped": [0.8, 0.9, 0.95],
    "all .8": [0.8],
    "uniform": np.linspace(0.05, 0.95, 19).tolist(),
    "low": [0.1, 0.3, 0.5],
}
LARGE = "large"
"""The category that decides which advice the whole gets."""


def empty_table(levels: list[float]) -> tuple[CountTable, np.ndarray]:
    """A table with a cell for each category and level; the category of each cell, the large one has the number 0."""
    names = [LARGE, *(f"c{number:02}" for number in range(1, CALIBRATED + 1))]
    drafts = [draft for name in names for draft in judged(*((c, "S") for c in levels), prefix=name, category=name)]
    table = calibration_of(drafts).selection(CalibrationFilter()).table()
    return table, np.array([names.index(str(table.groups[group][1])) for group in table.group])


def advised(levels: list[float], n: int, histories: int, *, large_gap: float, gaps: dict[int, float]) -> Iterator[str]:
    """Yield the advice for the whole, empty without, where `gaps` has the true gaps of categories by number."""
    table, category = empty_table(levels)
    rng = np.random.default_rng([n, len(levels)])
    per_cell = np.where(category == 0, CALIBRATED * n, n) / len(levels)
    gap = np.array([large_gap if number == 0 else gaps.get(number, 0.0) for number in category.tolist()])
    truth = np.clip(table.confidence + gap, 0, 1)
    for _ in range(histories):
        reviews = rng.poisson(per_cell)
        counts = np.zeros_like(table.counts)
        counts[:, 1] = rng.binomial(reviews, truth)
        counts[:, 3] = reviews - counts[:, 1]
        view = build_calibration_view(structs.replace(table, counts=counts), "category", 5, curves=False)
        yield "".join(one.message for one in view.recommendations if one.type == "confidence_adjustment")


@pytest.mark.defect(7)
@pytest.mark.parametrize("levels", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS.keys())
@pytest.mark.parametrize("large_gap", [-0.15, 0.15])
def test_a_calibrated_category_is_an_exception_in_at_most_5_percent(levels: list[float], large_gap: float) -> None:
    """By the interval of each category alone, one of twenty is named in 12% to 35% of histories."""
    histories, advice = 200, list[str]()
    for n in (20, 100):
        advice += advised(levels, n, histories, large_gap=large_gap, gaps={})
    assert np.mean([text != "" for text in advice]) > 0.5, "the whole is off"
    assert np.mean(["the other way round" in text for text in advice]) <= 0.05


@pytest.mark.defect(7)
def test_a_category_on_the_other_side_is_named() -> None:
    """A gap of .25 in 200 reviews, where the whole is off by about .10 in the other direction."""
    for sign in (-1, 1):
        advice = list(advised([0.4, 0.6], 200, 100, large_gap=-0.2 * sign, gaps={3: 0.25 * sign}))
        assert np.mean(["Not in c03 (" in text for text in advice]) >= 0.9

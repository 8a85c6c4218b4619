"""Looking at the comparison of two agents after every ten shared questions: how often equal ones surely differ."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from scipy.stats import norm

from projections.arrays import Floats
from projections.calibration.agent_comparison import compare_agents
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.outcome_codes import OUTCOME_NUMBERS
from projections.stats.gap_martingale import GAP_LOG_WEIGHTS, LOG_SUPPORTED, gap_wagers
from tallystick.shapes.comparison import AgentPair

pytestmark = pytest.mark.slow

LOOKS = np.arange(30, 1_001, 10)
"""98 looks at up to 1,000 questions."""

Losses = Callable[[np.random.Generator, int, int], Floats]


def of_answers(better: float) -> Losses:
    """Differences of the losses of agents that are right in 80% and more, and always state .9."""
    return lambda rng, histories, n: (
        (0.9 - (rng.random((histories, n)) < 0.8)) ** 2 - (0.9 - (rng.random((histories, n)) < 0.8 + better)) ** 2
    )


def of_forecasts(error: float) -> Losses:
    """Differences of the losses of forecasts of the same events, with errors of this size and of .1."""

    def draw(rng: np.random.Generator, histories: int, n: int) -> Floats:
        p = rng.uniform(0.1, 0.9, (histories, n))
        happened = rng.random((histories, n)) < p
        first, second = (np.clip(p + rng.normal(0, size, (histories, n)), 0, 1) for size in (error, 0.1))
        differences: Floats = (first - happened) ** 2 - (second - happened) ** 2
        return differences

    return draw


def sure_by(differences: Floats) -> Floats:
    """Return after how many questions the second agent is surely better, in each history; infinity if never."""
    stakes = np.stack([np.log1p(gap_wagers(np.zeros(len(row)), -row)).cumsum(axis=1) for row in differences])
    sure = np.logaddexp.reduce(stakes + GAP_LOG_WEIGHTS[:, np.newaxis], axis=1) >= LOG_SUPPORTED
    return np.where(sure.any(axis=1), sure.argmax(axis=1) + 1.0, np.inf)


def test_equal_agents_surely_differ_at_some_of_98_looks_in_at_most_5_percent() -> None:
    """Student's test at 5% finds a difference at some look in 35% of histories."""
    rng = np.random.default_rng(7)
    hard = rng.uniform(0.5, 0.95, (2_000, 1_000))
    first, second = (
        (np.clip(hard + rng.normal(0, 0.05, hard.shape), 0, 1) - (rng.random(hard.shape) < hard)) ** 2 for _ in "ab"
    )
    ever = np.isfinite(sure_by(first - second)) | np.isfinite(sure_by(second - first))
    print(f"surely different at some look: {ever.mean():.4f}")
    assert ever.mean() <= 0.05


@pytest.mark.parametrize(
    ("losses", "difference", "most"),
    [
        (of_answers(0.0625), 0.05, 700),
        (of_answers(0.025), 0.02, 6_000),
        (of_forecasts(0.29), 0.05, 250),
        (of_forecasts(0.185), 0.02, 850),
    ],
    ids=["answers, .05", "answers, .02", "forecasts, .05", "forecasts, .02"],
)
def test_a_better_agent_is_found_in_about_as_many_questions_as_by_one_look(
    losses: Losses, difference: float, most: int
) -> None:
    differences = losses(np.random.default_rng(8), 200, 8_000)
    assert differences.mean() == pytest.approx(difference, abs=0.003)
    one_look = ((norm.ppf(0.975) + norm.ppf(0.8)) * differences.std() / differences.mean()) ** 2
    median, four_fifths = np.quantile(sure_by(differences), [0.5, 0.8], method="higher")
    print(f"median {median:.0f}, 80% {four_fifths:.0f}; Student's test once, 80%: {one_look:.0f}")
    assert median <= most
    assert median <= 1.5 * one_look


def made(cluster: np.ndarray, confidence: Floats, right: np.ndarray, *, named: bool) -> ReviewedDecisions:
    """Two agents' answers to the same questions, one after another. Shapes: 2, n; cluster: n."""
    n = len(cluster)
    agent, question = np.tile([0, 1], n), np.repeat(np.arange(n), 2)
    return ReviewedDecisions(
        groups=[(f"/agents/a{number}", None, None, None, None) for number in range(2)],
        models=[None, None],
        clusters=[],
        cluster=cluster[question] if named else np.full(2 * n, -1),
        questions=[f"q{number}" for number in range(n)],
        time_us=np.arange(2 * n),
        confidence=confidence[agent, question],
        outcome=np.where(right, OUTCOME_NUMBERS["success"], OUTCOME_NUMBERS["failure"]).astype(np.uint8)[
            agent, question
        ],
        group=agent.astype(np.uint32),
        question=question,
    )


def look(history: ReviewedDecisions, questions: int) -> AgentPair:
    """Compare the agents after some questions."""
    columns = ("time_us", "confidence", "outcome", "group", "question", "cluster")
    part = {name: getattr(history, name)[: 2 * questions] for name in columns}
    (pair,) = compare_agents(msgspec.structs.replace(history, **part)).pairs
    return pair


@pytest.mark.parametrize("kind", ["named, alike", "named, retried until both succeed", "not named"])
def test_clusters_of_questions_do_not_make_equal_agents_differ(kind: str) -> None:
    """Clusters of ten alike; clusters that end when both succeed; clusters of ten without a name, correlated by .3."""
    rng = np.random.default_rng(9)
    histories, n, ever = 120, 500, 0
    for _ in range(histories):
        confidence = rng.choice([0.8, 0.9, 0.95], (2, n))
        cluster = np.arange(n) // 10
        alike = {"named, alike": 1.0, "not named": 0.3}.get(kind, 0.0)
        common, own = rng.standard_normal((2, n // 10))[:, cluster], rng.standard_normal((2, n))
        right = norm.cdf(np.sqrt(alike) * common + np.sqrt(1 - alike) * own) < confidence
        if "retried" in kind:
            ends = right.all(axis=0)
            cluster = np.concatenate([[0], np.cumsum(ends)[:-1]])
        history = made(cluster, confidence, right, named=kind != "not named")
        ever += any(look(history, questions).supported for questions in range(30, n + 1, 10))
    print(f"{kind}: {ever / histories:.3f}")
    assert ever <= (0.05 if kind != "not named" else 0.1) * histories

"""Comparing agents: paired on shared questions, never ranked on different ones."""

import csv
from collections import defaultdict
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from events import Draft
from events.decision import Outcome
from projections.calibration.agent_comparison import (
    AGENTS_MAX,
    DIFFERENT_QUESTIONS,
    SHARED_QUESTIONS_MIN,
    SKILL_REVIEWS_MIN,
    AgentComparison,
    AgentPair,
    compare_agents,
    diebold_mariano,
)
from projections.calibration.calibration import Calibration, CalibrationFilter
from tests.projections.random_histories import ask, record, review
from tests.projections.short_decisions import KNOWN, calibration_of

CSV = KNOWN.with_name("llm_confidence.csv")


def answered(
    name: str, agent: str, question: str | None, confidence: float, outcome: Outcome, **about: object
) -> list[Draft]:
    drafts = [record(name, confidence, agent=agent, **about), review(name, outcome)]
    return drafts if question is None else [*drafts, ask(name, question)]


def compared(drafts: list[Draft]) -> AgentComparison:
    return compare_agents(calibration_of(drafts).history(CalibrationFilter()))


def only(drafts: list[Draft]) -> AgentPair:
    (pair,) = compared(drafts).pairs
    return pair


def test_the_difference_is_students_paired_test() -> None:
    """Harvey, Leybourne and Newbold's correction of Diebold and Mariano's for one step is that, worked out by scipy."""
    rng = np.random.default_rng(8)
    for n in (2, 30, 500):
        losses, others = rng.random(n), rng.random(n) * 0.9
        found, expected = diebold_mariano(losses, others), stats.ttest_rel(losses, others)
        interval = expected.confidence_interval(0.95)
        assert found.mean == pytest.approx(losses.mean() - others.mean(), abs=1e-12)
        assert found.p == pytest.approx(expected.pvalue, abs=1e-12)
        assert (found.interval.low, found.interval.high) == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_differences_that_are_all_alike() -> None:
    same = np.full(40, 0.3)
    assert diebold_mariano(same, same).p == 1.0
    assert (diebold_mariano(same, same).interval.low, diebold_mariano(same, same).interval.high) == (0, 0)
    assert diebold_mariano(same, same / 3).p == 0.0


def test_equal_agents_differ_significantly_in_a_twentieth_of_samples() -> None:
    rng = np.random.default_rng(6)
    runs, n = 2_000, SHARED_QUESTIONS_MIN
    hard = rng.uniform(0.5, 0.95, (runs, n))
    losses = [
        (np.clip(hard + rng.normal(0, 0.05, hard.shape), 0, 1) - (rng.random(hard.shape) < hard)) ** 2 for _ in "ab"
    ]
    reported = sum(diebold_mariano(one, other).p <= 0.05 for one, other in zip(*losses, strict=True))
    assert 0.03 * runs < reported < 0.065 * runs


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 60), st.integers(0, 1), st.booleans()), max_size=250)
)
def test_pairs_are_those_of_the_reference_model(reported: list[tuple[str, int, int, bool]]) -> None:
    drafts: list[Draft] = []
    losses: dict[str, dict[tuple[int, int], list[float]]] = {"a": defaultdict(list), "b": defaultdict(list)}
    for at, (agent, question, category, right) in enumerate(reported):
        confidence = (at * 37 % 101) / 100
        outcome: Outcome = "success" if right else "failure"
        drafts += answered(f"d{at}", agent, f"q{question}", confidence, outcome, category=f"c{category}")
        losses[agent][category, question].append((confidence - right) ** 2)
    shared = sorted(losses["a"].keys() & losses["b"].keys())
    if not (losses["a"] and losses["b"]):
        assert compared(drafts).pairs == []
        return
    pair = only(drafts)
    assert (pair.agents, pair.shared, pair.paired) == (["a", "b"], len(shared), len(shared) >= SHARED_QUESTIONS_MIN)
    if pair.paired:
        means = [np.array([np.mean(losses[agent][place]) for place in shared]) for agent in "ab"]
        assert pair.brier_scores == pytest.approx([values.mean() for values in means])
        assert pair.p == pytest.approx(diebold_mariano(*means).p)


def test_two_agents_on_the_same_questions() -> None:
    drafts: list[Draft] = []
    for at in range(40):
        drafts += answered(f"a{at}", "ada", f"q{at}", 0.9, "success" if at % 10 else "failure")
        drafts += answered(f"b{at}", "bo", f"q{at}", 0.9, "success" if at % 2 else "partial")
    pair = only(drafts)
    assert (pair.agents, pair.paired, pair.shared, pair.note) == (["ada", "bo"], True, 40, None)
    assert pair.brier_scores == pytest.approx([0.09, 0.085])
    assert pair.mean_difference == pytest.approx(0.005)
    assert pair.interval is not None
    assert pair.interval.low < 0 < pair.interval.high


@pytest.mark.parametrize("differs", [{"category": "c"}, {"project": "p"}])
def test_a_question_is_that_of_its_project_and_category(differs: dict[str, str]) -> None:
    drafts: list[Draft] = []
    for at in range(40):
        drafts += answered(f"a{at}", "ada", f"q{at}", 0.9, "success")
        drafts += answered(f"b{at}", "bo", f"q{at}", 0.9, "success", **differs)
    assert (only(drafts).paired, only(drafts).shared) == (False, 0)


def test_agents_with_different_questions_are_listed_side_by_side_with_a_note() -> None:
    drafts: list[Draft] = []
    for at in range(60):
        drafts += answered(f"a{at}", "ada", None, 0.75, "success" if at % 4 else "failure", category="c")
        drafts += answered(f"b{at}", "bo", f"q{at}", 0.9, "success" if at % 2 else "failure", category="c")
    for at in range(5):
        drafts += answered(f"aa{at}", "ada", None, 0.5, "success", category="few")
        drafts += answered(f"bb{at}", "bo", None, 0.5, "success", category="few")
        drafts += answered(f"bbb{at}", "bo", None, 0.5, "success", category="his")
    pair = only(drafts)
    assert (pair.paired, pair.shared, pair.note, pair.p, pair.interval) == (False, 0, DIFFERENT_QUESTIONS, None, None)
    assert [common.category for common in pair.categories] == ["c", "few"]
    first = pair.categories[0].sides
    assert [(side.agent, side.reviewed) for side in first] == [("ada", 60), ("bo", 60)]
    assert [side.skill for side in first] == pytest.approx([0.0, 1 - 0.41 / 0.25])
    assert [side.skill for side in pair.categories[1].sides] == [None, None]


def test_skill_is_not_shown_where_all_ended_alike_or_few_did() -> None:
    for n, outcomes in ((SKILL_REVIEWS_MIN, ["success"]), (SKILL_REVIEWS_MIN - 1, ["success", "failure"])):
        drafts: list[Draft] = []
        for at in range(n):
            for agent in ("ada", "bo"):
                drafts += answered(f"{agent}{at}", agent, None, 0.9, outcomes[at % len(outcomes)])  # type: ignore[arg-type]
        assert [side.skill for side in only(drafts).categories[0].sides] == [None, None]


def test_many_agents_are_those_with_the_most_reviews() -> None:
    drafts: list[Draft] = []
    for agent in range(AGENTS_MAX + 2):
        for at in range(1 if agent == 3 else 2):
            drafts += answered(f"d{agent}x{at}", f"agent{agent:02}", None, 0.5, "success")
    found = compared(drafts)
    assert found.left_out == 2
    assert len(found.pairs) == AGENTS_MAX * (AGENTS_MAX - 1) // 2
    assert not any("agent03" in pair.agents for pair in found.pairs)
    assert all(one.agents < other.agents for one, other in pairwise(found.pairs))


def test_an_empty_ledger_has_nothing_to_compare() -> None:
    assert compare_agents(Calibration().history(CalibrationFilter())) == AgentComparison(pairs=[], left_out=0)


@pytest.mark.skipif(not CSV.is_file(), reason="the shared data is not here")
def test_real_agents_on_the_same_questions() -> None:
    """Four language models on the same questions: each pair against scipy's test of the file itself."""
    with CSV.open(newline="") as file:
        rows = list(csv.DictReader(file))
    drafts: list[Draft] = []
    losses: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    for at, row in enumerate(rows):
        if not row["confidence"] or not row["outcome"]:
            continue
        confidence, right = float(row["confidence"]), float(row["outcome"])
        drafts += answered(
            f"d{at}", row["agent"], row["question_id"], confidence, "success" if right else "failure",
            category=row["category"],
        )  # fmt: skip
        losses[row["agent"]][row["category"], row["question_id"]].append((confidence - right) ** 2)
    pairs = {tuple(pair.agents): pair for pair in compared(drafts).pairs}
    assert len(pairs) == 6
    for one, other in combinations(sorted(losses), 2):
        places = sorted(losses[one].keys() & losses[other].keys())
        first, second = ([np.mean(losses[agent][place]) for place in places] for agent in (one, other))
        expected = stats.ttest_rel(first, second)
        pair = pairs[one, other]
        assert pair.paired
        assert pair.shared == len(places) > 1_000
        assert pair.p == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)
        assert pair.mean_difference == pytest.approx(np.mean(first) - np.mean(second), abs=1e-12)

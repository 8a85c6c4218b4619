"""Comparing agents: paired on shared questions, never ranked on different ones."""

import csv
from collections import defaultdict
from itertools import combinations, pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from events.envelope import Draft
from projections.calibration.agent_comparison import (
    AGENTS_MAX,
    DIFFERENT_QUESTIONS,
    NEIGHBOURS_ALIKE,
    ONE_CLUSTER,
    SHARED_QUESTIONS_MIN,
    SKILL_REVIEWS_MIN,
    compare_agents,
    e_value_sure,
    rank_agents,
)
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.columns import GroupKey
from projections.outcome_codes import OUTCOME_NUMBERS
from projections.stats.clustered_mean import ClusteredMean, clustered_mean
from tallystick.shapes.comparison import AgentComparison, AgentPair
from tallystick.shapes.decisions import Outcome
from tallystick.shapes.parts import Interval
from tests.projections.drafts import ask, record, review
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


def of_questions(losses: np.ndarray, others: np.ndarray) -> ClusteredMean:
    return clustered_mean(losses - others, np.arange(len(losses)), -1.0, 1.0)


def test_equal_agents_differ_significantly_in_a_twentieth_of_samples() -> None:
    rng = np.random.default_rng(6)
    runs, n = 2_000, SHARED_QUESTIONS_MIN
    hard = rng.uniform(0.5, 0.95, (runs, n))
    losses = [
        (np.clip(hard + rng.normal(0, 0.05, hard.shape), 0, 1) - (rng.random(hard.shape) < hard)) ** 2 for _ in "ab"
    ]
    p = [of_questions(one, other).p for one, other in zip(*losses, strict=True)]
    assert 0.03 * runs < sum(value is not None and value <= 0.05 for value in p) < 0.065 * runs


def made(agent: np.ndarray, question: np.ndarray, confidence: np.ndarray, right: np.ndarray) -> ReviewedDecisions:
    """The history of decisions whose agents, questions, confidences and successes these are, in a random order."""
    order = np.random.default_rng(len(agent)).permutation(len(agent))
    groups: list[GroupKey] = [(f"/agents/a{number}", None, None, None, None) for number in range(int(agent.max()) + 1)]
    return ReviewedDecisions(
        groups=groups,
        models=[None] * len(groups),
        clusters=[],
        cluster=np.full(len(agent), -1),
        questions=[f"q{number}" for number in range(int(question.max()) + 1)],
        time_us=np.arange(len(agent)),
        confidence=confidence[order],
        outcome=np.where(right, OUTCOME_NUMBERS["success"], OUTCOME_NUMBERS["failure"]).astype(np.uint8)[order],
        group=agent[order].astype(np.uint32),
        question=question[order],
    )


def equal_agents(rng: np.random.Generator, agents: int, questions: int) -> ReviewedDecisions:
    """Agents that are right as often as they state, on questions that are equally hard for all."""
    agent, question = (values.ravel() for values in np.mgrid[:agents, :questions])
    hard = rng.uniform(0.5, 0.95, questions)[question]
    confidence = np.clip(hard + rng.normal(0, 0.05, len(agent)), 0, 1)
    return made(agent, question, confidence, rng.random(len(agent)) < hard)


def surely_differ(histories: int, questions: int) -> float:
    """Return the share of histories of six equal agents in which any of the fifteen pairs surely differs."""
    rng = np.random.default_rng(questions)
    found = 0
    for _ in range(histories):
        pairs = compare_agents(equal_agents(rng, 6, questions)).pairs
        assert len(pairs) == 15
        found += any(pair.supported for pair in pairs)
    return found / histories


@pytest.mark.slow
@pytest.mark.defect(1)
def test_of_six_equal_agents_few_pairs_surely_differ() -> None:
    assert surely_differ(200, 100) <= 0.08, "5%, and two standard errors of 200 histories"


@pytest.mark.slow
@pytest.mark.parametrize("questions", [30, 100, 400])
def test_six_equal_agents_have_a_sure_pair_in_at_most_5_percent(questions: int) -> None:
    assert surely_differ(2_000, questions) <= 0.055, "5%, and a standard error"


def test_p_is_adjusted_for_the_number_of_pairs() -> None:
    found = compare_agents(equal_agents(np.random.default_rng(1), 4, 60)).pairs
    adjusted = stats.false_discovery_control([pair.p for pair in found])
    assert [pair.adjusted_p for pair in found] == pytest.approx(adjusted)
    assert {pair.clusters for pair in found} == {60}


def test_a_pair_is_supported_by_its_e_value_among_all_pairs() -> None:
    found = compare_agents(one_worse_of_four(np.random.default_rng(3)))
    in_order = sorted((pair.e_value or 0.0 for pair in found.pairs), reverse=True)
    supported = max(k for k in range(7) if k == 0 or in_order[k - 1] >= 40 * 6 / k)
    assert 0 < supported < 6
    assert [pair.supported for pair in found.pairs] == [
        (pair.e_value or 0) >= in_order[supported - 1] for pair in found.pairs
    ]
    assert e_value_sure(found) == 40 * 6 / (supported + 1)


def one_worse_of_four(rng: np.random.Generator) -> ReviewedDecisions:
    """Four agents, of which the last is much worse."""
    agent, question = (values.ravel() for values in np.mgrid[:4, :150])
    right = rng.random(len(agent)) < np.where(agent == 3, 0.6, 0.9)
    return made(agent, question, np.full(len(agent), 0.9), right)


def test_a_better_agent_surely_differs() -> None:
    rng = np.random.default_rng(2)
    agent, question = (values.ravel() for values in np.mgrid[:6, :200])
    right = rng.random(len(agent)) < np.where(agent == 5, 0.5, 0.9)
    found = compare_agents(made(agent, question, np.full(len(agent), 0.9), right)).pairs
    assert [pair.agents[1] == "a5" for pair in found] == [pair.supported for pair in found]


def pair(first: str, second: str, difference: float | None, *, supported: bool = False) -> AgentPair:
    return AgentPair(
        agents=(first, second),
        paired=difference is not None,
        shared=40,
        mean_difference=difference,
        supported=None if difference is None else supported,
    )


def test_ranks_have_what_supported_differences_leave_open() -> None:
    pairs = [
        pair("a", "b", -0.1, supported=True), pair("a", "c", -0.2, supported=True), pair("a", "d", None),
        pair("b", "c", -0.1), pair("b", "d", 0.1), pair("c", "d", 0.2, supported=True),
    ]  # fmt: skip
    found = {rank.agent: rank for rank in rank_agents(["a", "b", "c", "d"], pairs)}
    assert (found["a"].rank, found["a"].rank_interval) == (None, (1, 2))
    assert (found["b"].rank, found["b"].rank_interval) == (3, (2, 4))
    assert (found["c"].rank, found["c"].rank_interval) == (4, (3, 4))
    assert (found["d"].rank, found["d"].rank_interval) == (None, (1, 3))
    assert (found["b"].worse, found["b"].worse_interval) == (1 / 3, Interval(0, 1 - 1 / 3))
    assert (found["c"].worse, found["c"].worse_interval) == (0, Interval(0, 1 - 2 / 3))
    assert found["a"].worse is None
    assert found["a"].worse_interval == Interval(2 / 3, 1)
    assert rank_agents(["a", "d"], [pair("a", "d", None)]) == []


def test_named_clusters_are_the_sample() -> None:
    """Forty questions, each asked in ten forms that get the same result: only named clusters show that."""
    rng = np.random.default_rng(5)
    agent, question = (values.ravel() for values in np.mgrid[:2, :400])
    right = (rng.random((2, 40)) < 0.7)[agent, question // 10]
    history = made(agent, question, np.full(len(agent), 0.9), right)
    alone = compare_agents(history).pairs[0]
    clustered = compare_agents(msgspec.structs.replace(history, cluster=history.question // 10)).pairs[0]
    assert (alone.clusters, clustered.clusters, clustered.shared) == (400, 40, 400)
    assert alone.p is not None
    assert clustered.p is not None
    assert alone.p < clustered.p
    assert clustered.effective_questions == pytest.approx(40, rel=0.05)


def unnamed_clusters(correlation: float, questions: int, histories: int) -> tuple[float, float]:
    """Return how often equal agents differ by p <= .05, and how often the note says that neighbours are alike.

    Questions are answered in clusters of ten that no decision names, with correlated results.
    """
    rng = np.random.default_rng(questions)
    agent, question = (values.ravel() for values in np.mgrid[:2, :questions])
    differ = noted = 0
    for _ in range(histories):
        cluster = rng.normal(size=(2, questions // 10))[agent, question // 10]
        latent = correlation**0.5 * cluster + (1 - correlation) ** 0.5 * rng.normal(size=len(agent))
        confidence = rng.choice([0.8, 0.9, 0.95], len(agent))
        right = stats.norm.cdf(latent) < confidence
        history = made(agent, question, confidence, right)
        by_time = np.argsort(history.question, kind="stable")  # the same times for both agents
        history = msgspec.structs.replace(
            history,
            confidence=history.confidence[by_time],
            outcome=history.outcome[by_time],
            group=history.group[by_time],
            question=history.question[by_time],
        )
        (pair,) = compare_agents(history).pairs
        differ += pair.p is not None and pair.p <= 0.05
        noted += pair.note == NEIGHBOURS_ALIKE
    return differ / histories, noted / histories


@pytest.mark.slow
@pytest.mark.parametrize(
    ("correlation", "most", "least_noted"), [(0.0, 0.08, 0.0), (0.3, 0.09, 0.75), (0.6, 0.09, 0.97)]
)
def test_clusters_that_nobody_names_are_noticed_in_time(correlation: float, most: float, least_noted: float) -> None:
    """Student's test alone: 15 to 34%."""
    differ, noted = unnamed_clusters(correlation, 500, 200)
    assert differ <= most
    assert noted >= least_noted
    assert correlation or noted <= 0.08


def test_tied_times_have_no_order() -> None:
    rng = np.random.default_rng(11)
    agent, question = (values.ravel() for values in np.mgrid[:2, :300])
    right = (rng.random((2, 30)) < 0.7)[agent, question // 10]
    history = made(agent, question, np.full(len(agent), 0.9), right)
    undated = msgspec.structs.replace(history, time_us=np.zeros(len(agent), dtype=np.int64))
    assert compare_agents(undated).pairs[0].note is None


def test_clusters_of_two_agents_that_share_a_question_are_one() -> None:
    rng = np.random.default_rng(7)
    agent, question = (values.ravel() for values in np.mgrid[:2, :60])
    history = made(agent, question, np.full(len(agent), 0.9), rng.random(len(agent)) < 0.8)
    by_agent = np.where(history.group == 0, history.question // 6, 100 + (history.question + 3) // 30)
    assert compare_agents(msgspec.structs.replace(history, cluster=by_agent)).pairs[0].clusters == 3 - 2
    none = compare_agents(msgspec.structs.replace(history, cluster=by_agent)).pairs[0]
    assert (none.paired, none.p, none.interval, none.supported, none.note) == (True, None, None, None, ONE_CLUSTER)
    apart = np.where(history.group == 0, history.question // 6, -1)
    assert compare_agents(msgspec.structs.replace(history, cluster=apart)).pairs[0].clusters == 10


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
        assert compared(drafts).pairs == ()
        return
    pair = only(drafts)
    assert (pair.agents, pair.shared, pair.paired) == (("a", "b"), len(shared), len(shared) >= SHARED_QUESTIONS_MIN)
    if pair.paired:
        means = [np.array([np.mean(losses[agent][place]) for place in shared]) for agent in "ab"]
        assert pair.brier_scores == pytest.approx([values.mean() for values in means])
        assert pair.p == pytest.approx(of_questions(*means).p)


def test_two_agents_on_the_same_questions() -> None:
    drafts: list[Draft] = []
    for at in range(40):
        drafts += answered(f"a{at}", "ada", f"q{at}", 0.9, "success" if at % 10 else "failure")
        drafts += answered(f"b{at}", "bo", f"q{at}", 0.9, "success" if at % 2 else "partial")
    pair = only(drafts)
    assert (pair.agents, pair.paired, pair.shared, pair.note) == (("ada", "bo"), True, 40, None)
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
    assert compare_agents(Calibration().history(CalibrationFilter())) == AgentComparison(pairs=(), left_out=0)


@pytest.mark.slow
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
    history = calibration_of(drafts).history(CalibrationFilter())
    undated = msgspec.structs.replace(history, time_us=np.zeros(len(history.time_us), dtype=np.int64))
    pairs = {tuple(pair.agents): pair for pair in compare_agents(undated).pairs}
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

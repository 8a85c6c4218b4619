"""Comparison of agents: paired on the questions that both answered, otherwise side by side.

Two agents that answered different questions cannot be ranked by their scores, because one may have had easier ones. For
questions that both answered (same project, category and question), the test of Diebold and Mariano (1995) for a
one-step forecast, with the correction of Harvey, Leybourne and Newbold (1997), compares their Brier losses at one look.
The verdict that one agent is better rests on an e-value of the differences (Choe and Ramdas 2024), see
`projections.stats.gap_martingale`: equal agents ever get it with a probability of at most 5%, however often one looks.

Questions of one cluster (a task, a session, a text that several questions are about) are dependent, so named clusters
are the sample, see `projections.stats.clustered_mean`. Two agents may name different clusters for one question;
clusters that share a question count as one. Where no decision names a cluster, neighbours in time may still be alike:
then stretches of neighbouring questions are the sample. A question was answered when both agents had answered it.

Of fifteen pairs of equal agents one may well have a p below .05. So a difference is supported only at a false discovery
rate of 5% over all pairs, at any look (e-BH, Wang and Ramdas 2022).
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from msgspec import structs

from events.envelope import agent_of
from projections.arrays import AnyInts, Floats, Ints, RowNumbers
from projections.calibration.gap_evidence import e_value_of
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.outcome_codes import OUTCOME_VALUES
from projections.stats.autocorrelation import estimate_autocorrelation
from projections.stats.clustered_mean import clustered_mean
from projections.stats.false_discovery import FALSE_DISCOVERY_RATE, benjamini_hochberg, e_bh
from projections.stats.gap_martingale import E_VALUE_SUPPORTED, log_e_above_zero
from tallystick.shapes.comparison import AgentComparison, AgentPair, AgentRank, AgentSide, SharedQuestions
from tallystick.shapes.parts import Interval

SHARED_QUESTIONS_MIN = 30
"""With fewer common questions the losses of two agents are not compared."""

SKILL_REVIEWS_MIN = 50
"""With fewer reviews the skill is None."""

AGENTS_MAX = 16
"""Most agents compared: those with the most reviews."""

DIFFERENT_QUESTIONS = "different questions"
"""The note on a pair that is not paired."""

ONE_CLUSTER = "all shared questions are of one cluster"
"""The note on a pair without an interval."""

NEIGHBOURS_ALIKE = "questions that were answered one after another are alike, so stretches of them are the clusters"
"""The note on a pair whose differences are autocorrelated in time, without a named cluster."""

STRETCHES_MIN, STRETCHES_MAX = 10, 20
STRETCH_QUESTIONS = 10
"""The number of stretches of neighbouring questions, and how many questions one has, within that number.

For the e-value a stretch always has STRETCH_QUESTIONS, so that it does not change as questions are added.
"""

DISTINCT_TIMES_MIN = 0.9
"""With a lower share of distinct times the order of questions is not known."""

_TOLERANCE: Final = 1e-12


def compare_agents(history: ReviewedDecisions) -> AgentComparison:
    """Compare each pair of agents in a history."""
    group_names = [agent_of(source) for source, *_ in history.groups]
    names = sorted(set(group_names))
    numbers = {name: number for number, name in enumerate(names)}
    group_agent = np.array([numbers[name] for name in group_names], dtype=np.int32)
    agent = group_agent[history.group]
    reviewed = np.bincount(agent, minlength=len(names))
    largest = np.argsort(-reviewed, kind="stable")[:AGENTS_MAX]
    compared = sorted(int(number) for number in largest if reviewed[number])
    scope_width = max(1, len(history.questions))
    answers = _answers_of(compared, history, agent)
    categories = _Categories(history, agent)
    pairs = []
    for (first, first_answers), (second, second_answers) in combinations(zip(compared, answers, strict=True), 2):
        pair = _paired((names[first], names[second]), first_answers, second_answers, scope_width)
        if not pair.paired:
            pair = structs.replace(pair, categories=tuple(categories.common(names, first, second)))
        pairs.append(pair)
    pairs = _adjust(pairs)
    ranks = rank_agents([names[number] for number in compared], pairs)
    left_out = int((reviewed > 0).sum()) - len(compared)
    return AgentComparison(pairs=tuple(pairs), left_out=left_out, ranks=tuple(ranks))


def e_value_sure(comparison: AgentComparison) -> float:
    """Return the e-value from which on one more pair would be supported."""
    return E_VALUE_SUPPORTED * comparison.compared / (1 + sum(bool(pair.supported) for pair in comparison.pairs))


def rank_agents(agents: Sequence[str], pairs: Sequence[AgentPair]) -> list[AgentRank]:
    """Return the ranks of agents, the best first, given their pairs; none without a pair that is paired."""
    if not any(pair.paired for pair in pairs):
        return []
    others = len(agents) - 1
    better, worse, surely_better, surely_worse = (dict.fromkeys(agents, 0) for _ in range(4))
    for pair in pairs:
        if not pair.paired or not pair.mean_difference:
            continue
        lower, higher = pair.agents if pair.mean_difference < 0 else reversed(pair.agents)
        worse[lower] += 1
        better[higher] += 1
        surely_worse[lower] += bool(pair.supported)
        surely_better[higher] += bool(pair.supported)
    paired = Counter(agent for pair in pairs if pair.paired for agent in pair.agents)
    ranks = [
        AgentRank(
            agent=agent,
            rank=1 + better[agent] if paired[agent] == others else None,
            rank_interval=(1 + surely_better[agent], len(agents) - surely_worse[agent]),
            worse=worse[agent] / others if paired[agent] == others else None,
            worse_interval=Interval(surely_worse[agent] / others, 1 - surely_better[agent] / others),
        )
        for agent in agents
    ]
    return sorted(ranks, key=lambda each: (each.rank or len(agents), sum(each.rank_interval), each.agent))


def _adjust(pairs: list[AgentPair]) -> list[AgentPair]:
    """Return pairs with the p values and verdicts corrected for the number of pairs that have them."""
    adjusted = benjamini_hochberg(np.array([np.nan if pair.p is None else pair.p for pair in pairs]))
    # Half of each e-value, because either agent could have had the lower loss.
    levels = e_bh(np.array([np.nan if pair.e_value is None else pair.e_value / 2 for pair in pairs]))
    return [
        pair if pair.p is None else structs.replace(pair, adjusted_p=p, supported=level <= FALSE_DISCOVERY_RATE)
        for pair, p, level in zip(pairs, adjusted.tolist(), levels.tolist(), strict=True)
    ]


class _Answers(NamedTuple):
    """The numbers of the questions that an agent answered, ascending, and its mean loss on each.

    `clustered` has a row for each question and cluster that a decision names for it, `time_us` the time of the first
    answer to each question.
    """

    topics: Ints
    losses: Floats
    clustered: Ints
    time_us: Ints


def _answers_of(agents: Sequence[int], history: ReviewedDecisions, agent: AnyInts) -> list[_Answers]:
    """Return the answers of some agents, given the number of the agent of each decision."""
    asked = np.flatnonzero(history.question >= 0)
    topic, agent = _topics(history, asked), agent[asked]
    return [_answers(history, asked[rows], topic[rows]) for rows in (agent == number for number in agents)]


def _topics(history: ReviewedDecisions, rows: RowNumbers) -> Ints:
    """Return the number of the project, category and question of each of some decisions that have a question."""
    scopes: dict[tuple[str | None, str | None], int] = {}
    group_scope = np.array(
        [scopes.setdefault((project, category), len(scopes)) for _, category, _, project, _ in history.groups],
        dtype=np.int64,
    )
    topics: Ints = group_scope[history.group[rows]] * len(history.questions) + history.question[rows]
    return topics


def _answers(history: ReviewedDecisions, rows: RowNumbers, topic: Ints) -> _Answers:
    """Return an agent's answers, given its decisions with a question, in the order of time, and their topics."""
    topics, first, index = np.unique(topic, return_index=True, return_inverse=True)
    loss = (history.confidence[rows] - OUTCOME_VALUES[history.outcome[rows]]) ** 2
    losses = np.bincount(index, loss, len(topics)) / np.bincount(index, minlength=len(topics))
    cluster = history.cluster[rows]
    named = cluster >= 0
    clustered = np.unique(np.stack([topic[named], cluster[named]], axis=1), axis=0)
    return _Answers(topics, losses, clustered, history.time_us[rows[first]])


def _paired(agents: tuple[str, ...], first: _Answers, second: _Answers, scope_width: int) -> AgentPair:
    """Compare two agents. `scope_width` is the number of topics of a project and category."""
    shared, first_index, second_index = np.intersect1d(
        first.topics, second.topics, assume_unique=True, return_indices=True
    )
    if len(shared) < SHARED_QUESTIONS_MIN:
        return AgentPair(agents=agents, paired=False, shared=len(shared), note=DIFFERENT_QUESTIONS)
    first_losses, second_losses = first.losses[first_index], second.losses[second_index]
    clustered = np.concatenate([first.clustered, second.clustered])
    clusters = _join_clusters(shared, clustered)
    named = np.where(np.isin(shared, clustered[:, 0]), clusters, -1)
    difference, note = first_losses - second_losses, None
    excess, time_us = difference, np.maximum(first.time_us[first_index], second.time_us[second_index])
    order = np.argsort(time_us, kind="stable")
    if len(np.unique(clusters)) == len(shared):
        within = _without_scope_means(excess, shared // scope_width)
        if _neighbours_alike(within[order], time_us):
            place, n = np.argsort(order), len(shared)
            clusters = place * min(STRETCHES_MAX, max(STRETCHES_MIN, n // STRETCH_QUESTIONS)) // n
            named, note = place // STRETCH_QUESTIONS, NEIGHBOURS_ALIKE
            excess = within + excess.mean()
    mean = clustered_mean(excess, clusters, -1.0, 1.0)
    log_e = log_e_above_zero(np.sign(mean.mean) * difference[order], named[order])
    return AgentPair(
        agents=agents,
        paired=True,
        shared=len(shared),
        brier_scores=(float(first_losses.mean()), float(second_losses.mean())),
        mean_difference=mean.mean,
        interval=mean.interval,
        p=mean.p,
        e_value=None if mean.p is None else e_value_of(log_e),
        clusters=mean.clusters,
        effective_questions=mean.effective_n,
        note=ONE_CLUSTER if mean.p is None else note,
    )


def _without_scope_means(difference: Floats, scope: Ints) -> Floats:
    """Return differences less the mean of their project and category, whose order in time shows no dependence."""
    _, index = np.unique(scope, return_inverse=True)
    means: Floats = np.bincount(index, difference) / np.bincount(index)
    return difference - means[index]


def _neighbours_alike(difference: Floats, time_us: Ints) -> bool:
    """Return whether differences that follow each other in time are alike. The order of `time_us` does not matter."""
    n = len(difference)
    if len(np.unique(time_us)) < DISTINCT_TIMES_MIN * n:
        return False
    (found,) = estimate_autocorrelation(difference, np.zeros(n, dtype=np.intp), 1)
    return found is not None and found.material


def _join_clusters(shared: Ints, clustered: Ints) -> Ints:
    """Return the number of the cluster of each shared question: two are of one if a chain of named clusters links them.

    `shared` has the questions, ascending; `clustered` has rows of a question and a cluster that a decision names.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = clustered[np.isin(clustered[:, 0], shared)]
    question = np.searchsorted(shared, links[:, 0])
    names, name = np.unique(links[:, 1], return_inverse=True)
    size = len(shared) + len(names)
    graph = coo_array((np.ones(len(links)), (question, len(shared) + name)), shape=(size, size))
    components: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    return components[: len(shared)]


class _Categories:
    """Sums by agent and category: number of reviews, outcomes, their squares, losses."""

    def __init__(self, history: ReviewedDecisions, agent: AnyInts) -> None:
        group_names = [category for _, category, *_ in history.groups]
        self._names = sorted(set(group_names), key=lambda name: (name is None, name or ""))
        numbers = {name: number for number, name in enumerate(self._names)}
        group_category = np.array([numbers[name] for name in group_names], dtype=np.int64)
        self._width = len(self._names)
        cell = group_category[history.group]
        cell += agent.astype(np.int64) * self._width
        size = (int(agent.max()) + 1) * self._width if len(agent) else 0
        value = history.outcome_value
        sums = [np.bincount(cell, minlength=size), *(np.bincount(cell, column, size) for column in (value, value**2))]
        loss = np.subtract(history.confidence, value, out=value)
        sums.append(np.bincount(cell, np.square(loss, out=loss), size))
        self._sums = np.stack(sums, axis=1)

    def common(self, names: list[str], first: int, second: int) -> list[SharedQuestions]:
        """Return the categories in which both agents have reviews."""
        shared = []
        for number, category in enumerate(self._names):
            sides = tuple(self._side(names[agent], agent * self._width + number) for agent in (first, second))
            if all(side.reviewed for side in sides):
                shared.append(SharedQuestions(category=category, sides=sides))
        return shared

    def _side(self, name: str, cell: int) -> AgentSide:
        n, outcome_sum, squares, loss = map(float, self._sums[cell])
        uncertainty = squares / n - (outcome_sum / n) ** 2 if n else 0.0
        enough = n >= SKILL_REVIEWS_MIN and uncertainty > _TOLERANCE
        return AgentSide(agent=name, reviewed=int(n), skill=1 - loss / n / uncertainty if enough else None)

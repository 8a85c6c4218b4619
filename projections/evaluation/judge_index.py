"""The judging projection: the verdicts of judges, the labels of people on the same answers, and compared pairs.

The state has one row for each score that a judge gave (about 60 bytes) and one for each of its verdicts on a criterion
(about 30), the latest label of each answer and criterion, and one row for each compared pair. Votes are counted, their
reasons are in the log. Reports are computed from copies of the columns (`judge_report.py`).
"""

from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from events.envelope import EventFacts
from events.evaluation import EvalScored, EvalStarted
from events.judge import EvalLabelled, JudgeCompared, PairVote, Preferred
from events.payload import Payload
from projections.columns import as_array
from projections.evaluation.score_context import ScoreAttribution, attribute_score
from projections.projection import Projection
from projections.saved_state import Part, keyed, numbered, rebuilt, saved_columns, saved_names, saved_pairs

WHOLE = ""
"""The name of an answer as a whole, among those of criteria."""

UNKNOWN_LENGTH = -1
"""The length of an answer that is stored as evidence: the event has only its digest."""

SAME, CHANGED, ONE_ORDER = range(3)
"""What the order of a pair did to the preference: nothing, changed it, or only one order was shown."""

_NAN = float("nan")
_SCORES: Mapping[str, type[np.generic]] = {
    "run": np.uint32,
    "scenario": np.uint32,
    "attempt": np.int64,
    "answer": np.uint32,
    "judge": np.uint32,
    "subject": np.uint32,
    "version": np.uint32,
    "passed": np.uint8,
    "threshold": np.float64,
    "complete": np.uint8,
    "length": np.int64,
}
_VERDICTS: Mapping[str, type[np.generic]] = {
    "score": np.uint32,
    "criterion": np.uint32,
    "verdict": np.uint8,
    "weight": np.float64,
    "votes": np.uint32,
    "passes": np.uint32,
}
_PAIRS: Mapping[str, type[np.generic]] = {"pair_judge": np.uint32, "pair_scenario": np.uint32, "order": np.uint8}
_CODES = {np.uint8: "B", np.uint32: "I", np.int64: "q", np.float64: "d"}


class JudgeKey(NamedTuple):
    """A judge whose verdicts can be pooled: another model, prompt or version of the scorer is another judge."""

    agent: str
    model: str
    scorer_id: str | None
    scorer_version: str | None
    prompt_digest: str


class ScenarioDigests(NamedTuple):
    """The version of the scenario that a score states."""

    fixture_digest: str | None
    expectation_digest: str | None


class PairJudge(NamedTuple):
    """A judge of pairs."""

    agent: str
    model: str
    prompt_digest: str


class JudgedScore(NamedTuple):
    """A score that a judge gave, with its verdicts by criterion; names instead of numbers.

    `complete` tells whether a judge gave a verdict on everything that counts for the total. `length` is the number of
    characters of the answer, or UNKNOWN_LENGTH.
    """

    run: str
    scenario: str
    attempt: int
    answer: str
    judge: JudgeKey
    subject: ScoreAttribution
    version: "ScenarioDigests"
    passed: bool
    threshold: float
    complete: bool
    length: int
    verdicts: "Sequence[JudgedCriterion]"


class JudgedCriterion(NamedTuple):
    """A verdict on one criterion: how many of its votes pass, and its share of the total."""

    criterion: str
    passed: bool
    weight: float
    votes: int
    passes: int


class PairOrder(NamedTuple):
    """A compared pair: whether the preference changed with the order, or ONE_ORDER."""

    judge: PairJudge
    scenario: str
    order: int


LabelKey = tuple[str, str, str]
"""Scenario, digest of the answer, and criterion (WHOLE for the answer)."""


class JudgingRecords(NamedTuple):
    """Everything that reports on judges need: the latest score of each attempt, the latest labels, all pairs."""

    scores: Sequence[JudgedScore]
    labels: Mapping[LabelKey, bool]
    pairs: Sequence[PairOrder]
    errors: Mapping[JudgeKey, int]


class JudgeIndex(Projection):
    """The verdicts of judges, the labels of people, and compared pairs."""

    name: ClassVar[str] = "judging"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (EvalStarted, EvalScored, EvalLabelled, JudgeCompared)

    parts: ClassVar[Mapping[str, Part]] = {
        "runs": keyed("_runs", EvalStarted, "run_id"),
        "run_numbers": saved_names("_run_numbers"),
        "scenarios": saved_names("_scenarios"),
        "answers": saved_names("_answers"),
        "criteria": numbered("_criteria", str),
        "judges": numbered("_judges", JudgeKey),
        "pair_judges": numbered("_pair_judges", PairJudge),
        "subjects": numbered("_subjects", ScoreAttribution),
        "versions": numbered("_versions", ScenarioDigests),
        "labels": rebuilt(
            "_labels",
            list[tuple[int, int, int, bool]],
            lambda labels: [(*key, passed) for key, passed in labels.items()],
            lambda rows: {(scenario, answer, criterion): passed for scenario, answer, criterion, passed in rows},
        ),
        "errors": saved_pairs("_errors", int, int),
        "columns": saved_columns("_columns"),
    }

    def __init__(self) -> None:
        self._runs: dict[str, EvalStarted] = {}
        self._run_numbers: dict[str, int] = {}
        self._scenarios: dict[str, int] = {}
        self._answers: dict[str, int] = {}
        self._criteria: dict[str, int] = {WHOLE: 0}
        self._judges: dict[JudgeKey, int] = {}
        self._pair_judges: dict[PairJudge, int] = {}
        self._subjects: dict[ScoreAttribution, int] = {}
        self._versions: dict[ScenarioDigests, int] = {}
        self._labels: dict[tuple[int, int, int], bool] = {}
        self._errors: dict[int, int] = {}
        kinds = {**_SCORES, **_VERDICTS, **_PAIRS}
        self._columns: dict[str, array[Any]] = {name: array(_CODES[kind]) for name, kind in kinds.items()}

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            data: Any = event.data
            kind = type(data)
            if kind is EvalScored:
                if data.judge is not None:
                    self._score(data)
            elif kind is EvalStarted:
                self._runs[data.run_id] = EvalStarted(
                    run_id=data.run_id,
                    suite=data.suite,
                    agent=data.agent,
                    agent_version=data.agent_version,
                    baseline=data.baseline,
                    scorer_id=data.scorer_id,
                    scorer_version=data.scorer_version,
                )
            elif kind is EvalLabelled:
                key = (
                    _number(self._scenarios, data.scenario_id),
                    _number(self._answers, data.analysis_digest),
                    _number(self._criteria, data.criterion or WHOLE),
                )
                self._labels[key] = data.passed
            elif kind is JudgeCompared:
                judge = PairJudge(data.judge.agent, data.judge.model, data.judge.prompt_digest)
                self._columns["pair_judge"].append(_number(self._pair_judges, judge))
                self._columns["pair_scenario"].append(_number(self._scenarios, data.scenario_id))
                self._columns["order"].append(_order_effect(data.votes))

    def _score(self, data: EvalScored) -> None:
        facts, subject = data.judge, attribute_score(self._runs[data.run_id], data)
        assert facts is not None
        key = JudgeKey(facts.agent, facts.model, subject.scorer_id, subject.scorer_version, facts.prompt_digest)
        judge = _number(self._judges, key)
        if data.state != "scored" or data.analysis_digest is None:
            self._errors[judge] = self._errors.get(judge, 0) + (data.state == "error")
            return
        row = len(self._columns["run"])
        applicable = [component for component in data.components if component.applicable]
        values = {
            "run": _number(self._run_numbers, data.run_id),
            "scenario": _number(self._scenarios, data.scenario_id),
            "attempt": data.attempt,
            "answer": _number(self._answers, data.analysis_digest),
            "judge": judge,
            "subject": _number(self._subjects, subject),
            "version": _number(self._versions, ScenarioDigests(data.fixture_digest, data.expectation_digest)),
            "passed": bool(data.passed),
            "threshold": _NAN if data.pass_threshold is None else data.pass_threshold,
            "complete": all(component.verdict is not None or not component.weight for component in applicable),
            "length": UNKNOWN_LENGTH if data.analysis is None else len(data.analysis),
        }
        for name, value in values.items():
            self._columns[name].append(value)
        for component in applicable:
            if component.verdict is not None:
                self._columns["score"].append(row)
                self._columns["criterion"].append(_number(self._criteria, component.name))
                self._columns["verdict"].append(component.verdict.passed)
                self._columns["weight"].append(_NAN if component.weight is None else component.weight)
                self._columns["votes"].append(len(component.verdict.votes))
                self._columns["passes"].append(sum(vote.passed for vote in component.verdict.votes))

    def _judge_names(self) -> set[str]:
        return {key.agent for key in self._judges} | {key.agent for key in self._pair_judges}

    def complete(self) -> None:
        for kinds in (_SCORES, _VERDICTS, _PAIRS):
            assert len({len(self._columns[name]) for name in kinds}) == 1, "columns of unlike length"

    def summary(self) -> Mapping[str, object]:
        return {
            "judges": sorted(self._judge_names()),
            "scores": len(self._columns["run"]),
            "verdicts": len(self._columns["score"]),
            "labels": len(self._labels),
            "pairs": len(self._columns["order"]),
        }

    def names(self) -> dict[str, set[str]]:
        """Return the names of all judges, and the suites that they judged."""
        return {"judge": self._judge_names(), "suite": {subject.suite for subject in self._subjects}}

    def labels(self) -> dict[LabelKey, bool]:
        """Return the latest label of each answer and criterion."""
        scenarios, answers, criteria = list(self._scenarios), list(self._answers), list(self._criteria)
        return {
            (scenarios[scenario], answers[answer], criteria[criterion]): passed
            for (scenario, answer, criterion), passed in self._labels.items()
        }

    def runs_with(self, scenario_id: str, digest: str) -> list[str]:
        """Return the runs in which a judge scored an answer to a scenario, in the order of the log."""
        scenario, answer = self._scenarios.get(scenario_id), self._answers.get(digest)
        if scenario is None or answer is None or not len(self._columns["run"]):
            return []
        rows = as_array(self._columns["scenario"], np.uint32) == scenario
        rows &= as_array(self._columns["answer"], np.uint32) == answer
        names = list(self._run_numbers)
        return [names[number] for number in dict.fromkeys(as_array(self._columns["run"], np.uint32)[rows].tolist())]

    def records(self) -> JudgingRecords:
        """Return copies of everything, with names; only the latest score of each attempt."""
        verdicts: dict[int, list[JudgedCriterion]] = {}
        criteria = list(self._criteria)
        columns = (self._columns[name].tolist() for name in _VERDICTS)
        for score, criterion, passed, weight, votes, passes in zip(*columns, strict=True):
            found = JudgedCriterion(criteria[criterion], bool(passed), weight, votes, passes)
            verdicts.setdefault(score, []).append(found)
        runs, scenarios, answers = list(self._run_numbers), list(self._scenarios), list(self._answers)
        judges, subjects, pair_judges = list(self._judges), list(self._subjects), list(self._pair_judges)
        versions = list(self._versions)
        latest: dict[tuple[int, int, int], JudgedScore] = {}
        columns = (self._columns[name].tolist() for name in _SCORES)
        for row, values in enumerate(zip(*columns, strict=True)):
            run, scenario, attempt, answer, judge, subject, version, passed, threshold, complete, length = values
            latest.pop((run, scenario, attempt), None)
            latest[run, scenario, attempt] = JudgedScore(
                runs[run], scenarios[scenario], attempt, answers[answer], judges[judge], subjects[subject],
                versions[version], bool(passed), threshold, bool(complete), length, verdicts.get(row, ()),
            )  # fmt: skip
        columns = (self._columns[name].tolist() for name in _PAIRS)
        return JudgingRecords(
            scores=list(latest.values()),
            labels=self.labels(),
            pairs=[PairOrder(pair_judges[j], scenarios[s], order) for j, s, order in zip(*columns, strict=True)],
            errors={judges[judge]: count for judge, count in self._errors.items() if count},
        )


def records_of(state: bytes) -> JudgingRecords:
    """Return the records of an encoded state: a caller encodes between folds, and reads the records on a thread."""
    return JudgeIndex.decode(state).records()


def _number(names: dict[Any, int], name: object) -> int:
    return names.setdefault(name, len(names))


def _order_effect(votes: Collection[PairVote]) -> int:
    """Tell whether the preference of most votes changes with the order in which the pair was shown."""
    preferred = [_most({vote.preferred: 0 for vote in votes}, votes, swapped=swapped) for swapped in (False, True)]
    if None in preferred:
        return ONE_ORDER
    return SAME if preferred[0] == preferred[1] else CHANGED


def _most(counts: dict[Preferred, int], votes: Collection[PairVote], *, swapped: bool) -> Preferred | None:
    """Return the preference of most votes in one order; a tie without a majority, None without votes."""
    of_order = [vote.preferred for vote in votes if vote.swapped is swapped]
    if not of_order:
        return None
    for preferred in of_order:
        counts[preferred] += 1
    most = max(counts.values())
    leaders = [preferred for preferred, count in counts.items() if count == most]
    return leaders[0] if len(leaders) == 1 else "tie"

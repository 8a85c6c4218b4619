"""Evaluations as they are shown: a run, its scenarios and scores, two runs compared, and the scoreboard.

Points are 0..100, rates 0..1, intervals at 95%. In every mean an error counts 0 points and did not pass; what was
skipped counts nowhere. What is absent is not known, or there is nothing that it could be worked out from.
"""

from datetime import datetime
from typing import Literal

import msgspec

from events.evaluation import Answers, Baseline, Component, Failure, PatternFinding, ScoreState
from projections.stats.intervals import Interval

Verdict = Literal["stable", "flaky", "failing", "error", "skipped"]
"""Of a scenario: all its attempts passed, some did, none did; nothing but errors; nothing but skipped."""


class _View(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of a view. What is absent is not written."""


class ScoreRow(_View, frozen=True, kw_only=True):
    """One answer and its score; `position` is where it stands in the log.

    `weight` and the digests are as the score states them, the scorer is the run's where it names none. Of a text that
    is kept as evidence the digest stands here; `erased` says that one of them is gone for good. `analysis` is there
    where it was asked for.
    """

    attempt: int
    state: ScoreState
    position: int
    failure: Failure | None = None
    total_score: float | None = None
    pass_threshold: float | None = None
    passed: bool | None = None
    components: tuple[Component, ...] = ()
    breakdown_digest: str | None = None
    weight: float | None = None
    fixture_digest: str | None = None
    expectation_digest: str | None = None
    scorer_id: str | None = None
    scorer_version: str | None = None
    analysis_digest: str | None = None
    analysis: str | None = None
    erased: bool | None = None
    elapsed_ns: int | None = None
    detail: str | None = None
    said: str | None = None


class ScenarioResult(_View, frozen=True, kw_only=True):
    """What the attempts at one scenario came to; `rows` are there in the whole view of a run alone.

    `attempts` counts those that were scored or ended in an error, `skipped` the others. `pass_rate` is the share of
    `attempts` that passed, with Wilson's interval. `mean` is that of their points, `mean_scored` of those scored.
    """

    scenario_id: str
    verdict: Verdict
    weight: float
    attempts: int
    passed: int
    errors: int
    skipped: int
    name: str | None = None
    family: str | None = None
    failure_type: str | None = None
    pass_rate: float | None = None
    pass_interval: Interval | None = None
    mean: float | None = None
    mean_scored: float | None = None
    rows: tuple[ScoreRow, ...] = ()


class PooledScores(_View, frozen=True, kw_only=True):
    """What attempts at several scenarios came to: how many of which there were, and figures over scenarios.

    `scored`, `passed`, `failed`, `errors` and `skipped` count attempts; `stable`, `flaky`, `failing` and `broken`
    (nothing but errors) count scenarios. `mean` is that of the scenarios' means by weight, with Student's interval over
    scenarios; `mean_scored` leaves errors out. `pass_rate` is the mean of the scenarios' pass rates, each counting
    once; its interval is Wilson's for as many trials as there are scenarios, because attempts at one are not
    independent.
    """

    scenarios: int
    scored: int
    passed: int
    failed: int
    errors: int
    skipped: int
    stable: int
    flaky: int
    failing: int
    broken: int
    mean: float | None = None
    mean_interval: Interval | None = None
    mean_scored: float | None = None
    pass_rate: float | None = None
    pass_interval: Interval | None = None


class EvaluationSummary(PooledScores, frozen=True, kw_only=True):
    """An evaluation in short. One that has not `ended` goes on, or was left.

    `planned` is how many attempts were announced. The agent, its version and the scorer are those of the start; where
    it names none, those that the scores agree on.
    """

    run_id: str
    suite: str
    started_at: datetime
    ended: bool
    agent: str | None = None
    agent_version: str | None = None
    baseline: Baseline | None = None
    answers: Answers | None = None
    scorer_id: str | None = None
    scorer_version: str | None = None
    suite_digest: str | None = None
    selection: str | None = None
    meta: dict[str, str] | None = None
    finished_at: datetime | None = None
    reason: str | None = None
    planned: int | None = None
    elapsed_ns: int | None = None


class Evaluation(EvaluationSummary, frozen=True, kw_only=True):
    """An evaluation whole: every scenario with every score, by scenario id."""

    results: tuple[ScenarioResult, ...]


class McNemarTest(_View, frozen=True, kw_only=True):
    """Paired attempts that passed in one run alone, and the exact two-sided chance of a split as uneven.

    `p` is absent where there is no such pair.
    """

    passed_to_failed: int
    failed_to_passed: int
    p: float | None = None


class ScenarioChange(_View, frozen=True, kw_only=True):
    """One scenario in two runs. `before` and `after` are mean points over its `attempts`, which are paired.

    Of a scenario that has no pairs they are of the attempts that there are, on the side that has them. `reason` says
    why it is not comparable, missing, or in error. `lost` are patterns that matched more often before, as they matched
    then; `gained` those that match more often now.
    """

    scenario_id: str
    name: str | None = None
    attempts: int = 0
    before: float | None = None
    after: float | None = None
    difference: float | None = None
    passed_before: int | None = None
    passed_after: int | None = None
    errors_after: int = 0
    reason: str | None = None
    lost: tuple[PatternFinding, ...] = ()
    gained: tuple[PatternFinding, ...] = ()


class RunComparison(_View, frozen=True, kw_only=True):
    """Two runs compared, by scenario and attempt: the candidate less the baseline.

    `scenarios` and `pairs` count what is compared; means, difference and interval are of that alone.

    regressed: fewer of its paired attempts pass than did; the most points lost first.
    missing: scored before, and not now; a regression, too. `regressions` counts both.
    lower: as many pass, with fewer points.  improved: more pass, or as many with more points.  unchanged: the rest.
    errors: the candidate has errors there; such a scenario stands in one of the others, too.
    not_comparable: fixture, expectation or scorer changed, or one run alone says which it was.
    added: scored now, and not before.
    """

    baseline: EvaluationSummary
    candidate: EvaluationSummary
    scenarios: int
    pairs: int
    mcnemar: McNemarTest
    regressions: int
    unchanged: int
    regressed: tuple[ScenarioChange, ...]
    missing: tuple[ScenarioChange, ...]
    lower: tuple[ScenarioChange, ...]
    improved: tuple[ScenarioChange, ...]
    added: tuple[ScenarioChange, ...]
    errors: tuple[ScenarioChange, ...]
    not_comparable: tuple[ScenarioChange, ...]
    mean_baseline: float | None = None
    mean_candidate: float | None = None
    difference: float | None = None
    difference_interval: Interval | None = None


class ScoreboardRow(PooledScores, frozen=True, kw_only=True):
    """One version of an agent on a suite: all its runs together.

    `superseded` counts scores that are left out because the scenario or the scorer has changed since, `unfinished` runs
    without an end. `previous_version` is the version of the same agent whose first run came before; `difference` is
    paired over the scenarios of both, and `regressed` names those of which a smaller share passes than did.
    """

    agent: str | None = None
    agent_version: str | None = None
    baseline: Baseline | None = None
    runs: int
    unfinished: int
    superseded: int
    first_at: datetime
    last_at: datetime
    previous_version: str | None = None
    difference: float | None = None
    difference_interval: Interval | None = None
    regressed: tuple[str, ...] = ()
    results: tuple[ScenarioResult, ...] = ()


class TrendPoint(_View, frozen=True, kw_only=True):
    """One version of an agent in the course of them, as its row says it."""

    agent: str | None = None
    agent_version: str | None = None
    first_at: datetime
    runs: int
    scenarios: int
    mean: float | None = None
    mean_interval: Interval | None = None
    pass_rate: float | None = None
    pass_interval: Interval | None = None


class SuiteScoreboard(_View, frozen=True, kw_only=True):
    """One suite: agents, the best first; after them the baselines. `trend` is by agent, the first version first.

    `scenarios` counts those that were ever scored; the scorer is the newest that scored it. `left_out` counts older
    versions that have no row, because there are more than were asked for.
    """

    suite: str
    scenarios: int
    scorer_id: str | None = None
    scorer_version: str | None = None
    rows: tuple[ScoreboardRow, ...] = ()
    left_out: int = 0
    trend: tuple[TrendPoint, ...] = ()


class Scoreboard(_View, frozen=True, kw_only=True):
    """Every suite, by name."""

    suites: tuple[SuiteScoreboard, ...] = ()

"""Types of the evaluation views: a run with its scenarios and scores, a comparison of runs, and the scoreboard.

Points are 0..100, rates 0..1, intervals are 95%. In all means, an error is an attempt that did not pass, with 0 points;
skipped attempts are left out. An absent field is unknown, or cannot be computed from the data.
"""

from datetime import datetime
from typing import Literal

import msgspec

from events.evaluation import Answers, Baseline, Component, Failure, PatternFinding, ScoreState
from projections.evaluation.judge_view_types import CorrectedPassRate
from projections.evaluation.usage_figures import UsageFigures
from tallystick.shapes.parts import Interval

Verdict = Literal["stable", "flaky", "failing", "error", "skipped"]
"""The verdict on a scenario: all attempts passed, some passed, none passed, only errors, only skipped."""


class _View(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a view. Absent fields are not encoded."""


class ScoreRow(_View, frozen=True, kw_only=True):
    """One answer and its score; `position` is that of its event.

    `weight` and the digests are as the score states them. The scorer is the run's if the score names none.
    Instead of a text that is stored as evidence, its digest is given; `erased` tells that such a text was erased.
    `labels` are those of people on the answer, also from other runs with the same answer.
    `analysis` is present only if it was requested. Tokens, cost (US dollars), `elapsed_ns` and the trace are those of
    this try. `retry` is its number among the retries of the attempt; absent at the first try.
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
    model: str | None = None
    reported_model: str | None = None
    confidence: float | None = None
    labels: tuple["PersonLabel", ...] = ()
    retry: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    response_id: str | None = None
    steps: int | None = None
    tool_calls: int | None = None
    trace_digest: str | None = None


class PersonLabel(_View, frozen=True, kw_only=True):
    """The latest label that people gave an answer: on a criterion, or as a whole (no criterion)."""

    criterion: str | None = None
    passed: bool


class StatedConfidence(_View, frozen=True, kw_only=True):
    """The confidences that scored answers state, and how often these answers passed.

    `gap` is the pass rate minus the mean confidence: below 0 the answers are overconfident. `gap_interval` is its 95%
    interval over scenarios, as attempts at one scenario depend on each other; absent with fewer than two scenarios.
    `brier_score` is the mean of (passed - confidence)².
    """

    n: int
    mean_confidence: float
    pass_rate: float
    gap: float
    brier_score: float
    gap_interval: Interval | None = None


class ScenarioResult(_View, frozen=True, kw_only=True):
    """The results of the attempts at one scenario. `rows` and `usage` are present only in the view of one run.

    `attempts` counts attempts that were scored or ended in an error, `skipped` the others. `unmeasured` counts the
    errors of what scores: they say nothing of the agent, and are in no figure. `pass_rate` is the share of the other
    attempts that passed, with Wilson's interval. `mean` is their mean points, `mean_scored` that of scored ones.
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
    usage: UsageFigures | None = None
    unmeasured: int = 0

    @property
    def measured(self) -> int:
        """Return the number of attempts that the figures are of."""
        return self.attempts - self.unmeasured


class PassOfK(_View, frozen=True, kw_only=True):
    """The mean over scenarios of the estimated probability that all of `k` attempts pass, and that any does, 0 to 1."""

    k: int
    all: float
    any: float


class PooledScores(_View, frozen=True, kw_only=True):
    """The results of attempts at several scenarios: counts, and statistics over scenarios.

    `scored`, `passed`, `failed`, `errors` and `skipped` count attempts; `stable`, `flaky`, `failing` and `broken` (only
    errors) count scenarios. `unmeasured` counts the errors of what scores, a judge for instance: they say nothing of
    the agent, and are in no figure. `mean` is the weighted mean of the scenarios' means, with Student's interval over
    scenarios, and the agent's errors as 0; `mean_scored` leaves all errors out. `pass_rate` is the unweighted mean of
    the scenarios' pass rates. Its interval is Wilson's with the number of scenarios as the number of trials, because
    attempts at the same scenario are not independent. `pass_of` has pass^k and pass@k for each k from 2 to 10 that
    every attempted scenario has attempts for, an error of the agent being an attempt that did not pass. `usage` is what
    the answers used, over all tries of these attempts; absent if no answer states anything.
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
    pass_of: tuple[PassOfK, ...] = ()
    usage: UsageFigures | None = None
    unmeasured: int = 0


class EvaluationSummary(PooledScores, frozen=True, kw_only=True):
    """A summary of an evaluation. One that has not `ended` is not finished, or was abandoned.

    `planned` is the announced number of attempts. Agent, version and scorer are those of the start; if it names none,
    those that all scores agree on. `recorded_by` names the agents that recorded the start or scores, if they are not
    the evaluated agent; callers without a token, in a ledger without tokens, are left out.
    """

    run_id: str
    suite: str
    started_at: datetime
    ended: bool
    agent: str | None = None
    agent_version: str | None = None
    recorded_by: tuple[str, ...] = ()
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
    """A whole evaluation: every scenario with every score, sorted by scenario id.

    Of several tries of one attempt, the last is a score here. `retried_errors` counts the errors before it.
    """

    results: tuple[ScenarioResult, ...]
    retried_errors: int = 0


class McNemarTest(_View, frozen=True, kw_only=True):
    """The paired attempts that passed in only one of the runs, and a test whether more of them did in one run.

    `p` is two-sided, exact, and absent without such pairs. The test flips the signs of whole scenarios, because
    attempts at one scenario depend on each other. With one attempt at each scenario it is McNemar's exact test.
    """

    passed_to_failed: int
    failed_to_passed: int
    p: float | None = None


class ScenarioChange(_View, frozen=True, kw_only=True):
    """One scenario in two runs. `before` and `after` are mean points over its `attempts` pairs.

    Without pairs, `before` and `after` are over all attempts of the side that has them. `reason` tells why the scenario
    is not comparable, missing, or in error. `lost` are patterns that matched in more attempts before,
    `gained` those that match in more attempts now.
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


class ScenarioPasses(_View, frozen=True, kw_only=True):
    """The attempts and passes of one compared scenario in two runs, without skipped attempts.

    `copies_before` attempts of the first run, and `copies_now` of the second, count as one in the gate's test, because
    they may be copies of each other.
    """

    scenario_id: str
    attempts_before: int
    passed_before: int
    attempts_now: int
    passed_now: int
    copies_before: int = 1
    copies_now: int = 1


class RunComparison(_View, frozen=True, kw_only=True):
    """A comparison of two runs by scenario and attempt: the candidate minus the baseline.

    `scenarios` and `pairs` count what was compared; means, difference and interval are over these only.

    regressed: fewer of its paired attempts pass than before; the most points lost first.
    missing: scored before, but not now. This is a regression too; `regressions` counts both.
    lower: as many pass, with fewer points.  improved: more pass, or as many with more points.  unchanged: the rest.
    errors: scenarios in which the candidate has errors; each is in one of the other lists too.
    not_comparable: fixture, expectations or scorer changed, or only one run states them.
    added: scored now, but not before.
    passes: the passes of each compared scenario, in all attempts of both runs, for the gate's test.
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
    passes: tuple[ScenarioPasses, ...] = ()


class ScoreboardRow(PooledScores, frozen=True, kw_only=True):
    """One version of an agent on a suite: all its runs together.

    `superseded` counts scores that are left out because the scenario or the scorer has changed since; `unfinished`
    counts runs without an end. `previous_version` is the version of the agent whose first run was just before;
    `difference` is over the scenarios of both, and `regressed` names those that got worse. `recorded_by` is as in
    `EvaluationSummary`, of all its runs. `stated` is over the answers that state a confidence; absent without any.
    `corrected` is the pass rate of a judge's scores, corrected for its errors; absent for other scorers.
    Of a scoreboard of models, a row has the `model` instead of agent and version; absent if its answers name none.
    """

    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    stated: StatedConfidence | None = None
    recorded_by: tuple[str, ...] = ()
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
    corrected: CorrectedPassRate | None = None


class TrendPoint(_View, frozen=True, kw_only=True):
    """One version of an agent in the trend, with the values of its row."""

    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    first_at: datetime
    runs: int
    scenarios: int
    mean: float | None = None
    mean_interval: Interval | None = None
    pass_rate: float | None = None
    pass_interval: Interval | None = None


class SuiteScoreboard(_View, frozen=True, kw_only=True):
    """One suite: agents, the best first, then baselines. `trend` is sorted by agent, the oldest version first.

    `scenarios` counts the scenarios that were ever scored; the scorer is the newest one. `left_out` counts older
    versions without a row, because more exist than were requested.
    """

    suite: str
    scenarios: int
    scorer_id: str | None = None
    scorer_version: str | None = None
    rows: tuple[ScoreboardRow, ...] = ()
    left_out: int = 0
    trend: tuple[TrendPoint, ...] = ()


class Scoreboard(_View, frozen=True, kw_only=True):
    """Every suite, sorted by name."""

    suites: tuple[SuiteScoreboard, ...] = ()

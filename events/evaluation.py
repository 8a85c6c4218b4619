"""The streams of scenarios and of evaluations: versions of a scenario, and an agent's scores on a suite of scenarios.

Digests identify a scenario's content: `fixture_digest` changes with the input to the agent and with the expectations,
`expectation_digest` with the expectations alone. Scores are comparable if both digests and the scorer are the same.
"""

from typing import Annotated, Literal, get_args

import msgspec

from events.judge import CriterionVerdict, JudgeFacts
from events.limits import ITEMS_MAX
from events.payload import (
    COUNT_MAX,
    Confidence,
    Count,
    Digest,
    Label,
    Meta,
    Payload,
    PayloadPart,
    SpanId,
    StreamId,
    StreamName,
    Text,
    TimeText,
    TraceId,
)

POINTS_MAX = 100.0
"""Highest score of a component, and of a whole answer."""

WEIGHT_MAX = 1_000_000.0
"""Highest weight of a scenario, and of a component."""

COST_USD_MAX = 1_000_000.0
"""Highest cost of one answer, US dollars."""

Points = Annotated[float, msgspec.Meta(ge=0.0, le=POINTS_MAX)]
Weight = Annotated[float, msgspec.Meta(ge=0.0, le=WEIGHT_MAX)]
Number = Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)]
CostUSD = Annotated[float, msgspec.Meta(ge=0.0, le=COST_USD_MAX)]

ScoreState = Literal["scored", "error", "skipped"]
FailureV1 = Literal["crash", "timeout", "flood", "unreadable", "pattern"]
Failure = Literal[
    "crash", "timeout", "flood", "unreadable", "pattern", "embeddings", "judge", "component", "rate_limit",
    "unavailable", "network",
]  # fmt: skip
Baseline = Literal["empty", "most_frequent"]
Answers = Literal["captured", "command"]
ComponentNameV1 = Literal["root_cause", "fix_accuracy", "hypothesis_quality", "next_steps"]
MatchTypeV1 = Literal["exact", "substring", "regex", "semantic", "word"]


class _Scenario(Payload, frozen=True, kw_only=True):
    """The full description of a scenario; each capture and each revision states all of it."""

    name: Label | None = None
    """Name for people. Source: the scenario."""
    family: Label | None = None
    """The family of alerts it belongs to. Source: the scenario."""
    failure_type: Label | None = None
    """Kind of failure. Source: the scenario."""
    mode: Label | None = None
    """Which of several captures of one incident it is: the name of its subfolder. Source: the folder."""
    description: Text | None = None
    """The incident, in words. Source: the scenario."""
    fixture_digest: Digest
    """Digest of the investigation without its captured analysis, the expectations and the scoring. Source: measured."""
    expectation_digest: Digest | None = None
    """Digest of the expectations and the scoring. Source: measured."""
    investigation_digest: Digest | None = None
    """Digest of the captured investigation, byte for byte; if it was stored, the digest of that evidence.
    Source: measured."""
    source: Label | None = None
    """Origin: `alertmanager`, `investigation`, or the format of an import. Source: the command that captured it."""
    fingerprint: Label | None = None
    """The alert's fingerprint. Source: the alert."""
    captured_at: TimeText | None = None
    """Time of the capture, as the scenario writes it. Source: the scenario."""
    captured_by: Label | None = None
    """The person or program that captured it. Source: the scenario."""


class EvalScenarioCaptured(_Scenario, frozen=True, kw_only=True):
    """A scenario is added."""

    scenario_id: StreamId | None = None
    """Names the stream `scenario/ID`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""


class EvalScenarioRevised(_Scenario, frozen=True, kw_only=True):
    """A scenario changes: scores before and after the change cannot be compared."""

    scenario_id: StreamId
    """The scenario that changed. Source: the client."""


class EvalStartedV1(Payload, frozen=True, kw_only=True):
    """The start of an evaluation: the agent and the suite. Version 2 can state the suite's files and an import."""

    run_id: StreamId | None = None
    """Names the stream `evaluation/RUN`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    suite: Label
    """Name of the suite. Source: the caller of the runner."""
    agent: Label | None = None
    """The evaluated agent. Source: the caller of the runner."""
    agent_version: Label | None = None
    """Its version. Source: the caller of the runner."""
    baseline: Baseline | None = None
    """Set for a baseline instead of an agent: `empty` answers nothing, `most_frequent` always names the suite's most
    frequent cause. Source: the runner."""
    answers: Answers | None = None
    """Origin of the answers: `captured` with the scenario, or given by a `command`. Source: the runner."""
    scenarios: Count | None = None
    """Number of scenarios to score. Source: the runner."""
    attempts: Count | None = None
    """Attempts at each scenario. Source: the caller of the runner."""
    suite_digest: Digest | None = None
    """Digest of the ids and digests of all scenarios. Source: measured."""
    scorer_id: Label | None = None
    """The scorer. Source: the scorer."""
    scorer_version: Label | None = None
    """Its version. Source: the scorer."""
    selection: Text | None = None
    """The expression that selected scenarios of the suite. Source: the caller of the runner."""
    meta: Meta | None = None
    """Anything else, text by name: a commit, a branch. Source: the caller of the runner."""


class EvalStarted(EvalStartedV1, frozen=True, kw_only=True):
    """The start of an evaluation: the agent and the suite."""

    suite_files_digest: Digest | None = None
    """Digest of the evidence that lists the suite's files: a JSON object from the path of each file to the digest of
    the evidence that holds it. Source: measured."""
    imported_from: Label | None = None
    """The program whose results were imported, and its version or format. Source: the imported file."""
    source_digest: Digest | None = None
    """Digest of the imported file. Source: measured."""


class PatternFindingV1(PayloadPart, frozen=True, kw_only=True):
    """The result of one pattern, of a match type that version 2 of scores knows."""

    expectation: Label
    """Location of the pattern in the scenario, such as `root_cause.patterns[0]`. Source: the scenario."""
    pattern: Text
    """The pattern. Source: the scenario."""
    match_type: MatchTypeV1
    """Type of matching. Source: the scenario."""
    matched: bool
    """Whether the pattern matched. Source: the scorer."""
    where: Label | None = None
    """Location of the match in the analysis, such as `decision.why[1]`; `decision.why` means all items together.
    Source: the scorer."""
    start: Count | None = None
    """Start of the match in that text, characters. Source: the scorer."""
    end: Count | None = None
    """End of the match in that text, characters. Source: the scorer."""
    text: str | None = None
    """The matching text, its first 200 characters. Source: the scorer."""
    similarity: Annotated[float, msgspec.Meta(ge=-1.0, le=1.0)] | None = None
    """Cosine similarity of the two embeddings in a semantic match. Source: the embeddings endpoint."""
    note: Text | None = None
    """A remark: the scorer treated `semantic` as a substring, or stopped a search early. Source: the scorer."""


class PatternFinding(PatternFindingV1, frozen=True, kw_only=True):
    """The result of one pattern."""

    match_type: Label  # type: ignore[assignment]  # every type that a package adds
    """Type of matching. Source: the scenario."""


class ComponentV1(PayloadPart, frozen=True, kw_only=True):
    """One part of a score, of the four that version 2 of scores knows."""

    name: ComponentNameV1
    """Name of the component. Source: the scorer."""
    applicable: bool
    """Whether the scenario has expectations for it. Source: the scenario."""
    score: Points | None = None
    """Its score, 0..100; absent where the component is not applicable. Source: the scorer."""
    weight: Weight | None = None
    """Its share of the total; the shares of the applicable components sum to 1. Source: the scorer."""
    mark: Points | None = None
    """Lowest score that passes. Source: the scenario."""
    passed: bool | None = None
    """Whether the score reached `mark`. Source: the scorer."""
    findings: Annotated[tuple[PatternFindingV1, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """The result of each pattern. Source: the scorer."""


class Component(ComponentV1, frozen=True, kw_only=True):
    """One part of a score: a component of the scenario's expectations, or a criterion of its rubric."""

    name: Label  # type: ignore[assignment]  # every component that a package adds, and every criterion
    """Name of the component or criterion. Source: the scorer."""
    findings: Annotated[tuple[PatternFinding, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """The result of each pattern. Source: the scorer."""
    verdict: CriterionVerdict | None = None
    """The verdict of a judge on this criterion. Source: the judge."""


class EmbeddingsFacts(PayloadPart, frozen=True, kw_only=True):
    """What compared texts by meaning."""

    endpoint: Label
    """Host and port of the endpoint. Source: the caller of the runner."""
    model: Label
    """Its model. Source: the caller of the runner."""
    threshold: Annotated[float, msgspec.Meta(ge=-1.0, le=1.0)]
    """Cosine similarity from which two texts match. Source: the scorer."""


class EvalScoredV1(Payload, frozen=True, kw_only=True):
    """The score of one answer to one scenario, or the reason why it has none.

    Version 2 can also state the model, and the confidence that the answer states. Version 3 has components, match types
    and failures that packages add, the facts of a judge and of embeddings, tokens, cost, retries and traces.
    """

    run_id: StreamId
    """The evaluation it belongs to. Source: the runner."""
    scenario_id: StreamName
    """The scenario. Source: the runner."""
    attempt: Number
    """Number of the attempt at this scenario, 1-based. Source: the runner."""
    state: ScoreState
    """`scored`; `error`: no answer that could be scored; `skipped`. Source: the runner."""
    failure: FailureV1 | None = None
    """Kind of error: the command crashed, timed out, wrote too much (`flood`), or gave an unreadable analysis; or a
    pattern timed out. Source: the runner."""
    total_score: Points | None = None
    """Weighted total of the components, 0..100; always present in the state `scored`. Source: the scorer."""
    pass_threshold: Points | None = None
    """Lowest total score that passes. Source: the scenario."""
    passed: bool | None = None
    """Whether the total reached `pass_threshold`; always present in the state `scored`. Source: the scorer."""
    components: Annotated[tuple[ComponentV1, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """The parts of the score. Source: the scorer."""
    breakdown_digest: Digest | None = None
    """Digest of the evidence that holds components and findings, where they do not fit into the line.
    Source: measured."""
    weight: Weight | None = None
    """Weight of the scenario in the suite; 1 where absent. Source: the scenario."""
    fixture_digest: Digest | None = None
    """The scenario's digest of input and expectations. Source: measured."""
    expectation_digest: Digest | None = None
    """The scenario's digest of expectations. Source: measured."""
    scorer_id: Label | None = None
    """The scorer of this answer. Source: the scorer."""
    scorer_version: Label | None = None
    """Its version. Source: the scorer."""
    agent: Label | None = None
    """The agent that answered. Source: the caller of the runner."""
    agent_version: Label | None = None
    """Its version. Source: the caller of the runner."""
    analysis: str | None = None
    """The answer, as JSON; where absent and `analysis_digest` is present, the answer is that evidence.
    Source: the agent."""
    analysis_digest: Digest | None = None
    """Digest of the answer. Source: measured."""
    elapsed_ns: Count | None = None
    """Time from question to answer, nanoseconds. Source: measured."""
    detail: Text | None = None
    """Why the answer has no score, in words. Source: the runner."""
    said: str | None = None
    """The last lines of output of a failing command. Source: the command."""

    def __post_init__(self) -> None:
        if self.state == "scored" and (self.total_score is None or self.passed is None):
            raise ValueError("The state `scored` needs `total_score` and `passed`; otherwise use `error` or `skipped`")
        if self.state != "scored" and (self.total_score is not None or self.passed is not None):
            raise ValueError("`total_score` and `passed` are allowed only in the state `scored`")


class EvalScoredV2(EvalScoredV1, frozen=True, kw_only=True):
    """The score of one answer to one scenario, or the reason why it has none; version 3 can state more."""

    model: Label | None = None
    """The language model that answered, as the answer or the caller claims. Source: the answer, or the caller of the
    runner."""
    reported_model: Label | None = None
    """The model that the endpoint named. Source: the endpoint, passed on by the agent."""
    confidence: Confidence | None = None
    """The probability of being right that the answer states, 0..1. Source: the answer."""


class EvalScored(EvalScoredV2, frozen=True, kw_only=True):
    """The score of one answer to one scenario, or the reason why it has none."""

    failure: Failure | None = None  # type: ignore[assignment]  # more kinds than before
    """Kind of error: the command crashed, timed out, wrote too much (`flood`), or gave an unreadable analysis; a
    pattern timed out; the `embeddings` endpoint or the `judge` gave no usable reply; an added `component` failed; the
    agent's endpoint refused for its `rate_limit` or was `unavailable`; or the agent used the `network` in a replay
    that allows none. Source: the runner."""
    components: Annotated[tuple[Component, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """The parts of the score. Source: the scorer."""
    judge: JudgeFacts | None = None
    """What judged the answer; its verdicts are in the components. Source: the runner."""
    embeddings: EmbeddingsFacts | None = None
    """What compared texts by meaning; absent where no pattern needed it. Source: the runner."""
    retry: Number | None = None
    """Number of the retry of this attempt, 1-based; absent at the first try. The last score of an attempt counts.
    Source: the runner."""
    input_tokens: Count | None = None
    """Tokens of all prompts of the answer. Source: the answer, or the endpoint."""
    output_tokens: Count | None = None
    """Tokens of all replies of the answer. Source: the answer, or the endpoint."""
    cost_usd: CostUSD | None = None
    """Cost of the answer, US dollars. Source: the answer, or the caller's prices."""
    steps: Count | None = None
    """Number of steps in the recorded trace of the agent. Source: measured."""
    tool_calls: Count | None = None
    """Number of tool calls in that trace. Source: measured."""
    trace_digest: Digest | None = None
    """Digest of the evidence that holds the trace. Source: measured."""
    trace_id: TraceId | None = None
    """The OpenTelemetry trace of the answer. Source: the agent, or the exporter."""
    span_id: SpanId | None = None
    """The span of the answer in that trace. Source: the agent, or the exporter."""
    response_id: Label | None = None
    """The id of the model's response. Source: the endpoint."""

    def fits_older_version(self) -> bool:
        """Tell whether version 2 can state the failure and the components."""
        return self.failure in (None, *get_args(FailureV1)) and all(
            component.name in get_args(ComponentNameV1)
            and component.verdict is None
            and all(finding.match_type in get_args(MatchTypeV1) for finding in component.findings)
            for component in self.components
        )


class EvalFinished(Payload, frozen=True, kw_only=True):
    """The end of an evaluation. Its scores remain."""

    run_id: StreamId
    """The evaluation that ended. Source: the runner."""
    reason: Text | None = None
    """Why it ended early, in words. Source: the runner."""
    elapsed_ns: Count | None = None
    """Duration without interruptions, nanoseconds. Source: measured."""


class EvalReopened(Payload, frozen=True, kw_only=True):
    """A finished evaluation goes on: attempts that ended in an error are retried."""

    run_id: StreamId
    """The evaluation that is open again. Source: the runner."""
    reason: Text | None = None
    """Why, in words. Source: the runner."""

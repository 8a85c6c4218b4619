"""The streams of evaluations: what a scenario is, and what an agent made of a suite of them.

A scenario is named by what it holds: `fixture_digest` changes with anything that is given to the agent or expected of
it, `expectation_digest` with what is expected alone. Scores are comparable where both are the same, and the scorer is.
"""

from typing import Annotated, Literal

import msgspec

from events.limits import ITEMS_MAX
from events.payload import COUNT_MAX, Count, Digest, Label, Payload, PayloadPart, StreamId, StreamName, Text

POINTS_MAX = 100.0
"""The most that a component, and a whole answer, can score."""

WEIGHT_MAX = 1_000_000.0
"""The most that one scenario, or one component, can weigh."""

Points = Annotated[float, msgspec.Meta(ge=0.0, le=POINTS_MAX)]
Weight = Annotated[float, msgspec.Meta(ge=0.0, le=WEIGHT_MAX)]
Number = Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)]
TimeText = Annotated[str, msgspec.Meta(max_length=64)]
Meta = Annotated[dict[str, str], msgspec.Meta(max_length=ITEMS_MAX)]

ScoreState = Literal["scored", "error", "skipped"]
Failure = Literal["crash", "timeout", "flood", "unreadable", "pattern"]
Baseline = Literal["empty", "most_frequent"]
Answers = Literal["captured", "command"]
ComponentName = Literal["root_cause", "fix_accuracy", "hypothesis_quality", "next_steps"]
MatchType = Literal["exact", "substring", "regex", "semantic", "word"]


class _Scenario(Payload, frozen=True, kw_only=True):
    """What is known of a scenario once it is captured or revised: all of it, each time."""

    name: Label | None = None
    """What people call it. Source: the scenario."""
    family: Label | None = None
    """The family of alerts it belongs to. Source: the scenario."""
    failure_type: Label | None = None
    """What failed, in a word. Source: the scenario."""
    mode: Label | None = None
    """Which of several captures of one incident it is, as the folder beneath is named.
    Source: the folder."""
    description: Text | None = None
    """What happened. Source: the scenario."""
    fixture_digest: Digest
    """Of the investigation without its captured analysis, the expectations and the scoring. Source: measured."""
    expectation_digest: Digest | None = None
    """Of the expectations and the scoring. Source: measured."""
    investigation_digest: Digest | None = None
    """Of the captured investigation as it was written; where it is kept, it is this evidence. Source: measured."""
    source: Label | None = None
    """Where it came from: `alertmanager`, `investigation`, or the format it was imported from. Source: who captured."""
    fingerprint: Label | None = None
    """The alert's fingerprint. Source: the alert."""
    captured_at: TimeText | None = None
    """When, as the scenario writes it. Source: the scenario."""
    captured_by: Label | None = None
    """By whom. Source: the scenario."""


class EvalScenarioCaptured(_Scenario, frozen=True, kw_only=True):
    """A scenario is known from now on."""

    scenario_id: StreamId | None = None
    """Names the stream `scenario/ID`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""


class EvalScenarioRevised(_Scenario, frozen=True, kw_only=True):
    """A scenario holds something else from now on: scores of before and after cannot be compared."""

    scenario_id: StreamId
    """The scenario that changed. Source: the client."""


class EvalStarted(Payload, frozen=True, kw_only=True):
    """An evaluation begins: who is evaluated, on what."""

    run_id: StreamId | None = None
    """Names the stream `evaluation/RUN`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    suite: Label
    """The suite. Source: who runs it."""
    agent: Label | None = None
    """Who is evaluated. Source: who runs it."""
    agent_version: Label | None = None
    """Its version. Source: who runs it."""
    baseline: Baseline | None = None
    """Where what answers is no agent: `empty` says nothing, `most_frequent` names the most frequent cause each time.
    Source: the runner."""
    answers: Answers | None = None
    """Where answers come from: `captured` with the scenario, or from a `command`. Source: the runner."""
    scenarios: Count | None = None
    """How many scenarios are to be scored. Source: the runner."""
    attempts: Count | None = None
    """How often each. Source: who runs it."""
    suite_digest: Digest | None = None
    """Of the ids and digests of all scenarios. Source: measured."""
    scorer_id: Label | None = None
    """What scores. Source: the scorer."""
    scorer_version: Label | None = None
    """Its version. Source: the scorer."""
    selection: Text | None = None
    """Which scenarios of the suite were chosen, as it was typed. Source: who runs it."""
    meta: Meta | None = None
    """Anything else, text by name: a commit, a branch. Source: who runs it."""


class PatternFinding(PayloadPart, frozen=True, kw_only=True):
    """What became of one pattern."""

    expectation: Label
    """Where the pattern stands in the scenario, such as `root_cause.patterns[0]`. Source: the scenario."""
    pattern: Text
    """The pattern. Source: the scenario."""
    match_type: MatchType
    """How it was looked for. Source: the scenario."""
    matched: bool
    """Whether it was found. Source: the scorer."""
    where: Label | None = None
    """Where in the analysis, such as `decision.why[1]`; `decision.why` for the items together. Source: the scorer."""
    start: Count | None = None
    """Where the match begins there, in characters. Source: the scorer."""
    end: Count | None = None
    """Where it ends. Source: the scorer."""
    text: str | None = None
    """What matched: at most the first 200 characters of it. Source: the scorer."""
    similarity: Annotated[float, msgspec.Meta(ge=-1.0, le=1.0)] | None = None
    """Of a semantic match, the cosine of both embeddings. Source: the embeddings endpoint."""
    note: Text | None = None
    """What should be known of it: that `semantic` was looked for as a substring, that a search was cut off.
    Source: the scorer."""


class Component(PayloadPart, frozen=True, kw_only=True):
    """One part of a score."""

    name: ComponentName
    """Which. Source: the scorer."""
    applicable: bool
    """Whether the scenario expects anything of it. Source: the scenario."""
    score: Points | None = None
    """Its points; absent where it is not applicable. Source: the scorer."""
    weight: Weight | None = None
    """Its part in the total, after the applicable ones were made to sum to 1. Source: the scorer."""
    mark: Points | None = None
    """Points from which it passes. Source: the scenario."""
    passed: bool | None = None
    """Whether it reached its mark. Source: the scorer."""
    findings: Annotated[tuple[PatternFinding, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """What became of each pattern. Source: the scorer."""


class EvalScored(Payload, frozen=True, kw_only=True):
    """One answer to one scenario and its score, or why there is none."""

    run_id: StreamId
    """The evaluation it belongs to. Source: the runner."""
    scenario_id: StreamName
    """The scenario. Source: the runner."""
    attempt: Number
    """Which attempt at it, 1-based. Source: the runner."""
    state: ScoreState
    """`scored`; `error` where there is no answer that could be scored; `skipped`. Source: the runner."""
    failure: Failure | None = None
    """Of an error: the command crashed, took too long, wrote too much, gave no analysis that can be read, or a pattern
    took too long. Source: the runner."""
    total_score: Points | None = None
    """All components by weight, 0..100; there always where it was scored. Source: the scorer."""
    pass_threshold: Points | None = None
    """Points from which the whole passes. Source: the scenario."""
    passed: bool | None = None
    """Whether it did; there always where it was scored. Source: the scorer."""
    components: Annotated[tuple[Component, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """The parts of the score. Source: the scorer."""
    breakdown_digest: Digest | None = None
    """Where the parts and their findings do not fit into the line, they are this evidence. Source: measured."""
    weight: Weight | None = None
    """What the scenario counts in the suite; 1 where absent. Source: the scenario."""
    fixture_digest: Digest | None = None
    """What was given and expected. Source: measured."""
    expectation_digest: Digest | None = None
    """What was expected. Source: measured."""
    scorer_id: Label | None = None
    """What scored. Source: the scorer."""
    scorer_version: Label | None = None
    """Its version. Source: the scorer."""
    agent: Label | None = None
    """Who answered. Source: who runs it."""
    agent_version: Label | None = None
    """Its version. Source: who runs it."""
    analysis: str | None = None
    """The answer, as JSON; where only its digest stands here, it is that evidence. Source: the agent."""
    analysis_digest: Digest | None = None
    """Of the answer. Source: measured."""
    elapsed_ns: Count | None = None
    """From question to answer, nanoseconds. Source: measured."""
    detail: Text | None = None
    """Why there is no score, in words. Source: the runner."""
    said: str | None = None
    """The last lines that a failing command wrote. Source: the command."""

    def __post_init__(self) -> None:
        if self.state == "scored" and (self.total_score is None or self.passed is None):
            raise ValueError("A score says `total_score` and `passed`; without them its state is `error` or `skipped`")
        if self.state != "scored" and (self.total_score is not None or self.passed is not None):
            raise ValueError("`total_score` and `passed` belong to the state `scored` alone")


class EvalFinished(Payload, frozen=True, kw_only=True):
    """An evaluation ended. What was scored stays."""

    run_id: StreamId
    """The evaluation that ended. Source: the runner."""
    reason: Text | None = None
    """Why, in words, where it did not come to its end. Source: the runner."""
    elapsed_ns: Count | None = None
    """From its start, nanoseconds, interruptions left out. Source: measured."""

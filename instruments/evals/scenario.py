"""The scenario: the investigation that an agent gets, and the expectations of its analysis.

These are the structures of `scenario.yaml`. The loader (`suite/loader.py`) refuses any expectation that cannot be
scored, so that a mistake in a fixture never lowers a score.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from events.evaluation import Weight

MatchType = Literal["exact", "substring", "regex", "semantic"]
"""The match types that need no other package."""

PATTERN_CHARS_MAX = 1_000
"""Characters of one pattern."""

PATTERNS_MAX = 200
"""Patterns of one scenario."""

UNEDITED = "todo".upper()
"""The beginning of a text in a template that people must replace. In lower case here, as a test refuses it in code."""

PASS_POINTS = {
    "root_cause": 70.0,
    "fix_accuracy": 60.0,
    "hypothesis_quality": 50.0,
    "next_steps": 50.0,
    "tools": 100.0,
}
"""The points from which each component passes."""

ADDED_PASS_POINTS = 50.0
"""The points from which a component passes that a package adds."""


class StrictStruct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of expectations and scoring. Unknown keys are refused, since a misspelt one would expect nothing."""


class Matcher(StrictStruct, frozen=True, kw_only=True):
    """Patterns and how they are searched. One of them must match."""

    patterns: tuple[str, ...]
    match_type: str


PatternSpec = Matcher | str
"""A matcher, or a text that is searched as a substring."""


class Expected(StrictStruct, frozen=True, kw_only=True):
    """Conditions on a text. All that are stated must be met by the same text.

    `patterns` with `match_type` form one matcher, one of whose patterns must match; `exact` is a text that an item must
    equal. All of `all_of`, one of `any_of` and none of `none_of` must match.
    """

    patterns: tuple[str, ...] = ()
    match_type: str | None = None
    exact: str | tuple[str, ...] | None = None
    all_of: tuple[PatternSpec, ...] = ()
    any_of: tuple[PatternSpec, ...] = ()
    none_of: tuple[PatternSpec, ...] = ()


class FailureMode(StrictStruct, frozen=True, kw_only=True):
    """The failure class that an answer must name: one of these, ignoring case and the separators of words."""

    exact: str | tuple[str, ...]


class NextSteps(StrictStruct, frozen=True, kw_only=True):
    """Conditions on the next steps: expected commands, required patterns, and forbidden patterns."""

    command_types: tuple[str, ...] = ()
    must_include: tuple[PatternSpec, ...] = ()
    none_of: tuple[PatternSpec, ...] = ()


class ToolPattern(StrictStruct, frozen=True, kw_only=True):
    """A call of a tool. In the patterns, `*` stands for any characters and `?` for one; upper and lower case differ."""

    name: str
    arguments: dict[str, str] | str | None = None
    """A pattern for each argument, by its key or its path with dots; or one pattern for all arguments as JSON."""


ToolSpec = ToolPattern | str
"""A call, or a pattern for the name of its tool."""


class ToolExpectations(StrictStruct, frozen=True, kw_only=True):
    """Conditions on the tools that an agent calls, in the recorded trace."""

    required: tuple[ToolSpec, ...] = ()
    any_of: tuple[ToolSpec, ...] = ()
    forbidden: tuple[ToolSpec, ...] = ()
    order: tuple[ToolSpec, ...] = ()
    """Calls that occur in this order, others between them or not."""
    max_calls: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Expectations(StrictStruct, frozen=True, kw_only=True):
    """All expectations of a scenario. A component without an expectation is not applicable."""

    root_cause: Expected | None = None
    failure_mode: FailureMode | None = None
    proposed_fix: Expected | None = None
    hypotheses: Expected | None = None
    next_steps: NextSteps | None = None
    tools: ToolExpectations | None = None
    added: dict[str, Any] = {}
    """The expectations of the components that packages add, by name. In `scenario.yaml` they are beside the others."""


class Criterion(StrictStruct, frozen=True, kw_only=True):
    """One question that a judge answers about an analysis, with yes or no."""

    name: str
    question: str
    weight: Weight = 1.0
    """Its share of the total score, relative to those of the other criteria."""
    reference: str | None = None
    """The right answer to compare with, in words."""


class Rubric(StrictStruct, frozen=True, kw_only=True):
    """The criteria of a scenario for a judge. At least one has a weight."""

    criteria: tuple[Criterion, ...]


class Scoring(StrictStruct, frozen=True, kw_only=True):
    """The weights of the components, which sum to 1. An answer passes with `pass_threshold` points or more."""

    root_cause_weight: Weight = 0.4
    fix_accuracy_weight: Weight = 0.3
    hypothesis_quality_weight: Weight = 0.2
    next_steps_weight: Weight = 0.1
    tools_weight: Weight = 0.0
    weights: dict[str, Weight] = {}
    """The weights of the components that packages add, by name."""
    pass_threshold: Annotated[float, msgspec.Meta(gt=0.0, le=100.0)] = 70.0


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `scenario.yaml`. Other keys are ignored."""

    name: str
    expected_outcomes: Expectations
    family: str | None = None
    cluster: str | None = None
    """The cluster of the incident. Like `family`, it does not affect scores."""
    failure_type: str | None = None
    description: str | None = None
    captured_at: str | None = None
    captured_by: str | None = None
    source: str | None = None
    weight: Annotated[float, msgspec.Meta(gt=0.0, le=1_000_000.0)] = 1.0
    """The weight of the scenario in the mean of its suite."""
    scoring: Scoring = Scoring()
    test_config: dict[str, Any] = {}
    judge: Rubric | None = None
    """The criteria for a judge; None: they follow from the expectations."""


class ScenarioFile(msgspec.Struct, frozen=True):
    """A file of a scenario: its name in the folder, the SHA-256 of its bytes, and their number."""

    name: str
    digest: str
    size_bytes: int


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded and fully validated scenario."""

    id: str
    """From the path of its folder: `job-image` or `job-image.llm`. It names the stream `scenario/ID`."""
    title: str
    """Its folder relative to the suite's: `job-image/llm`."""
    folder: Path
    mode: str | None
    """The inner folder of a nested scenario; None if it is not nested."""
    about: Description
    investigation: dict[str, Any]
    """The agent's input: the captured investigation without its analysis."""
    captured: dict[str, Any] | None
    """The captured analysis, or None. It is never given to an agent."""
    fixture_digest: str
    """SHA-256 of the investigation without its analysis, the expectations, scoring, weight and test configuration."""
    expectation_digest: str
    """SHA-256 of the expectations and the scoring."""
    investigation_digest: str
    """SHA-256 of the bytes of `investigation.json`."""
    files: tuple[ScenarioFile, ...] = ()
    """The description and the investigation, as they were read."""

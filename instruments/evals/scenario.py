"""What a scenario is: the investigation that an agent is given, and what is expected of its analysis.

These are the shapes of `scenario.yaml` and of what is made of it when it is loaded (`loading.py`), where everything
that could not be scored is refused: no score is ever spoilt by a mistake in an expectation.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from events.evaluation import Weight

MatchType = Literal["exact", "substring", "regex", "semantic"]

PATTERN_CHARS_MAX = 1_000
"""Characters of one pattern."""

PATTERNS_MAX = 200
"""Patterns of one scenario."""

MARKS = {"root_cause": 70.0, "fix_accuracy": 60.0, "hypothesis_quality": 50.0, "next_steps": 50.0}
"""Points from which each component passes."""


class StrictStruct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What expectations and scoring are made of: a misspelt key is refused, because it would expect nothing."""


class Matcher(StrictStruct, frozen=True, kw_only=True):
    """Patterns of which one is enough, and how they are looked for."""

    patterns: tuple[str, ...]
    match_type: MatchType


Wanted = Matcher | str
"""A matcher, or a text that is looked for as a substring."""


class Expected(StrictStruct, frozen=True, kw_only=True):
    """What a text must and must not say.

    `patterns` with `match_type` is one matcher, `exact` one text that an item must equal. With them, every one of
    `all_of`, one of `any_of` and none of `none_of` must be found in the same text.
    """

    patterns: tuple[str, ...] = ()
    match_type: MatchType | None = None
    exact: str | tuple[str, ...] | None = None
    all_of: tuple[Wanted, ...] = ()
    any_of: tuple[Wanted, ...] = ()
    none_of: tuple[Wanted, ...] = ()


class FailureMode(StrictStruct, frozen=True, kw_only=True):
    """The class of failure that an answer must name: one of these, whatever case or spelling joins its words."""

    exact: str | tuple[str, ...]


class NextSteps(StrictStruct, frozen=True, kw_only=True):
    """What next steps must say: which commands they use, what they must include, and what they must not."""

    command_types: tuple[str, ...] = ()
    must_include: tuple[Wanted, ...] = ()
    none_of: tuple[Wanted, ...] = ()


class Expectations(StrictStruct, frozen=True, kw_only=True):
    """All that is expected. What is absent is not applicable, and counts nowhere."""

    root_cause: Expected | None = None
    failure_mode: FailureMode | None = None
    proposed_fix: Expected | None = None
    hypotheses: Expected | None = None
    next_steps: NextSteps | None = None


class Scoring(StrictStruct, frozen=True, kw_only=True):
    """What each component counts; the weights sum to 1. An answer passes from `pass_threshold` points."""

    root_cause_weight: Weight = 0.4
    fix_accuracy_weight: Weight = 0.3
    hypothesis_quality_weight: Weight = 0.2
    next_steps_weight: Weight = 0.1
    pass_threshold: Annotated[float, msgspec.Meta(gt=0.0, le=100.0)] = 70.0


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """`scenario.yaml`: what people say of a scenario, and what it expects. Further keys are kept by nobody."""

    name: str
    expected_outcomes: Expectations
    family: str | None = None
    failure_type: str | None = None
    description: str | None = None
    captured_at: str | None = None
    captured_by: str | None = None
    source: str | None = None
    weight: Annotated[float, msgspec.Meta(gt=0.0, le=1_000_000.0)] = 1.0
    """What the scenario counts in the mean of its suite."""
    scoring: Scoring = Scoring()
    test_config: dict[str, Any] = {}


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario as loaded, checked whole."""

    id: str
    """Its folder below the suite's, `job-image` or `job-image.llm`: names the stream `scenario/ID`."""
    title: str
    """Its folder as people type it: `job-image/llm`."""
    folder: Path
    mode: str | None
    """The inner folder of a nested scenario."""
    about: Description
    investigation: dict[str, Any]
    """What the agent is given: the captured investigation without its analysis."""
    captured: dict[str, Any] | None
    """The captured analysis; None where there is none. It never reaches an agent."""
    fixture_digest: str
    """SHA-256 of the investigation without its analysis, the expectations, scoring, weight and test configuration."""
    expectation_digest: str
    """SHA-256 of the expectations and the scoring."""
    investigation_digest: str
    """SHA-256 of the bytes of `investigation.json`."""

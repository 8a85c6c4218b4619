"""The probe: a versioned task, and the scorer of its answers."""

from typing import Literal, Protocol

import msgspec

from instruments.probes.score import ProbeScore


class Scorer(Protocol):
    """Scores outputs. Another `version` may give the same output another score."""

    @property
    def id(self) -> str:
        """The scorer's name in the events of scores."""

    @property
    def version(self) -> str:
        """Raised whenever the score of any output changes."""

    def score(self, output: str) -> ProbeScore:
        """Score any text; pure, never raises."""


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One task for a model. Its text never changes under its version."""

    id: str
    """The probe's name, unique among probes."""
    version: str
    """Raised whenever the stimulus or the prompt changes."""
    kind: Literal["code", "text"]
    """Whether the scored part of an answer is the code of a fence, or the text."""
    language: Literal["go", "python"] | None
    """The requested programming language; None if kind is text."""
    stimulus: str
    """The material to work on."""
    prompt: str
    """The whole task including the stimulus; it names no model."""
    scorer: Scorer
    """The default scorer of the answers."""

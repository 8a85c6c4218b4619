"""The probe: a versioned task, and the scorer of its answers."""

from typing import Literal, Protocol

import msgspec

from instruments.probes.score import ProbeScore, Unscored


class Scorer(Protocol):
    """Scores outputs. Another `version` may give the same output another score."""

    @property
    def id(self) -> str:
        """The scorer's name in the events of scores."""

    @property
    def version(self) -> str:
        """Raised whenever the score of any output changes."""

    def score(self, output: str) -> ProbeScore | Unscored:
        """Score any text; never raises. Unscored if this machine lacks something that the scorer needs."""


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
    """The current scorer of the answers."""
    older_scorers: tuple[Scorer, ...] = ()
    """Earlier versions of the scorer, the newest first. They stay runnable, so that old scores keep their meaning."""

    @property
    def scorers(self) -> tuple[Scorer, ...]:
        """All versions of the scorer, the newest first."""
        return self.scorer, *self.older_scorers

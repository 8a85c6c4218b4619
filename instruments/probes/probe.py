"""What a probe is: versioned data, and the scorer that reads the answers to it."""

from typing import Literal, Protocol

import msgspec

from instruments.probes.score import ProbeScore


class Scorer(Protocol):
    """Reads an output and says what it is worth; another `version` may score the same output differently."""

    @property
    def id(self) -> str:
        """Its name, as a score's event carries it."""

    @property
    def version(self) -> str:
        """Raised whenever the same output would get another score."""

    def score(self, output: str) -> ProbeScore:
        """The score of any text whatever: pure, and never an error."""


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a model, worded once and for all: other words are another version."""

    id: str
    """Its name, unique among the probes."""
    version: str
    """Raised whenever stimulus or prompt change."""
    kind: Literal["code", "text"]
    """Whether the answer stands in a code fence or is the text itself."""
    language: Literal["go", "python"] | None
    """The language of the code asked for; None where kind is text."""
    stimulus: str
    """What the model is given to work on."""
    prompt: str
    """What it is asked to do: the whole text, the stimulus included; no model is named in it."""
    scorer: Scorer
    """What scores the answers unless another is asked for."""

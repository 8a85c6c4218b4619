"""What texts mean: how near they are to a pattern, as an OpenAI-compatible embeddings endpoint sees it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Near(NamedTuple):
    """The text nearest to a pattern, which of them, and which characters of it."""

    which: int
    start: int
    end: int
    similarity: float
    similar: bool
    """Whether that is near enough to be a match."""


class Meaning(Protocol):
    """Knows how near texts are to a pattern."""

    def nearest(self, pattern: str, texts: Sequence[str]) -> Near | str:
        """The nearest text, or why it is not known."""

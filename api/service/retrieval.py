"""How decisions are found: the mode of a search, what a ranked search compares, and how it was answered."""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from events.vector import unpack_vector

RetrievalMode = Literal["semantic", "keyword", "hybrid"]
RETRIEVAL_MODES: tuple[RetrievalMode, ...] = ("semantic", "keyword", "hybrid")

HYBRID_WEIGHT_DEFAULT = 0.7


class SuppliedEmbedding(msgspec.Struct, frozen=True, kw_only=True):
    """A vector as it is stored, and the model that made it."""

    vector: str
    model: str

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers as they are compared."""
        return unpack_vector(self.vector)


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """How to rank. `weight` is that of the meaning in a hybrid search, 0..1; `embedding` the vector of the query."""

    mode: RetrievalMode
    weight: float = HYBRID_WEIGHT_DEFAULT
    embedding: SuppliedEmbedding | None = None


class MatchScores(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a decision has its rank. A score is absent if the decision is not in that list."""

    decision_id: str
    distance: float
    """0 for the best. By meaning 1 - cosine, 0..2; by words and by both 1 - `combined`."""
    semantic: float | UnsetType = UNSET
    """The cosine of both vectors, -1..1."""
    keyword: float | UnsetType = UNSET
    """The relevance by words, 0..1; 1 for a match with every word."""
    combined: float
    """What the decisions are ranked by."""


class Retrieval(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a ranked search was answered."""

    mode: RetrievalMode
    """The mode that was used."""
    requested: RetrievalMode
    """The requested mode."""
    model: str | UnsetType = UNSET
    """The model of the vectors that were compared."""
    note: str | UnsetType = UNSET
    """Why the mode is not the requested one, or what is not ranked by its meaning."""
    scores: list[MatchScores]
    """In the order of the decisions."""

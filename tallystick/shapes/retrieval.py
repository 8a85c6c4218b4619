"""How a ranked search of decisions was answered."""

from typing import Literal

import msgspec

from tallystick.shapes.parts import Part

RetrievalMode = Literal["semantic", "keyword", "hybrid"]


class MatchScores(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a decision has its rank in a search. A score is None if the decision is not in that list."""

    decision_id: str
    """The id of the decision."""
    distance: float
    """0 for the best. By meaning 1 - cosine, 0..2; by words and by both 1 - `combined`."""
    semantic: Part[float] = None
    """The cosine of both vectors, -1..1."""
    keyword: Part[float] = None
    """The relevance by words, 0..1; 1 for a match with every word."""
    combined: float
    """What the decisions are ranked by."""


class Retrieval(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a ranked search was answered."""

    mode: RetrievalMode
    """The mode that was used."""
    requested: RetrievalMode
    """The requested mode."""
    model: Part[str] = None
    """The model of the vectors that were compared."""
    note: Part[str] = None
    """Why the mode is not the requested one, or what is not ranked by its meaning."""
    scores: tuple[MatchScores, ...]
    """In the order of the decisions."""

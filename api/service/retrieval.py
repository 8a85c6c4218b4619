"""How decisions are found: the mode of a search, what a ranked search compares, and the vectors of a ledger."""

import msgspec

from events.vector import unpack_vector
from tallystick.shapes.retrieval import RetrievalMode

HYBRID_WEIGHT_DEFAULT = 0.7


class SuppliedEmbedding(msgspec.Struct, frozen=True, kw_only=True):
    """A vector as it is stored, and the model that made it."""

    vector: str
    model: str

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers as they are compared."""
        return unpack_vector(self.vector)


class VectorsStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Vectors for searches by meaning."""

    model: str
    vectors: int
    missing: int
    """Texts of decisions that have no vector yet."""
    error: str | None
    """Why the endpoint gives no vectors."""


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """How to rank. `weight` is that of the meaning in a hybrid search, 0..1; `embedding` the vector of the query."""

    mode: RetrievalMode
    weight: float = HYBRID_WEIGHT_DEFAULT
    embedding: SuppliedEmbedding | None = None

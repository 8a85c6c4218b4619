"""The search indexes of a ledger, by words and by vectors, in files beside it that may be deleted at any time."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from events.envelope import Draft
from events.vector import SUPPLIED
from ledger.log import LogReader
from projections.engine import Engine

if TYPE_CHECKING:
    from api.service.retrieval import VectorsStatus
    from api.service.vectors import EmbeddingService
    from instruments.evals.scoring.embeddings_client import EmbeddingsClient
    from projections.decisions.full_text_search import FullTextSearch


class SearchIndexes:
    """Both indexes of the ledger at a path. Each is made when it is first used, and then opens its file."""

    def __init__(self, path: Path, reader: LogReader, engine: Engine, secret: bytes | None) -> None:
        self._path = path
        self._reader = reader
        self._engine = engine
        self._secret = secret
        self.endpoint: EmbeddingsClient | None = None
        """The endpoint that makes vectors of texts, set before vectors are first used."""

    @cached_property
    def words(self) -> "FullTextSearch":
        """The index of the words of decisions."""
        from projections.decisions.full_text_search import FullTextSearch  # noqa: PLC0415 - most commands search nothing

        return FullTextSearch(self._path.with_name(self._path.name + ".search.db"), self._engine, self._secret)

    @cached_property
    def vectors(self) -> "EmbeddingService":
        """The index of vectors, and the endpoint that makes them."""
        from api.service.vectors import EmbeddingService  # noqa: PLC0415 - most commands compare no vectors

        return EmbeddingService(self._path, self._reader, self._engine, self._secret, self.endpoint)

    @asynccontextmanager
    async def admit(self, drafts: Sequence[Draft]) -> AsyncIterator[None]:
        """Check the vectors of a batch, if it has any; the caller appends it inside. Errors: InvalidEvent."""
        if any(isinstance(draft.data, SUPPLIED) for draft in drafts):
            async with self.vectors.admit(drafts):
                yield
        else:
            yield

    async def vectors_status(self) -> "VectorsStatus | None":
        """Return the state of the vectors of the endpoint's model; None without an endpoint."""
        return await self.vectors.status() if self.endpoint is not None else None

    async def close(self) -> None:
        """Close those that were made."""
        made = vars(self)
        try:
            if "words" in made:
                await self.words.close()
        finally:
            if "vectors" in made:
                await self.vectors.close()

"""The search indexes of a ledger, by words and by vectors, in files beside it that may be deleted at any time."""

from pathlib import Path
from typing import NamedTuple, Self

from api.service.vectors import EmbeddingService
from ledger import LogReader
from projections.decisions.full_text_search import FullTextSearch
from projections.engine import Engine


class SearchIndexes(NamedTuple):
    """Both indexes of one ledger."""

    words: FullTextSearch
    vectors: EmbeddingService

    @classmethod
    def beside(cls, path: Path, reader: LogReader, engine: Engine, secret: bytes | None) -> Self:
        """Return the indexes of the ledger at a path; their files are opened by the first search."""
        words = FullTextSearch(path.with_name(path.name + ".search.db"), engine, secret)
        return cls(words, EmbeddingService(path, reader, engine, secret))

    async def close(self) -> None:
        """Close both."""
        try:
            await self.words.close()
        finally:
            await self.vectors.close()

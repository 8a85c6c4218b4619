"""The vectors of a ledger: which model made them, the endpoint that makes more, and the index that is searched.

All vectors of a ledger that are compared are of one model: the operator's, or else that of the first vector that a
caller supplied. A vector of another model, or of another size, is refused before it is written.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from api.service.pauses import Pauses
from api.service.retrieval import VectorsStatus
from api.service.server_log import log
from events.envelope import Draft
from events.errors import InvalidEvent
from events.limits import PAGE_EVENTS_MAX
from events.registry import VOCABULARY
from events.vector import SUPPLIED, DecisionEmbedded, ThoughtEmbedded, unpack_vector
from ledger.log import LogReader, Query
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.vector_search import Rest, VectorSearch
from projections.engine import Engine

if TYPE_CHECKING:
    from instruments.evals.scoring.embeddings_client import EmbeddingsClient

SUPPLIED_TYPES = VOCABULARY.names_of(*SUPPLIED)

BATCH_TEXTS = 32
"""Texts in one request to the endpoint."""

ROUND_TEXTS = 1_024
"""Texts that are chosen at once."""

POLL_S = 1.0
"""Seconds between two looks for new texts."""

RETRY_S_MAX = 60.0
"""Most seconds between two requests to an endpoint that fails. The first wait is POLL_S, each later one twice that."""

QUERY_TIMEOUT_S = 3.0
"""Seconds that a query waits for the vector of its text, well below the server's limit for the whole query."""

QUERY_PAUSE_S = 10.0
"""Seconds in which queries do not ask an endpoint that has just failed, so that a slow one delays few of them."""

QUERIES_AT_ONCE = 2
"""Queries that ask the endpoint at the same time: each keeps a thread until the endpoint answers."""

PROGRESS_S = 10.0
"""Seconds between two log lines about progress."""


class EndpointFailed(Exception):
    """The endpoint gave no vector that can be used; the text says why, after its name."""


class EmbeddingService:
    """The vectors of one ledger. `endpoint` is the operator's; without it only supplied vectors count."""

    def __init__(
        self, path: Path, reader: LogReader, engine: Engine, secret: bytes | None, endpoint: "EmbeddingsClient | None"
    ) -> None:
        self.endpoint = endpoint
        self.error: str | None = None
        """Why the endpoint gave no vectors when it was last asked."""
        self._path = path.with_name(path.name + ".vectors.db")
        self._reader = reader
        self._engine = engine
        self._secret = secret
        self._search: VectorSearch | None = None
        self._failed: tuple[float, str] | None = None
        """When the endpoint failed to answer a query, in seconds of the monotonic clock, and why."""
        self._asking = asyncio.Semaphore(QUERIES_AT_ONCE)
        self._first_model: str | None = None
        self._sizes: dict[str, int] = {}
        self._first = asyncio.Lock()
        """Held while the first vector of a model is appended, because it sets the size of all later ones."""

    async def close(self) -> None:
        """Close the index."""
        if self._search is not None:
            await self._search.close()

    async def model(self) -> str | None:
        """Return the model of the vectors; None while there is none."""
        if self.endpoint is not None:
            return self.endpoint.model
        if self._first_model is None:
            page = await self._reader.read(Query(types=SUPPLIED_TYPES, limit=1))
            for event in VOCABULARY.events(page.ndjson):
                assert isinstance(event.data, SUPPLIED)
                self._first_model = event.data.model
        return self._first_model

    async def index(self) -> VectorSearch | None:
        """Return the index of the model's vectors; None while there is no model."""
        model = await self.model()
        if model is None:
            return None
        if self._search is None or self._search.model != model:
            await self.close()
            texts = self.endpoint is not None
            self._search = VectorSearch(self._path, self._engine, self._secret, model, texts=texts)
        return self._search

    async def check(self, model: str, size: int, index: int | None = None) -> None:
        """Refuse a vector that cannot be compared with the others. Errors: InvalidEvent."""
        expected = await self.model()
        fields = ("embedding_model", "embedding") if index is None else ("data.model", "data.vector")
        if expected is not None and model != expected:
            raise InvalidEvent(
                f"{fields[0]} {model!r} is not {expected!r}, the model of this ledger's vectors. Vectors of different "
                "models cannot be compared.",
                f"Make the vector with {expected!r}; the operator changes the model with serve --embeddings-model.",
                field=fields[0],
                index=index,
            )
        known = await self.size(model)
        if known and size != known:
            raise InvalidEvent(
                f"{fields[1]} has {size:,} numbers, and the vectors of {model!r} have {known:,}.",
                "Send the vector as that model made it.",
                field=fields[1],
                index=index,
            )

    @asynccontextmanager
    async def admit(self, drafts: Sequence[Draft]) -> AsyncIterator[None]:
        """Check the vectors of a batch; the caller appends it inside. Errors: InvalidEvent."""
        supplied: list[tuple[int, str, int]] = []
        for index, draft in enumerate(drafts):
            if isinstance(draft.data, SUPPLIED):
                supplied.append((index, draft.data.model, _size_of(draft.data, index)))
        if not supplied:
            yield
            return
        _, model, size = supplied[0]
        if model in self._sizes:
            await self._check_batch(supplied, model, size)
            yield
            return
        async with self._first:
            await self._check_batch(supplied, model, size)
            yield
            self._sizes.setdefault(model, size)
            self._first_model = self._first_model or model

    async def _check_batch(self, supplied: Sequence[tuple[int, str, int]], model: str, size: int) -> None:
        """Check each vector against the log, and against the first one of the batch."""
        for index, model_of, size_of in supplied:
            await self.check(model_of, size_of, index)
            if (model_of, size_of) != (model, size):
                raise InvalidEvent(
                    f"the vector has {size_of:,} numbers of {model_of!r}, and the first of the batch {size:,} of "
                    f"{model!r}.",
                    "Send vectors of one model.",
                    field="data.vector",
                    index=index,
                )

    async def size(self, model: str) -> int:
        """Return the numbers of the model's vectors: of the first in the log, else of the endpoint's; 0 if unknown."""
        if model not in self._sizes:
            after, more = 0, True
            while more and model not in self._sizes:
                page = await self._reader.read(Query(types=SUPPLIED_TYPES, after=after, limit=PAGE_EVENTS_MAX))
                for event in VOCABULARY.events(page.ndjson):
                    if isinstance(event.data, SUPPLIED) and event.data.model == model and model not in self._sizes:
                        self._sizes[model] = _size_of(event.data, 0)
                after, more = (page.positions[-1], page.more) if page.positions else (after, False)
        search = self._search
        return self._sizes.get(model) or (search.size if search is not None and search.model == model else 0)

    async def ask(self, texts: Sequence[str]) -> "list[Sequence[float]]":
        """Return the endpoint's vectors of some texts. Errors: EndpointFailed."""
        from instruments.evals.scoring.embeddings_client import EmbeddingsUnavailable  # noqa: PLC0415 - loads httpx

        assert self.endpoint is not None, "only an operator with an endpoint asks it"
        try:
            vectors = await asyncio.to_thread(self.endpoint.ask, texts)
        except EmbeddingsUnavailable as error:
            raise EndpointFailed(f"the embeddings endpoint {error}") from None
        return list(vectors)

    async def ask_query(self, text: str) -> Sequence[float]:
        """Return the endpoint's vector of a query. Errors: EndpointFailed, at once if it failed a moment ago."""
        async with self._asking:
            if self._failed is not None and time.monotonic() < self._failed[0] + QUERY_PAUSE_S:
                raise EndpointFailed(self._failed[1])
            try:
                async with asyncio.timeout(QUERY_TIMEOUT_S):
                    (vector,) = await self.ask([text])
            except (EndpointFailed, TimeoutError) as error:
                reason = str(error) or f"the embeddings endpoint gave no answer within {QUERY_TIMEOUT_S:g} s"
                self._failed = (time.monotonic(), reason)
                raise EndpointFailed(reason) from None
            self._failed = None
            return vector

    async def status(self) -> VectorsStatus | None:
        """Return the state of the vectors of the endpoint's model; None without an endpoint."""
        search = await self.index() if self.endpoint is not None else None
        if search is None:
            return None
        projection, position = await self._engine.at(DecisionIndex)
        vectors, missing = await search.catch_up(position, projection.numbers, go_on)
        return VectorsStatus(model=search.model, vectors=vectors, missing=missing, error=self.error)

    async def fill(self, rest: Rest) -> int:
        """Get vectors for the texts without one, in batches, each stored at once. Return how many were stored.

        Errors: EndpointFailed.
        """
        search = await self.index()
        assert search is not None, "an endpoint has a model"
        done, said_s = 0, time.monotonic()
        while True:
            projection, position = await self._engine.at(DecisionIndex)
            counts = await search.catch_up(position, projection.numbers, rest)
            texts = await search.next_texts(ROUND_TEXTS)
            if not texts:
                return done
            for at in range(0, len(texts), BATCH_TEXTS):
                batch = texts[at : at + BATCH_TEXTS]
                vectors = await self.ask([missing.text for missing in batch])
                try:
                    await search.put({missing.key: vector for missing, vector in zip(batch, vectors, strict=True)})
                except ValueError as error:
                    raise EndpointFailed(f"the embeddings endpoint {error}: did its model change?") from None
                done += len(batch)
                self.error = None
                if time.monotonic() - said_s > PROGRESS_S:
                    said_s = time.monotonic()
                    log.info("vectors", stored=done, missing=max(0, counts.missing - at - len(batch)))
                await rest()

    async def keep_filled(self, pauses: Pauses) -> None:
        """Get vectors for new texts until cancelled. A failing endpoint is asked again, ever more rarely."""
        wait_s, filled = POLL_S, -1
        while True:
            head = (await self._reader.head()).position
            try:
                done = 0 if head == filled else await self.fill(_resting(pauses))
            except EndpointFailed as error:
                if self.error != str(error):
                    log.warning("no vectors", reason=str(error), advice="Searches are by words meanwhile.")
                self.error = str(error)
                await asyncio.sleep(wait_s)
                wait_s = min(RETRY_S_MAX, 2 * wait_s)
                continue
            if done:
                log.info("vectors", stored=done, missing=0)
            wait_s, filled, self.error = POLL_S, head, None
            await asyncio.sleep(POLL_S)


async def go_on() -> None:
    """Go on at once: the `Rest` of work for which a caller waits."""


def _resting(pauses: Pauses) -> Rest:
    """Return the `Rest` of background work: after each part it pauses while short requests are answered."""
    worked_from_s = time.monotonic()

    async def rest() -> None:
        nonlocal worked_from_s
        await asyncio.sleep(pauses.pause_s(time.monotonic() - worked_from_s))
        worked_from_s = time.monotonic()

    return rest


def _size_of(data: DecisionEmbedded | ThoughtEmbedded, index: int) -> int:
    """Return how many numbers a supplied vector has. Errors: InvalidEvent."""
    try:
        return len(unpack_vector(data.vector))
    except ValueError as error:
        raise InvalidEvent(
            f"data.vector {error}.", "Send it as `embedding`, or packed.",
            field="data.vector", index=index,
        ) from None  # fmt: skip

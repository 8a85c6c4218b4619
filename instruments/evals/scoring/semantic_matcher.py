"""Compare texts by meaning, with the vectors of an embeddings endpoint.

Each item is compared with the pattern; an item over PIECE_CHARS_MAX is split at the ends of sentences or lines. The
nearest piece matches if its cosine is at least the threshold. If the endpoint fails, the result is the reason, and
after FAILURES_MAX failures in a row the endpoint is not called again.
"""

import re
import threading
from array import array
from collections.abc import Iterator, Mapping, Sequence
from operator import mul
from pathlib import Path
from typing import NamedTuple

from events.evaluation import EmbeddingsFacts
from instruments.evals.scoring.embedding_cache import EmbeddingCache
from instruments.evals.scoring.embeddings_client import EmbeddingsClient, EmbeddingsUnavailable
from instruments.routers.endpoint_limits import EndpointLimits
from instruments.stored_text import sha256_hex, storable_text

SIMILARITY_MIN = 0.75
"""The cosine from which a text matches a pattern, unless the environment states another."""

PIECE_CHARS_MAX = 1_000
"""Characters of one piece of a text."""

PIECES_MAX = 256
"""Pieces of one location that are compared; later ones are ignored."""

BATCH_TEXTS = 32
"""Texts in one request."""

FAILURES_MAX = 3
"""After this many failures in a row, the endpoint is not called again."""

URL_ENV = "TALLYSTICK_EMBEDDINGS_URL"
MODEL_ENV = "TALLYSTICK_EMBEDDINGS_MODEL"
KEY_ENV = "TALLYSTICK_EMBEDDINGS_KEY"
THRESHOLD_ENV = "TALLYSTICK_EMBEDDINGS_THRESHOLD"
MODEL_DEFAULT = "text-embedding-3-small"

_end = re.compile(r"[.!?][\s\"')\]]+|\n+")


class NearestText(NamedTuple):
    """The text nearest to a pattern: its index, and the span of its characters."""

    text_index: int
    start: int
    end: int
    similarity: float
    """The cosine of both embeddings, -1..1."""
    similar: bool
    """Whether the similarity is enough for a match."""


class SemanticMatcher:
    """Finds the text nearest to a pattern. Thread-safe; one thread at a time calls the endpoint."""

    def __init__(
        self, endpoint: EmbeddingsClient | str, cache: Path | None = None, threshold: float = SIMILARITY_MIN
    ) -> None:
        self._endpoint = endpoint
        """The endpoint, or the reason why there is none."""
        self._threshold = threshold
        self._vectors = EmbeddingCache(cache)
        self._lock = threading.Lock()
        self._failures = 0
        self._last_error = ""

    @property
    def facts(self) -> EmbeddingsFacts | None:
        """What compares texts: endpoint, model and threshold; None if the address names no endpoint."""
        if isinstance(self._endpoint, str):
            return None
        return EmbeddingsFacts(endpoint=self._endpoint.host, model=self._endpoint.model, threshold=self._threshold)

    def use_limits(self, limits: EndpointLimits) -> None:
        """Let the requests to the endpoint share limits with others."""
        if not isinstance(self._endpoint, str):
            self._endpoint.limits = limits

    def ask_again(self) -> None:
        """Forget the failures so far: the endpoint is called again."""
        self._failures = 0

    def nearest(self, pattern: str, texts: Sequence[str]) -> NearestText | str:
        """Return the nearest of one or more texts, or the reason why it is unknown; never raises."""
        spans = [(index, *span) for index, text in enumerate(texts) for span in split_pieces(text)][:PIECES_MAX]
        piece_texts = [storable_text(texts[index][start:end]) for index, start, end in spans]
        try:
            with self._lock:
                pattern_vector, *vectors = self._vectors_of([storable_text(pattern), *piece_texts])
        except EmbeddingsUnavailable as unavailable:
            return str(unavailable)
        similarities = [sum(map(mul, pattern_vector, vector)) for vector in vectors]
        best = max(range(len(similarities)), key=similarities.__getitem__)
        similarity = round(min(1.0, max(-1.0, similarities[best])), 6)
        return NearestText(*spans[best], similarity, similarity >= self._threshold)

    def _vectors_of(self, texts: Sequence[str]) -> "list[array[float]]":
        """Return the vectors of all texts, missing ones from the endpoint. Errors: EmbeddingsUnavailable."""
        endpoint = self._endpoint
        if isinstance(endpoint, str):
            raise EmbeddingsUnavailable(endpoint)
        name = f"{endpoint.name}\n{endpoint.model}\n"
        keys = {text: sha256_hex(f"{name}{text}") for text in texts}
        for _ in range(2):  # a vector of a new length clears the cache, so that the cleared ones are requested again
            missing = [text for text, key in keys.items() if self._vectors.get(key) is None]
            for at in range(0, len(missing), BATCH_TEXTS):
                batch = missing[at : at + BATCH_TEXTS]
                self._vectors.put(zip(map(keys.__getitem__, batch), self._ask(endpoint, batch), strict=True))
        vectors = [self._vectors.get(keys[text]) for text in texts]
        if None in vectors:
            raise EmbeddingsUnavailable("answers with embeddings of different lengths")
        return [vector for vector in vectors if vector is not None]

    def _ask(self, endpoint: EmbeddingsClient, texts: Sequence[str]) -> "list[array[float]]":
        if self._failures >= FAILURES_MAX:
            raise EmbeddingsUnavailable(f"the embeddings endpoint is not asked any more: {self._last_error}")
        try:
            vectors = endpoint.ask(texts)
        except EmbeddingsUnavailable as unavailable:
            self._failures += 1
            self._last_error = str(unavailable)
            raise EmbeddingsUnavailable(f"the embeddings endpoint {unavailable}") from None
        self._failures = 0
        return vectors


def matcher_from_environment(variables: Mapping[str, str], cache: Path | None = None) -> SemanticMatcher | None:
    """Build a matcher for the endpoint in the environment; None if it names none. `cache` is a file, safe to delete."""
    address = variables.get(URL_ENV, "").strip()
    if not address:
        return None
    model = variables.get(MODEL_ENV, "").strip() or MODEL_DEFAULT
    threshold = _threshold(variables.get(THRESHOLD_ENV, "").strip())
    if threshold is None:
        return SemanticMatcher(f"{THRESHOLD_ENV} is not a number above 0 and at most 1")
    try:
        client = EmbeddingsClient(address, model=model, key=variables.get(KEY_ENV, "").strip() or None)
        return SemanticMatcher(client, cache, threshold)
    except EmbeddingsUnavailable as unavailable:
        return SemanticMatcher(f"{URL_ENV} names no embeddings endpoint: {unavailable}")


def _threshold(text: str) -> float | None:
    """Return the threshold that a text states, SIMILARITY_MIN for no text; None if it is not one."""
    try:
        threshold = float(text or SIMILARITY_MIN)
    except ValueError:
        return None
    return threshold if 0.0 < threshold <= 1.0 else None


def split_pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text's pieces: as many whole sentences and lines as fit."""
    start = 0
    while len(text) - start > PIECE_CHARS_MAX:
        ends = [match.end() for match in _end.finditer(text, start, start + PIECE_CHARS_MAX)]
        end = ends[-1] if ends else start + PIECE_CHARS_MAX
        if text[start:end].strip():
            yield start, end
        start = end
    if text[start:].strip():
        yield start, len(text)

"""What texts mean: how near they are to a pattern, as an embeddings endpoint sees it.

The items of a place are compared with the pattern one by one, those over PIECE_CHARS_MAX in pieces that end where a
sentence or a line does; the nearest counts, and is a match from a cosine of SIMILAR on. Where the endpoint fails, the
reason is given in place of an answer, and after FAILURES_MAX failures one after the other it is not asked again.
"""

import hashlib
import re
import threading
from array import array
from collections.abc import Iterator, Mapping, Sequence
from operator import mul
from pathlib import Path
from typing import NamedTuple

from instruments.evals.scoring.embedding_cache import EmbeddingCache
from instruments.evals.scoring.embeddings_client import EmbeddingsClient, EmbeddingsUnavailable

SIMILAR = 0.75
"""From this cosine on, a text means what a pattern says."""

PIECE_CHARS_MAX = 1_000
"""Characters of a text that are compared at once."""

PIECES_MAX = 256
"""Pieces of one place that are compared; what comes after them is not."""

BATCH_TEXTS = 32
"""Texts in one request."""

FAILURES_MAX = 3
"""After so many failures one after the other, an endpoint is not asked again."""

URL = "TALLYSTICK_EMBEDDINGS_URL"
MODEL = "TALLYSTICK_EMBEDDINGS_MODEL"
KEY = "TALLYSTICK_EMBEDDINGS_KEY"
MODEL_DEFAULT = "text-embedding-3-small"

_end = re.compile(r"[.!?][\s\"')\]]+|\n+")


class NearestText(NamedTuple):
    """The text nearest to a pattern, which of them, and which characters of it."""

    which: int
    start: int
    end: int
    similarity: float
    """The cosine of both embeddings, -1..1."""

    @property
    def similar(self) -> bool:
        """Whether that is near enough to be a match."""
        return self.similarity >= SIMILAR


class SemanticMatcher:
    """Knows how near texts are to a pattern. Several threads may ask at once; the endpoint is asked by one of them."""

    def __init__(self, endpoint: EmbeddingsClient | str, cache: Path | None = None) -> None:
        self._endpoint = endpoint
        """Or why there is none."""
        self._vectors = EmbeddingCache(cache)
        self._lock = threading.Lock()
        self._failures = 0
        self._why = ""

    def nearest(self, pattern: str, texts: Sequence[str]) -> NearestText | str:
        """The nearest of one or more texts, or in words why it is not known; never an error."""
        places = [(which, *span) for which, text in enumerate(texts) for span in pieces(text)][:PIECES_MAX]
        said = [_sound(texts[which][start:end]) for which, start, end in places]
        try:
            with self._lock:
                wanted, *found = self._all([_sound(pattern), *said])
        except EmbeddingsUnavailable as unavailable:
            return str(unavailable)
        near = [sum(map(mul, wanted, vector)) for vector in found]
        best = max(range(len(near)), key=near.__getitem__)
        return NearestText(*places[best], round(min(1.0, max(-1.0, near[best])), 6))

    def _all(self, texts: Sequence[str]) -> "list[array[float]]":
        """The vectors of all texts, those that are not known from the endpoint. Errors: Unavailable."""
        endpoint = self._endpoint
        if isinstance(endpoint, str):
            raise EmbeddingsUnavailable(endpoint)
        name = f"{endpoint.name}\n{endpoint.model}\n"
        keys = {text: hashlib.sha256(f"{name}{text}".encode()).hexdigest() for text in texts}
        for _ in range(2):  # a vector of a new length throws away those that were known, and they are asked for again
            missing = [text for text, key in keys.items() if self._vectors.get(key) is None]
            for at in range(0, len(missing), BATCH_TEXTS):
                batch = missing[at : at + BATCH_TEXTS]
                self._vectors.put(zip(map(keys.__getitem__, batch), self._ask(endpoint, batch), strict=True))
        found = [self._vectors.get(keys[text]) for text in texts]
        if None in found:
            raise EmbeddingsUnavailable("answers with embeddings of different lengths")
        return [vector for vector in found if vector is not None]

    def _ask(self, endpoint: EmbeddingsClient, texts: Sequence[str]) -> "list[array[float]]":
        if self._failures >= FAILURES_MAX:
            raise EmbeddingsUnavailable(f"the embeddings endpoint is not asked any more: {self._why}")
        try:
            found = endpoint.ask(texts)
        except EmbeddingsUnavailable as unavailable:
            self._failures += 1
            self._why = str(unavailable)
            raise EmbeddingsUnavailable(f"the embeddings endpoint {unavailable}") from None
        self._failures = 0
        return found


def meaning_of(variables: Mapping[str, str], cache: Path | None = None) -> SemanticMatcher | None:
    """The endpoint that an environment names, None where it names none; `cache` is a file that may be deleted."""
    address = variables.get(URL, "").strip()
    if not address:
        return None
    model = variables.get(MODEL, "").strip() or MODEL_DEFAULT
    try:
        return SemanticMatcher(
            EmbeddingsClient(address, model=model, key=variables.get(KEY, "").strip() or None), cache
        )
    except EmbeddingsUnavailable as unavailable:
        return SemanticMatcher(f"{URL} names no embeddings endpoint: {unavailable}")


def _sound(text: str) -> str:
    """The text without halves of surrogate pairs, which no request can hold."""
    return text.encode("utf-8", "replace").decode()


def pieces(text: str) -> Iterator[tuple[int, int]]:
    """Where the parts of a text begin and end that are compared at once: sentences and lines, as many as fit."""
    start = 0
    while len(text) - start > PIECE_CHARS_MAX:
        ends = [found.end() for found in _end.finditer(text, start, start + PIECE_CHARS_MAX)]
        end = ends[-1] if ends else start + PIECE_CHARS_MAX
        if text[start:end].strip():
            yield start, end
        start = end
    if text[start:].strip():
        yield start, len(text)

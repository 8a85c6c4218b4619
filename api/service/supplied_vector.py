"""Vectors that a caller supplies with a decision, a thought or a query: read them, and record them."""

import struct
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from api.principal import Principal
from api.service.ledger import LedgerService
from api.service.retrieval import SuppliedEmbedding
from events.errors import InvalidEvent
from events.limits import LABEL_CHARS_MAX
from events.registry import VOCABULARY
from events.vector import DecisionEmbedded, ThoughtEmbedded, pack_vector
from ledger.errors import InvalidQuery
from tallystick.shapes.appended import AppendedEvent

EmbeddingInput = Sequence[float] | str
"""A vector as numbers, or as embeddings endpoints encode it: 32-bit floats, the lower byte first, in Base64."""

_Result = TypeVar("_Result")


def read_embedding(
    embedding: EmbeddingInput | None, model: str | None, *, names: tuple[str, str] = ("embedding", "embedding_model")
) -> SuppliedEmbedding | None:
    """Return the vector of a query; None without one. `names` are the fields' names. Errors: InvalidQuery."""
    name, name_of_model = names
    if embedding is None:
        if model is not None:
            raise InvalidQuery(name_of_model, f"is of no use without {name}.", f"Send {name} too, or leave both out.")
        return None
    if not model or len(model) > LABEL_CHARS_MAX:
        detail = f"must name the model that made {name}, in 1 to {LABEL_CHARS_MAX} characters."
        raise InvalidQuery(name_of_model, detail, "Vectors of different models cannot be compared.")
    try:
        return SuppliedEmbedding(vector=pack_vector(_numbers(embedding)), model=model)
    except ValueError as error:
        raise InvalidQuery(name, f"{error}.", "Send the vector as the model made it.") from None


def embedding_to_record(
    embedding: EmbeddingInput | None, model: str | None, *, names: tuple[str, str] = ("embedding", "embedding_model")
) -> SuppliedEmbedding | None:
    """Return the vector of a decision or a thought to record; None without one. Errors: InvalidEvent."""
    try:
        return read_embedding(embedding, model, names=names)
    except InvalidQuery as error:
        raise InvalidEvent(error.detail, error.advice, field=error.field) from None


async def record_with_embedding(
    ledger: LedgerService,
    caller: Principal,
    embedding: SuppliedEmbedding | None,
    record: Callable[[], Awaitable[_Result]],
    placed: Callable[[_Result], AppendedEvent],
) -> _Result:
    """Record something, and then its vector, which is checked before anything is written.

    The vector's event has an id that follows from what was recorded, so that the repetition of a call that was
    interrupted between both adds what is missing.
    Errors: InvalidEvent, and those of `record`.
    """
    if embedding is None:
        return await record()
    await ledger.indexes.vectors.check(embedding.model, len(embedding.numbers))
    result = await record()
    event = placed(result)
    kind, _, name = event.subject.partition("/")
    data: DecisionEmbedded | ThoughtEmbedded
    if kind == "thought":
        data = ThoughtEmbedded(thought_id=name, model=embedding.model, vector=embedding.vector)
    else:
        first = event.streamversion == 1
        of = "decision" if first else "thought"
        data = DecisionEmbedded(decision_id=name, model=embedding.model, vector=embedding.vector, of=of)  # type: ignore[arg-type]
    await ledger.record([VOCABULARY.draft_of(data, id=f"embedding-{event.position}", time=ledger.clock())], caller)
    return result


def parse_embedding(text: str) -> EmbeddingInput:
    """Return a vector written as a JSON array or in Base64. Errors: InvalidQuery."""
    if not text.lstrip().startswith("["):
        return text
    try:
        return msgspec.json.decode(text.encode(errors="surrogatepass"), type=list[float])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise InvalidQuery(
            "embedding", "must be a JSON array of numbers.", "Write [0.1, -0.2, ...], or Base64."
        ) from None


def _numbers(embedding: EmbeddingInput) -> Sequence[float]:
    """Return the numbers. Errors: ValueError."""
    if not isinstance(embedding, str):
        return embedding
    try:
        packed = b64decode(embedding, validate=True)
        return list(struct.unpack(f"<{len(packed) // 4}f", packed))
    except (ValueError, struct.error):
        raise ValueError("must be an array of numbers, or 32-bit floats in Base64") from None

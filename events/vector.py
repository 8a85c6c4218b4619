"""Vectors of texts that a caller supplied. A vector is stored as 16-bit floats, scaled to norm 1, in Base64.

A vector cannot be computed from the log, so one that a caller supplies is an event. Vectors of an embeddings endpoint
can be requested again, and are not.
"""

import math
import struct
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from events.payload import Label, Payload, StreamId

EMBEDDING_NUMBERS_MAX = 4_096
"""Numbers of one vector that a caller supplies."""

VECTOR_CHARS_MAX = 4 * -(-2 * EMBEDDING_NUMBERS_MAX // 3)
NORM_ERROR_MAX = 0.01
"""How far the norm of a stored vector may be from 1, because of its rounded numbers."""

Vector = Annotated[
    str,
    msgspec.Meta(
        min_length=4,
        max_length=VECTOR_CHARS_MAX,
        description="A vector of norm 1: 16-bit floats, the lower byte first, in Base64.",
    ),
]


Numbers = Annotated[tuple[float, ...], msgspec.Meta(max_length=EMBEDDING_NUMBERS_MAX)]
"""A vector as a caller supplies it, of any norm but 0."""


class DecisionEmbedded(Payload, frozen=True, kw_only=True):
    """A vector of a decision's text, or of a thought about it, as its caller supplied it."""

    decision_id: StreamId
    """The decision. Source: the client."""
    model: Label
    """The embedding model that made the vector. Vectors of different models are not compared. Source: the client."""
    vector: Vector
    """The vector, at most 4,096 numbers. Source: the client's model."""
    of: Literal["decision", "thought"] = "decision"
    """What the vector represents. The latest of the decision is used, and each of a thought. Source: the client."""


class ThoughtEmbedded(Payload, frozen=True, kw_only=True):
    """A vector of a thought that no decision has adopted yet. The decision that adopts the thought gets it."""

    thought_id: StreamId
    """The thought. Source: the client."""
    model: Label
    """The embedding model that made the vector. Source: the client."""
    vector: Vector
    """The vector, at most 4,096 numbers; the latest is used. Source: the client's model."""


SUPPLIED = (DecisionEmbedded, ThoughtEmbedded)
"""The payloads that hold a vector which a caller made."""


def pack_vector(numbers: Sequence[float]) -> str:
    """Return the stored form of a vector of any norm but 0. Errors: ValueError, in words that follow its name."""
    if not 0 < len(numbers) <= EMBEDDING_NUMBERS_MAX:
        raise ValueError(f"must have 1 to {EMBEDDING_NUMBERS_MAX:,} numbers, got {len(numbers):,}")
    for index, number in enumerate(numbers):
        if not math.isfinite(number):
            raise ValueError(f"must have finite numbers, got {number} at index {index}")
    largest = max(map(abs, numbers))
    if largest == 0:
        raise ValueError("must have a number other than 0, because a vector of zeros has no direction")
    scaled = [number / largest for number in numbers]
    norm = math.hypot(*scaled)
    return b64encode(struct.pack(f"<{len(scaled)}e", *(number / norm for number in scaled))).decode()


def unpack_vector(text: str) -> tuple[float, ...]:
    """Return the numbers of a stored vector. Errors: ValueError, in words that follow its name."""
    try:
        packed = b64decode(text, validate=True)
        numbers: tuple[float, ...] = struct.unpack(f"<{len(packed) // 2}e", packed)
    except (ValueError, struct.error):
        raise ValueError("must be 16-bit floats in Base64") from None
    if not numbers or len(numbers) > EMBEDDING_NUMBERS_MAX:
        raise ValueError(f"must have 1 to {EMBEDDING_NUMBERS_MAX:,} numbers, got {len(numbers):,}")
    norm = math.hypot(*numbers)
    if not abs(norm - 1) <= NORM_ERROR_MAX:
        raise ValueError(f"must have norm 1 (the root of the sum of squares), got {norm:.3f}")
    return numbers

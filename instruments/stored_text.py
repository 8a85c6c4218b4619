"""Values as events store them: texts that UTF-8 can encode, their digests, and counts."""

from hashlib import sha256

import msgspec

from events.limits import LABEL_CHARS_MAX
from events.payload import COUNT_MAX


def storable_text(text: str) -> str:
    """Return the text with each lone surrogate, which UTF-8 cannot encode, replaced by a question mark."""
    return text.encode(errors="replace").decode()


def sha256_hex(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes: 64 lower-case hex digits."""
    return sha256(text.encode()).hexdigest()


def text_of(value: object) -> str:
    """Return a text as it is, and any other value as JSON; empty for None."""
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def count_of(value: object) -> int | None:
    """Return a count that an event can state; None for any other value."""
    return value if type(value) is int and 0 <= value <= COUNT_MAX else None


def label_of(value: object) -> str | None:
    """Return a text that fits into a label of an event; None for any other value."""
    return value if isinstance(value, str) and 0 < len(value) <= LABEL_CHARS_MAX else None

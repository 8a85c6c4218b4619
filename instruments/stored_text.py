"""Texts as events store them: without characters that UTF-8 cannot encode, and their digests."""

from hashlib import sha256

import msgspec


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

"""Texts as events store them: without characters that UTF-8 cannot encode, and their digests."""

from hashlib import sha256


def storable_text(text: str) -> str:
    """Return the text with each lone surrogate, which UTF-8 cannot encode, replaced by a question mark."""
    return text.encode(errors="replace").decode()


def sha256_hex(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes: 64 lower-case hex digits."""
    return sha256(text.encode()).hexdigest()

"""Digests of patterns, to find decisions with the same one."""

from hashlib import blake2b


def pattern_digest(pattern: str) -> int:
    """Return a number 1..2**64-1 for a pattern. Two patterns have the same one with probability 2**-64."""
    return int.from_bytes(blake2b(pattern.encode("utf-8", "surrogatepass"), digest_size=8).digest()) or 1

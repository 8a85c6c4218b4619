"""Whole words: commands in a step, and classes of failure however their words are joined."""

import re
from functools import lru_cache

_parts = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_CAPITAL = r"(?-i:(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))"
_apart = re.compile(r"[\W_]+")


@lru_cache(maxsize=4_096)
def command(name: str) -> re.Pattern[str]:
    """A command as a word of its own, whatever the case: no part of a longer word, of a name with hyphens or dots.

    `aws` stands in "aws s3 ls", "`AWS`" and "/usr/bin/aws", and neither in "flaws", "aws-node", "~/.aws" nor in
    "aws.amazon.com".
    """
    words = r"\s+".join(re.escape(word) for word in name.split())
    return re.compile(rf"(?<![\w.])(?<!\w-){words}(?![\w]|[-.]\w)", re.IGNORECASE)


@lru_cache(maxsize=4_096)
def mode(name: str) -> re.Pattern[str]:
    """A class of failure in a text: its words in order, joined by space, `_`, `-`, capitals, or nothing.

    `image_pull` stands in "Image pull fails" and "ImagePullBackOff", and not in "imagepuller".
    """
    parts = _parts.findall(name) or [name.strip()]
    words = r"[\s_-]{0,3}".join(re.escape(part) for part in parts)
    return re.compile(rf"(?:(?<![^\W_])|{_CAPITAL}){words}(?:(?![^\W_])|{_CAPITAL})", re.IGNORECASE)


def squeezed(name: str) -> str:
    """What two spellings of one class have in common: "ImagePull", "image-pull" and "image pull" are the same."""
    return _apart.sub("", name).casefold() or name.strip().casefold()

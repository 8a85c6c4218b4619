"""Whole words: commands in a step, and classes of failure however their words are joined."""

import re
from functools import lru_cache

_parts = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_before = re.compile(r"[\w.]\Z|\w-\Z")
_after = re.compile(r"\w|[-.]\w")
_apart = re.compile(r"[\W_]+")


@lru_cache(maxsize=4_096)
def command(name: str) -> re.Pattern[str]:
    """A command in a text without its case; `stands_alone` says whether it is a word there."""
    return re.compile(r"\s+".join(re.escape(word) for word in name.casefold().split()))


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a command is a word of its own: no part of a longer word, of a name with hyphens or dots.

    `aws` stands in "aws s3 ls", "`AWS`" and "/usr/bin/aws", and neither in "flaws", "aws-node", "~/.aws" nor in
    "aws.amazon.com".
    """
    return _before.search(text, max(0, start - 2), start) is None and _after.match(text, end) is None


@lru_cache(maxsize=4_096)
def mode(name: str) -> re.Pattern[str]:
    """A class of failure in a text without its case, its words joined by space, `_`, `-` or nothing."""
    parts = _parts.findall(name) or [name.strip()]
    return re.compile(r"[\s_-]{0,3}".join(re.escape(part.casefold()) for part in parts))


def stands_apart(text: str, start: int, end: int) -> bool:
    """Whether a class of failure is no part of a longer word; a capital begins a new one.

    `image_pull` stands in "Image pull fails" and "ImagePullBackOff", and not in "imagepuller".
    """
    return _parted(text, start) and _parted(text, end)


def _parted(text: str, at: int) -> bool:
    """Whether one word ends and another begins between two characters."""
    before, after = text[at - 1 : at] if at else "", text[at : at + 1]
    if not (before.isalnum() and after.isalnum()):
        return True
    return after.isupper() and (not before.isupper() or text[at + 1 : at + 2].islower())


def squeezed(name: str) -> str:
    """What two spellings of one class have in common: "ImagePull", "image-pull" and "image pull" are the same."""
    return _apart.sub("", name).casefold() or name.strip().casefold()

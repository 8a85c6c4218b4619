"""Match whole words: commands in a step, and failure classes with any separator between their words."""

import re
from functools import lru_cache

from instruments.evals.scoring.folded_text import fold

_class_words = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_joined_before = re.compile(r"[\w.]\Z|\w-\Z")
_joined_after = re.compile(r"\w|[-.]\w")
_separators = re.compile(r"[\W_]+")


@lru_cache(maxsize=4_096)
def command_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern for a command in a case-folded text; `is_whole_command` checks the match."""
    return re.compile(r"\s+".join(re.escape(word) for word in fold(name).split()))


def is_whole_command(text: str, start: int, end: int) -> bool:
    """Whether a command is a word of its own, and not part of a longer word or of a name with hyphens or dots.

    `aws` matches in "aws s3 ls", "`AWS`" and "/usr/bin/aws", but not in "flaws", "aws-node", "~/.aws" or
    "aws.amazon.com".
    """
    return _joined_before.search(text, max(0, start - 2), start) is None and _joined_after.match(text, end) is None


@lru_cache(maxsize=4_096)
def class_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern for a failure class in a case-folded text, its words joined by space, `_`, `-` or nothing."""
    parts = _class_words.findall(name) or [name.strip()]
    return re.compile(r"[\s_-]{0,3}".join(re.escape(fold(part)) for part in parts))


def is_whole_class(text: str, start: int, end: int) -> bool:
    """Whether a failure class is not part of a longer word; a capital begins a new word.

    `image_pull` matches in "Image pull fails" and "ImagePullBackOff", but not in "imagepuller".
    """
    return _is_boundary(text, start) and _is_boundary(text, end)


def _is_boundary(text: str, at: int) -> bool:
    """Whether there is a word boundary before a character."""
    before, after = text[at - 1 : at] if at else "", text[at : at + 1]
    if not (before.isalnum() and after.isalnum()):
        return True
    # of several capitals, as in HTTPServer, only one before a small letter begins a word
    return after.isupper() and (not before.isupper() or text[at + 1 : at + 2].islower())


def normalize_name(name: str) -> str:
    """Normalize a class name: "ImagePull", "image-pull" and "image pull" become equal."""
    folded = fold(name)
    return _separators.sub("", folded) or folded.strip()

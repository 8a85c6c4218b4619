"""Which changes of a history a later one takes back, and by which mark that is known.

The first of these that names a change wins: the id in git's own words, the number of the pull request in those of
GitHub's button, the subject, and last the content: a change that adds what another removed and removes what it added.
A revert that is applied again was nevertheless a revert.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final, Literal

import msgspec

from instruments.git.history_log import Commit, FileEdit

RevertForm = Literal["sha", "pull_request", "subject", "content"]

INVERSE_LINES_MIN: Final = 3
INVERSE_S_MAX: Final = 14 * 86_400
"""A shorter change is another's inverse by chance, and so is a later one."""

_ids = re.compile(r"[Tt]his reverts commit ([0-9a-f]{7,40})((?:,?(?: and)? [0-9a-f]{7,40})*)")
_id = re.compile(r"[0-9a-f]{7,40}")
_pull_request = re.compile(r"^Reverts (?:[\w.-]+/[\w.-]+)?#(\d+)", re.MULTILINE)
_number = re.compile(r"\(#(\d+)\)\s*$|^Merge pull request #(\d+) ")
_quoted = re.compile(r'^Revert "(.*)"(?: \(#\d+\))?$')
_plain = re.compile(r"^revert(?:\([^)]*\))?: (.*)$", re.IGNORECASE)


class Revert(msgspec.Struct, frozen=True):
    """A change that takes another one back. Both are indexes of commits."""

    by: int
    of: int
    form: RevertForm


def number_of(commit: Commit) -> int | None:
    """Return the number of the pull request that a commit landed, by its subject."""
    found = _number.search(commit.subject)
    return None if found is None else int(found[1] or found[2])


def find_reverts(commits: Sequence[Commit]) -> tuple[Sequence[Revert], int]:
    """Return the reverts that the messages of some commits name, oldest first, and how many name an unknown change."""
    by_sha = {commit.sha: index for index, commit in enumerate(commits)}
    by_subject: dict[str, list[int]] = {}
    by_number: dict[int, int] = {}
    reverts: list[Revert] = []
    unresolved = 0
    shas = sorted(by_sha)
    for index, commit in enumerate(commits):
        found = [Revert(index, of, form) for of, form in _named(commit, by_sha, shas, by_number, by_subject)]
        reverts += found
        unresolved += not found and _claims(commit)
        by_subject.setdefault(commit.subject, []).append(index)
        if (number := number_of(commit)) is not None:
            by_number.setdefault(number, index)
    return reverts, unresolved


def content_key(edits: Sequence[FileEdit], *, inverse: bool = False) -> bytes | None:
    """Return a digest of what a change does, or of what undoes it, without white space; None for a small change."""
    digest = blake2b(digest_size=16)
    lines = 0
    for edit in sorted(edits, key=lambda edit: edit.new or edit.old or b""):
        old, new = (edit.new, edit.old) if inverse else (edit.old, edit.new)
        digest.update(b"\0%b\0%b\n" % (old or b"", new or b""))
        for hunk in edit.hunks:
            removed, added = (hunk.added, hunk.removed) if inverse else (hunk.removed, hunk.added)
            lines += len(removed) + len(added)
            for sign, part in ((b"-", removed), (b"+", added)):
                for line in part:
                    digest.update(sign + b"".join(line.split()) + b"\n")
    return digest.digest() if lines >= INVERSE_LINES_MIN else None


def _named(
    commit: Commit,
    by_sha: dict[str, int],
    shas: list[str],
    by_number: dict[int, int],
    by_subject: dict[str, list[int]],
) -> Iterator[tuple[int, RevertForm]]:
    """Yield what the first form that resolves names."""
    by_id = [by_sha[sha] for text in _named_ids(commit.message) for sha in _complete(text, shas)]
    if by_id:
        yield from ((index, "sha") for index in dict.fromkeys(by_id))
        return
    numbers = [by_number[int(text)] for text in _pull_request.findall(commit.message) if int(text) in by_number]
    if numbers:
        yield from ((index, "pull_request") for index in numbers)
        return
    subject = _reverted_subject(commit)
    if subject is not None and (earlier := by_subject.get(subject)):
        yield earlier[-1], "subject"


def _named_ids(message: str) -> Iterator[str]:
    for first, others in _ids.findall(message):
        yield first
        yield from _id.findall(others)


def _complete(text: str, shas: list[str]) -> list[str]:
    """Return the only id that begins with a text."""
    at = bisect_left(shas, text)
    found = [sha for sha in shas[at : at + 2] if sha.startswith(text)]
    return found if len(found) == 1 else []


def _reverted_subject(commit: Commit) -> str | None:
    found = _quoted.match(commit.subject) or _plain.match(commit.subject)
    return None if found is None else found[1].strip()


def _claims(commit: Commit) -> bool:
    return _reverted_subject(commit) is not None or next(_named_ids(commit.message), None) is not None

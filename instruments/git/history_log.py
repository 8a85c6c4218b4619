"""Read a history as git prints it: each change with the lines that it removes and adds, in one pass."""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import IO, Final

import msgspec

from instruments.git.repository import Repository

LINE_BYTES_MAX: Final = 65_536
"""A longer line is read in pieces of this size, and only its digest is kept."""

_HEADER = ("%H", "%P", "%at", "%ct", "%an", "%ae", "%cn", "%ce", "%B")
_FORMAT = f"--format=%x00{'%x00'.join(_HEADER)}%x00%x00"
_DIFF = (
    "-p", "-U0", "-w", "-M", "--inter-hunk-context=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative",
    "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--diff-merges=first-parent", "--encoding=UTF-8",
)  # fmt: skip
_hunk = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_octal = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_escapes = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


class Commit(msgspec.Struct, frozen=True, gc=False):
    """The header of a commit."""

    sha: str
    parents: tuple[str, ...]
    authored_s: int
    """Seconds since 1970, as are all times here."""
    committed_s: int
    author_name: str
    author_address: str
    committer_name: str
    committer_address: str
    message: str

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0].strip()


class Hunk(msgspec.Struct, gc=False):
    """Lines that follow each other: those removed from the old file, and those added to the new one."""

    old_start: int
    """1-based; with no line removed, the line after which lines are added."""
    removed: list[bytes]
    added: list[bytes]


class FileEdit(msgspec.Struct, gc=False):
    """What a change does to a file; `old` is None for a new one, `new` for one that is deleted."""

    old: bytes | None = None
    new: bytes | None = None
    hunks: list[Hunk] = []


class CommitDiff(msgspec.Struct, frozen=True):
    """A commit of the first-parent chain, and what it does to files."""

    commit: Commit
    edits: Sequence[FileEdit]


def read_changes(repository: Repository, head: str) -> Iterator[CommitDiff]:
    """Yield the changes of a head's first-parent chain, the oldest first. Errors: SourceUnreadable."""
    words = ("log", "--first-parent", "--reverse", "--root", *_DIFF, _FORMAT, head, "--")
    with repository.output(*words) as stream:
        yield from parse_changes(stream)


def read_commits(repository: Repository, head: str) -> Iterator[Commit]:
    """Yield every commit that a head contains. Errors: SourceUnreadable."""
    with repository.output("log", "--encoding=UTF-8", _FORMAT, head, "--") as stream:
        yield from (change.commit for change in parse_changes(stream))


def parse_changes(stream: IO[bytes]) -> Iterator[CommitDiff]:
    """Yield the changes that `git log` prints, in its order."""
    commit: Commit | None = None
    edits: list[FileEdit] = []
    while line := _read_line(stream):
        if line.startswith(b"\0"):
            if commit is not None:
                yield CommitDiff(commit, edits)
            commit, edits = _read_header(stream, line), []
        elif line.startswith(b"diff --git "):
            edits.append(FileEdit(hunks=[]))
        elif edits:
            _read_edit_line(stream, line, edits[-1])
    if commit is not None:
        yield CommitDiff(commit, edits)


def _read_line(stream: IO[bytes]) -> bytes:
    """Return a line with its end; of a long one its digest, so that memory is bounded."""
    line = stream.readline(LINE_BYTES_MAX)
    if len(line) < LINE_BYTES_MAX or line.endswith(b"\n"):
        return line
    sign, digest = line[:1], blake2b(line[1:], digest_size=16)
    while not line.endswith(b"\n") and (line := stream.readline(LINE_BYTES_MAX)):
        digest.update(line)
    return sign + digest.hexdigest().encode() + b"\n"


def _read_header(stream: IO[bytes], line: bytes) -> Commit:
    text = line
    while not text.endswith(b"\0\0\n") and (line := stream.readline()):
        text += line
    parts = text.decode(errors="replace").split("\0")
    sha, parents, authored, committed, author, address, committer, its_address, message = parts[1 : len(_HEADER) + 1]
    times = int(authored), int(committed)
    return Commit(sha, tuple(parents.split()), *times, author, address, committer, its_address, message.strip())


def _read_edit_line(stream: IO[bytes], line: bytes, edit: FileEdit) -> None:
    """Read a line of a file's part of a diff, and with the head of a hunk all lines of the hunk."""
    if (found := _hunk.match(line)) is not None:
        old_start, old_count, _, new_count = (1 if part is None else int(part) for part in found.groups())
        edit.hunks.append(_read_hunk(stream, old_start, old_count + new_count))
    elif line.startswith(b"--- "):
        edit.old = _path(line[4:], b"a/")
    elif line.startswith(b"+++ "):
        edit.new = _path(line[4:], b"b/")
    elif line.startswith(b"rename from "):
        edit.old = _path(line[12:], b"")
    elif line.startswith(b"rename to "):
        edit.new = _path(line[10:], b"")


def _read_hunk(stream: IO[bytes], old_start: int, count: int) -> Hunk:
    removed: list[bytes] = []
    added: list[bytes] = []
    while count and (line := _read_line(stream)):
        if not line.startswith(b"\\"):  # \ No newline at end of file
            (removed if line.startswith(b"-") else added).append(line[1:])
            count -= 1
    return Hunk(old_start, removed, added)


def _path(text: bytes, prefix: bytes) -> bytes | None:
    text = text.rstrip(b"\n").rstrip(b"\t")
    if text.startswith(b'"'):
        text = _octal.sub(
            lambda it: bytes([int(it[1], 8)]) if len(it[1]) == 3 else _escapes.get(it[1], it[1]), text[1:-1]
        )
    return None if text == b"/dev/null" else text.removeprefix(prefix)

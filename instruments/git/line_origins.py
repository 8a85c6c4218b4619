"""Which change each line of a history is from, followed from the oldest change to the newest, in one pass.

A walk over the first-parent diffs gives the origins of `git blame --first-parent -w`. With `moves`, a line that a
change removes and adds again elsewhere keeps its origin, which blame does not see.
"""

from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from instruments.git.history_log import FileEdit, Hunk

UNKNOWN: Final = -1
"""The origin of lines that no diff has shown, as those of a file that was binary before."""

_MOVED_BYTES_MIN: Final = 3
"""A shorter line, such as a bracket, is equal to others by chance."""


class LineCounts(NamedTuple):
    """The counted lines that a change gave birth to, and those that it ended, by the change that they are from."""

    born: int
    ended: Mapping[int, int]


class _Place(NamedTuple):
    """Where a change adds a line."""

    lines: "array[int]"
    at: int
    path: bytes
    text: bytes


class LineOrigins:
    """The origin of each line of each file, as of the newest change that was applied."""

    def __init__(self, counted: Callable[[bytes, bytes], bool], *, moves: bool = True) -> None:
        """`counted` tells, by path and text, which lines are in the counts."""
        self._counted = counted
        self._moves = moves
        # a line is 2 times the index of its origin, plus 1 if it is counted
        self._files: dict[bytes, array[int]] = {}

    def origins(self, path: bytes) -> Sequence[int]:
        """Return the index of the change that each line of a file is from, or UNKNOWN."""
        return [line >> 1 for line in self._files[path]]

    def apply(self, change: int, edits: Iterable[FileEdit], *, is_ignored: bool = False) -> LineCounts:
        """Apply the edits of a change with this index, which is higher than that of the change before.

        Each line that an ignored change replaces keeps its origin, and none of its own is counted.
        """
        after: dict[bytes, array[int]] = {}
        gone: set[bytes] = set()
        removed: dict[bytes, deque[int]] = defaultdict(deque)
        places: list[_Place] = []
        # every file is read before one is stored: two may exchange their names
        for edit in edits:
            before = array("q") if edit.old is None else self._files.get(edit.old, array("q"))
            if edit.old is not None:
                gone.add(edit.old)
            lines = _edited(before, edit.hunks, removed, is_ignored=is_ignored)
            if edit.new is not None:
                after[edit.new] = lines
                added = _added(edit.hunks, is_ignored=is_ignored)
                places += (_Place(lines, at, edit.new, text) for at, text in added)
        for path in gone:
            self._files.pop(path, None)
        self._files.update(after)
        born = sum(self._place(change, place, removed, is_ignored=is_ignored) for place in places)
        ended = Counter(line >> 1 for line in chain.from_iterable(removed.values()) if line & 1)
        return LineCounts(born, ended)

    def _place(self, change: int, place: _Place, removed: Mapping[bytes, deque[int]], *, is_ignored: bool) -> bool:
        """Give an added line its origin; return whether it is a new line that is counted."""
        text = place.text.strip()
        if self._moves and len(text) >= _MOVED_BYTES_MIN and (same := removed.get(text)):
            place.lines[place.at] = same.popleft()
            return False
        is_counted = not is_ignored and self._counted(place.path, place.text)
        place.lines[place.at] = 2 * change + is_counted
        return is_counted


def _edited(
    before: "array[int]", hunks: Iterable[Hunk], removed: Mapping[bytes, deque[int]], *, is_ignored: bool
) -> "array[int]":
    """Return a file's lines with 0 for each that is added; collect those that are removed, by their text."""
    lines = array("q")
    at = 0
    for hunk in hunks:
        start = hunk.old_start - bool(hunk.removed)
        end = start + len(hunk.removed)
        if len(before) < end:
            before = before + array("q", [2 * UNKNOWN] * (end - len(before)))
        kept = _replaced(hunk) if is_ignored else 0
        for text, line in zip(hunk.removed[kept:], before[start + kept : end], strict=True):
            removed[text.strip()].append(line)
        lines += before[at : start + kept]
        lines.extend([0] * (len(hunk.added) - kept))
        at = end
    return lines + before[at:]


def _replaced(hunk: Hunk) -> int:
    """Return how many lines of a hunk replace one: the first ones, each that in its place."""
    return min(len(hunk.removed), len(hunk.added))


def _added(hunks: Iterable[Hunk], *, is_ignored: bool) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that hunks add, each with its 0-based place in the new file."""
    grown = 0
    for hunk in hunks:
        start = hunk.old_start - bool(hunk.removed) + grown
        kept = _replaced(hunk) if is_ignored else 0
        yield from enumerate(hunk.added[kept:], start + kept)
        grown += len(hunk.added) - len(hunk.removed)

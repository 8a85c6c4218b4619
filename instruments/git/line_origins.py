"""Which change each line of a history is from, followed from the oldest change to the newest, in one pass.

A walk over the first-parent diffs gives the origins of `git blame --first-parent -w`. With `moves`, a line that a
change removes and adds again elsewhere keeps its origin, which blame does not see.
"""

from array import array
from collections import Counter, defaultdict
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
    index: int
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

    def apply(self, change: int, edits: Iterable[FileEdit]) -> LineCounts:
        """Apply the edits of a change with this index, which is higher than that of the change before."""
        after: dict[bytes, array[int]] = {}
        gone: set[bytes] = set()
        removed: dict[bytes, list[int]] = defaultdict(list)
        places: list[_Place] = []
        # every file is read before one is stored: two may exchange their names
        for edit in edits:
            before = array("q") if edit.old is None else self._files.get(edit.old, array("q"))
            if edit.old is not None:
                gone.add(edit.old)
            lines = _edited(before, edit.hunks, removed)
            if edit.new is not None:
                after[edit.new] = lines
                places += (_Place(lines, index, edit.new, text) for index, text in _added(edit.hunks))
        for path in gone:
            self._files.pop(path, None)
        self._files.update(after)
        born = sum(self._place(change, place, removed) for place in places)
        ended = Counter(line >> 1 for line in chain.from_iterable(removed.values()) if line & 1)
        return LineCounts(born, ended)

    def _place(self, change: int, place: _Place, removed: Mapping[bytes, list[int]]) -> bool:
        """Give an added line its origin; return whether it is a new line that is counted."""
        text = place.text.strip()
        if self._moves and len(text) >= _MOVED_BYTES_MIN and (same := removed.get(text)):
            place.lines[place.index] = same.pop()
            return False
        is_counted = self._counted(place.path, place.text)
        place.lines[place.index] = 2 * change + is_counted
        return is_counted


def _edited(before: "array[int]", hunks: Iterable[Hunk], removed: Mapping[bytes, list[int]]) -> "array[int]":
    """Return a file's lines with 0 for each that is added; collect those that are removed, by their text."""
    lines = array("q")
    at = 0
    for hunk in hunks:
        start = hunk.old_start - bool(hunk.removed)
        end = start + len(hunk.removed)
        if len(before) < end:
            before = before + array("q", [2 * UNKNOWN] * (end - len(before)))
        for text, line in zip(hunk.removed, before[start:end], strict=True):
            removed[text.strip()].append(line)
        lines += before[at:start]
        lines.extend([0] * len(hunk.added))
        at = end
    return lines + before[at:]


def _added(hunks: Iterable[Hunk]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that hunks add, each with its 0-based place in the new file."""
    grown = 0
    for hunk in hunks:
        start = hunk.old_start - bool(hunk.removed) + grown
        yield from enumerate(hunk.added, start)
        grown += len(hunk.added) - len(hunk.removed)

"""Which change each line of a history is from, followed from the oldest change to the newest, in one pass.

A walk over the first-parent diffs gives the origins of `git blame --first-parent -w`. With `moves`, a line that a
change removes and adds again elsewhere keeps its origin, which blame does not see.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from instruments.git.history_log import FileEdit

UNKNOWN: Final = -1
"""The origin of lines that no diff has shown, as those of a file that was binary before."""

_MOVED_BYTES_MIN: Final = 3
"""A shorter line, such as a bracket, is equal to others by chance."""


class LineCounts(NamedTuple):
    """The counted lines that a change gave birth to, and those that it ended, by the change that they are from."""

    born: int
    ended: Mapping[int, int]


class LineOrigins:
    """The origin of each line of each file, as of the newest change that was applied."""

    def __init__(self, counted: Callable[[bytes, bytes], bool], *, moves: bool = True) -> None:
        """`counted` tells, by path and text, which lines are in the counts."""
        self._counted = counted
        self._moves = moves
        self._files: dict[bytes, array[int]] = {}

    def origins(self, path: bytes) -> Sequence[int]:
        """Return the index of the change that each line of a file is from, or UNKNOWN."""
        return [line >> 1 for line in self._files[path]]

    def apply(self, change: int, edits: Iterable[FileEdit]) -> LineCounts:
        """Apply the edits of a change with this index, which is higher than that of the change before."""
        # a line is 2 times the index of its origin, plus 1 if it is counted
        after: dict[bytes, array[int]] = {}
        gone: set[bytes] = set()
        removed: dict[bytes, list[int]] = defaultdict(list)
        places: list[tuple[array[int], int, bytes, bytes]] = []
        for edit in edits:
            before = array("q") if edit.old is None else self._files.get(edit.old, array("q"))
            lines = array("q")
            at = 0
            for hunk in edit.hunks:
                start = hunk.old_start - bool(hunk.removed)
                end = start + len(hunk.removed)
                if len(before) < end:
                    before = before + array("q", [2 * UNKNOWN] * (end - len(before)))
                for text, line in zip(hunk.removed, before[start:end], strict=True):
                    removed[text.strip()].append(line)
                lines += before[at:start]
                if edit.new is not None:
                    places += ((lines, len(lines) + place, edit.new, text) for place, text in enumerate(hunk.added))
                lines.extend([0] * len(hunk.added))
                at = end
            lines += before[at:]
            if edit.old is not None:
                gone.add(edit.old)
            if edit.new is not None:
                after[edit.new] = lines
        born = 0
        for lines, place, path, text in places:
            key = text.strip()
            if self._moves and len(key) >= _MOVED_BYTES_MIN and removed.get(key):
                lines[place] = removed[key].pop(0)
            else:
                is_counted = self._counted(path, text)
                lines[place] = 2 * change + is_counted
                born += is_counted
        for path in gone:
            self._files.pop(path, None)
        self._files.update(after)
        ended = Counter(line >> 1 for line in chain.from_iterable(removed.values()) if line & 1)
        return LineCounts(born, ended)

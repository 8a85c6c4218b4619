"""What a power cut may leave of a folder: the trace of what was done to it, cut, and what no sync held torn up.

Synced bytes stay, and so do names that a sync of their folder followed. Of the rest anything may have reached the disk
in any order: each sector of each write on its own, each change of a length, each name. SQLite's -shm is never there:
see `shim.c`.
"""

import os
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from tests.faults.shim import CALLS, Record

SECTOR_BYTES = 512

MEMORY = Path("/dev/shm")

Manner = Literal["none", "all", "prefix", "subset", "garbage"]
MANNERS: tuple[Manner, ...] = ("none", "all", "prefix", "subset", "garbage")
"""Of what was not synced there is nothing; all; what was done first, the last of it torn; any sectors and names; any
sectors, and noise in others that were being written."""

Image = dict[str, bytes]
"""The files of a folder after the cut, by name."""


class Change(NamedTuple):
    """Bytes written at an offset, or, where there are none, a file cut or grown to that length."""

    offset: int
    data: bytes | None


class Naming(NamedTuple):
    """A name that came to mean a file or a folder, or, where there is none, nothing."""

    name: str
    inode: "Inode | None"


Step = Sequence[Naming]
"""Names that change together: a file system that keeps a journal renames wholly or not at all."""


class Inode:
    """A file, whatever its name: what is on the disk, and what was done since; or a folder."""

    def __init__(self, *, folder: bool = False) -> None:
        self.folder = folder
        self.synced = bytearray()
        self.pending: list[Change] = []

    def sync(self) -> None:
        for change in self.pending:
            apply(self.synced, change)
        self.pending.clear()


class Disk:
    """A folder, empty at first but for some folders, whose every change is known."""

    def __init__(self, *folders: str) -> None:
        self._inodes: dict[int, Inode] = {}
        self._names: dict[str, Inode] = {}
        self._synced_names = {folder: Inode(folder=True) for folder in folders}
        self._pending_names: list[Step] = []

    def do(self, step: Record) -> None:
        """Follow one record of a trace."""
        match step.kind:
            case "O":
                inode = self._inodes[step.file] = Inode()
                self._name(Naming(step.data.decode(), inode))
            case "W":
                self._inodes[step.file].pending.append(Change(step.offset, step.data))
            case "T":
                self._inodes[step.file].pending.append(Change(step.offset, None))
            case "S":
                self._inodes[step.file].sync()
            case "F" if CALLS[step.offset] == "sync" and step.file in self._inodes:
                # The pages count as written from now on: no later sync brings them to the disk.
                self._inodes[step.file].pending.clear()
            case "D":
                self._sync_names(step.data.decode())
            case "K":
                self._name(Naming(step.data.decode(), Inode(folder=True)))
            case "U":
                self._name(Naming(step.names[0], None))
            case "L":
                self._name(Naming(step.names[1], self._names[step.names[0]]))
            case "R":
                old, new = step.names
                self._name(Naming(new, self._names[old]), Naming(old, None))
            case "M":
                raise AssertionError(f"{step.data.decode()} is mapped to be written: no trace has what is")
            case _:
                pass

    def image(self, manner: Manner, rng: random.Random) -> Image:
        """What a cut now may leave."""
        names = dict(self._synced_names)
        steps = self._pending_names
        if manner == "prefix":
            steps = steps[: rng.randint(0, len(steps))]
        for step in steps:
            if manner in ("all", "prefix") or (manner != "none" and rng.random() < 0.5):
                _rename(names, step)
        return {
            name: bytes(_content(inode, manner, rng))
            for name, inode in sorted(names.items())
            if not inode.folder and all(str(above) in names for above in PurePosixPath(name).parents[:-1])
        }

    def _name(self, *step: Naming) -> None:
        _rename(self._names, step)
        self._pending_names.append(step)

    def _sync_names(self, folder: str) -> None:
        """A step is on the disk when a folder is synced that it changed, with all that it changed elsewhere."""
        left: list[Step] = []
        for step in self._pending_names:
            if any(_folder(naming.name) == folder for naming in step):
                _rename(self._synced_names, step)
            else:
                left.append(step)
        self._pending_names = left


@contextmanager
def memory(folder: Path) -> Iterator[Path]:
    """A folder in memory, or, where there is none, in this one: a simulated disk needs no real one below it."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else folder) as place:
        yield Path(place)


def write_image(image: Image, folder: Path) -> None:
    """Make a folder that holds an image."""
    for name, content in image.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def apply(content: bytearray, change: Change) -> None:
    """Do one change to what a file holds."""
    end = change.offset + len(change.data or b"")
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    if change.data is None:
        del content[change.offset :]
    else:
        content[change.offset : end] = change.data


def _content(inode: Inode, manner: Manner, rng: random.Random) -> bytearray:
    """What is on the disk of a file: what was synced, and of the rest what the manner leaves."""
    content = bytearray(inode.synced)
    if manner == "none":
        return content
    pending: Sequence[Change] = inode.pending
    if manner == "prefix":
        pending = pending[: rng.randint(0, len(pending))]
    for index, change in enumerate(pending):
        if manner == "all" or (manner == "prefix" and index < len(pending) - 1):
            apply(content, change)
        elif change.data is None:
            if rng.random() < 0.5:
                apply(content, change)
        else:
            for part in _sectors(change):
                fate = rng.random()
                if fate < 0.5:
                    apply(content, part)
                elif fate < 0.75 and manner == "garbage":
                    apply(content, Change(part.offset, rng.randbytes(len(part.data or b""))))
    return content


def _sectors(change: Change) -> list[Change]:
    """A write, cut where the sectors of the disk are."""
    assert change.data is not None
    parts: list[Change] = []
    at, end = change.offset, change.offset + len(change.data)
    while at < end:
        to = min(end, (at // SECTOR_BYTES + 1) * SECTOR_BYTES)
        parts.append(Change(at, change.data[at - change.offset : to - change.offset]))
        at = to
    return parts


def _rename(names: dict[str, Inode], step: Step) -> None:
    for name, inode in step:
        if inode is None:
            names.pop(name, None)
        else:
            names[name] = inode


def _folder(name: str) -> str:
    parent = str(PurePosixPath(name).parent)
    return "" if parent == "." else parent

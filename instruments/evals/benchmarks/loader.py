"""Where cases are read: a file or folder of each format, to cases and faults in their order."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from events.limits import BODY_BYTES_MAX
from instruments.evals.benchmarks import itbench, opsbench_folder, opsbench_labels
from instruments.evals.benchmarks.case import Case
from instruments.evals.errors import FixtureFault
from instruments.evals.suite.json_yaml import read
from instruments.yaml_reader import UnreadableFile

Format = Literal["opsbench", "case", "itbench"]
Found = Iterator[Case | FixtureFault]


def cases(kind: Format, path: Path) -> Found:
    """Every case, or what is wrong with it; a Fault as well where there is none."""
    count = 0
    for found in _READERS[kind](path):
        count += 1
        yield found
    if not count:
        yield FixtureFault(str(path), None, "holds no case", "Name a file that holds one.")


def _labels(path: Path) -> Found:
    body = _read(path)
    if isinstance(body, FixtureFault):
        yield body
    else:
        yield from opsbench_labels.decode(body, str(path))


def _folders(path: Path) -> Found:
    """The case that a folder is, or those that the folders in it are."""
    for one in _with(path, (opsbench_folder.METADATA,)):
        if isinstance(one, FixtureFault):
            yield one
            continue
        names = [
            opsbench_folder.METADATA,
            *sorted(file.name for file in one.iterdir() if opsbench_folder.is_trace(file.name)),
        ]
        read = {name: _read(one / name) for name in names}
        if faults := [found for found in read.values() if isinstance(found, FixtureFault)]:
            yield from faults
            continue
        decoded = opsbench_folder.decode(
            {n: body for n, body in read.items() if isinstance(body, bytes)}, _name(one), str(one)
        )
        yield from [decoded] if isinstance(decoded, Case) else decoded


def _truths(path: Path) -> Found:
    """The ground truth that a file is, or that of a folder, or those of the folders in it."""
    for one in [path] if path.is_file() else _with(path, itbench.FILES):
        if isinstance(one, FixtureFault):
            yield one
            continue
        file = one if one.is_file() else next(one / name for name in itbench.FILES if (one / name).exists())
        body = _read(file)
        called = _name(file.parent) if file.name in itbench.FILES else file.stem
        yield body if isinstance(body, FixtureFault) else itbench.decode(body, called, str(file))


_READERS: dict[Format, Callable[[Path], Found]] = {"opsbench": _labels, "case": _folders, "itbench": _truths}


def _with(path: Path, names: Sequence[str]) -> list[Path | FixtureFault]:
    """A folder, or the folders in it, that hold one of these files."""

    def holds(one: Path) -> bool:
        return any((one / name).exists() for name in names)

    try:
        inner = [path] if holds(path) else sorted(one for one in path.iterdir() if holds(one))
    except OSError as error:
        return [FixtureFault(str(path), None, f"cannot be read: {error.strerror}", "Name a folder that can be.")]
    advice = f"Name a folder with {names[0]}, or one that holds such folders."
    return [*inner] or [FixtureFault(str(path), None, "holds no case", advice)]


def _read(path: Path) -> bytes | FixtureFault:
    try:
        return read(path, BODY_BYTES_MAX)
    except UnreadableFile as error:
        return FixtureFault(str(path), None, str(error), error.advice)


def _name(folder: Path) -> str:
    return folder.resolve().name

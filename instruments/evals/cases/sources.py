"""Where cases are read: a file or folder of each format, to cases and faults in their order."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from events.limits import BODY_BYTES_MAX
from instruments.errors import Fault
from instruments.evals.cases import folder, itbench, opsbench
from instruments.evals.cases.case import Case
from instruments.evals.reading import Unreadable, read

Format = Literal["opsbench", "case", "itbench"]
Found = Iterator[Case | Fault]


def cases(kind: Format, path: Path) -> Found:
    """Every case, or what is wrong with it; a Fault as well where there is none."""
    count = 0
    for found in _READERS[kind](path):
        count += 1
        yield found
    if not count:
        yield Fault(str(path), None, "holds no case", "Name a file that holds one.")


def _labels(path: Path) -> Found:
    body = _read(path)
    if isinstance(body, Fault):
        yield body
    else:
        yield from opsbench.decode(body, str(path))


def _folders(path: Path) -> Found:
    """The case that a folder is, or those that the folders in it are."""
    for one in _with(path, (folder.METADATA,)):
        if isinstance(one, Fault):
            yield one
            continue
        names = [folder.METADATA, *sorted(file.name for file in one.iterdir() if folder.is_trace(file.name))]
        read = {name: _read(one / name) for name in names}
        if faults := [found for found in read.values() if isinstance(found, Fault)]:
            yield from faults
            continue
        decoded = folder.decode({n: body for n, body in read.items() if isinstance(body, bytes)}, _name(one), str(one))
        yield from [decoded] if isinstance(decoded, Case) else decoded


def _truths(path: Path) -> Found:
    """The ground truth that a file is, or that of a folder, or those of the folders in it."""
    for one in [path] if path.is_file() else _with(path, itbench.FILES):
        if isinstance(one, Fault):
            yield one
            continue
        file = one if one.is_file() else next(one / name for name in itbench.FILES if (one / name).exists())
        body = _read(file)
        called = _name(file.parent) if file.name in itbench.FILES else file.stem
        yield body if isinstance(body, Fault) else itbench.decode(body, called, str(file))


_READERS: dict[Format, Callable[[Path], Found]] = {"opsbench": _labels, "case": _folders, "itbench": _truths}


def _with(path: Path, names: Sequence[str]) -> list[Path | Fault]:
    """A folder, or the folders in it, that hold one of these files."""

    def holds(one: Path) -> bool:
        return any((one / name).exists() for name in names)

    try:
        inner = [path] if holds(path) else sorted(one for one in path.iterdir() if holds(one))
    except OSError as error:
        return [Fault(str(path), None, f"cannot be read: {error.strerror}", "Name a folder that can be.")]
    advice = f"Name a folder with {names[0]}, or one that holds such folders."
    return [*inner] or [Fault(str(path), None, "holds no case", advice)]


def _read(path: Path) -> bytes | Fault:
    try:
        return read(path, BODY_BYTES_MAX)
    except Unreadable as error:
        return Fault(str(path), None, str(error), error.advice)


def _name(folder: Path) -> str:
    return folder.resolve().name

"""Read cases of each format from a file or folder; yield cases and faults in order."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from events.limits import BODY_BYTES_MAX
from instruments.errors import FixtureFault
from instruments.evals.benchmarks import itbench, opsbench_case, opsbench_folder
from instruments.evals.benchmarks.case import Case
from instruments.evals.suite.json_yaml_reader import read_file
from instruments.yaml_reader import UnreadableFile

Format = Literal["opsbench", "case", "itbench"]
CasesAndFaults = Iterator[Case | FixtureFault]


def read_cases(kind: Format, path: Path) -> CasesAndFaults:
    """Yield each case or its fault; yield a fault if the path contains no case."""
    count = 0
    for case_or_fault in _READERS[kind](path):
        count += 1
        yield case_or_fault
    if not count:
        yield FixtureFault(str(path), None, "holds no case", "Name a file that holds one.")


def _read_labels(path: Path) -> CasesAndFaults:
    body = _read_file(path)
    if isinstance(body, FixtureFault):
        yield body
    else:
        yield from opsbench_case.decode_labels(body, str(path))


def _read_folders(path: Path) -> CasesAndFaults:
    """Yield the case of a folder, or those of its subfolders."""
    for folder in _folders_with(path, (opsbench_folder.METADATA,)):
        if isinstance(folder, FixtureFault):
            yield folder
            continue
        names = [
            opsbench_folder.METADATA,
            *sorted(file.name for file in folder.iterdir() if opsbench_folder.is_evidence(file.name)),
        ]
        bodies = {name: _read_file(folder / name) for name in names}
        if faults := [body for body in bodies.values() if isinstance(body, FixtureFault)]:
            yield from faults
            continue
        decoded = opsbench_folder.decode(
            {name: body for name, body in bodies.items() if isinstance(body, bytes)}, _name(folder), str(folder)
        )
        yield from [decoded] if isinstance(decoded, Case) else decoded


def _read_ground_truths(path: Path) -> CasesAndFaults:
    """Yield the case of a ground truth file, of a folder, or of its subfolders."""
    for folder in [path] if path.is_file() else _folders_with(path, itbench.FILES):
        if isinstance(folder, FixtureFault):
            yield folder
            continue
        file = folder if folder.is_file() else next(folder / name for name in itbench.FILES if (folder / name).exists())
        body = _read_file(file)
        name = _name(file.parent) if file.name in itbench.FILES else file.stem
        yield body if isinstance(body, FixtureFault) else itbench.decode(body, name, str(file))


_READERS: dict[Format, Callable[[Path], CasesAndFaults]] = {
    "opsbench": _read_labels,
    "case": _read_folders,
    "itbench": _read_ground_truths,
}


def _folders_with(path: Path, names: Sequence[str]) -> list[Path | FixtureFault]:
    """Return the folder, or its subfolders, that contain one of these files."""

    def contains_file(folder: Path) -> bool:
        return any((folder / name).exists() for name in names)

    try:
        inner = [path] if contains_file(path) else sorted(folder for folder in path.iterdir() if contains_file(folder))
    except OSError as error:
        return [FixtureFault(str(path), None, f"cannot be read: {error.strerror}", "Name a folder that can be.")]
    advice = f"Name a folder with {names[0]}, or one that holds such folders."
    return [*inner] or [FixtureFault(str(path), None, "holds no case", advice)]


def _read_file(path: Path) -> bytes | FixtureFault:
    try:
        return read_file(path, BODY_BYTES_MAX)
    except UnreadableFile as error:
        return FixtureFault(str(path), None, str(error), error.advice)


def _name(folder: Path) -> str:
    return folder.resolve().name

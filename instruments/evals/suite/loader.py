"""Load a suite of scenarios from a folder: `NAME/` or `NAME/MODE/`, each with two files.

The whole suite is read and validated before anything is scored, and all faults are reported together. Digests depend on
values only: the order of keys, white space, line endings, and YAML or JSON make no difference. 1 and 1.0 differ in an
investigation and in `test_config`, since the agent gets numbers as they are written; in weights and thresholds they
are equal.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from events.limits import STREAM_ID_CHARS_MAX
from instruments.errors import BadFixtures, FixtureFault, NoScenarios
from instruments.evals.scenario import Description, Scenario, ScenarioFile, Scoring
from instruments.evals.suite.json_yaml_reader import (
    DESCRIPTION_BYTES_MAX,
    INVESTIGATION_BYTES_MAX,
    json_value,
    read_file,
    yaml_value,
)
from instruments.evals.suite.scenario_checks import check_analysis, check_scenario
from instruments.evals.suite.value_checks import ReportFault
from instruments.stored_text import sha256_hex
from instruments.yaml_reader import UnreadableFile

SCENARIO_FILES = ("scenario.yaml", "scenario.yml", "scenario.json")
INVESTIGATION_FILE = "investigation.json"
DEPTH_MAX = 2
"""The deepest nesting of folders in a suite: the folder of a scenario, and the folder of its mode."""

ReadFile = Callable[[Path, int], bytes]
"""Returns the bytes of a file, at most so many. Errors: UnreadableFile."""

_DIGEST_CHARS = 8
_ID_CHARS_KEPT = STREAM_ID_CHARS_MAX - _DIGEST_CHARS - 1
_not_id_char = re.compile(r"[^A-Za-z0-9._-]")
_canonical = msgspec.json.Encoder(order="sorted").encode


class Suite(msgspec.Struct, frozen=True):
    """A loaded suite of scenarios."""

    name: str
    """The name of its folder."""
    root: Path
    scenarios: tuple[Scenario, ...]
    """Ordered by title."""
    digest: str
    """SHA-256 over the ids and fixture digests, in order."""


def load(root: Path) -> Suite:
    """Load the scenario in a folder, or those in its subfolders. Errors: BadFixtures with all faults, NoScenarios."""
    faults: list[FixtureFault] = []
    scenarios = _load_all(_folders(root, faults), root, faults, read_file)
    if not scenarios:
        advice = f"Name a folder with NAME/{SCENARIO_FILES[0]} and NAME/{INVESTIGATION_FILE}, or NAME/MODE/ with both."
        raise NoScenarios(FixtureFault(str(root), None, "contains no scenario", advice))
    return Suite(root.resolve().name, root, scenarios, suite_digest(scenarios))


def load_files(name: str, files: Mapping[str, bytes]) -> Suite:
    """Load a suite from its files in memory, each by its path `TITLE/FILE`. Errors: BadFixtures with all faults."""
    by_folder: dict[PurePosixPath, list[str]] = {}
    for path in map(PurePosixPath, sorted(files)):
        by_folder.setdefault(path.parent, []).append(path.name)
    folders = [
        _Folder(Path(folder), tuple(each for each in (*SCENARIO_FILES, INVESTIGATION_FILE) if each in names))
        for folder, names in by_folder.items()
    ]
    root = Path()
    scenarios = _load_all(folders, root, [], lambda path, _: files[path.as_posix()])
    return Suite(name, root, scenarios, suite_digest(scenarios))


def _load_all(
    folders: Iterable["_Folder"], root: Path, faults: list[FixtureFault], read: ReadFile
) -> tuple[Scenario, ...]:
    """Return the scenarios of some folders, ordered by title. Errors: BadFixtures, also for `faults`."""
    loaded = [_load(folder, root, faults, read) for folder in folders]
    scenarios = sorted((scenario for scenario in loaded if scenario is not None), key=lambda scenario: scenario.title)
    _check_ids(scenarios, root, faults)
    if faults:
        raise BadFixtures(faults)
    return tuple(scenarios)


def suite_digest(scenarios: Sequence[Scenario]) -> str:
    """Return the SHA-256 over the ids and fixture digests of scenarios, independent of their order."""
    lines = sorted(f"{scenario.id} {scenario.fixture_digest}" for scenario in scenarios)
    return sha256_hex("\n".join(lines))


def fixture_digest(about: Description, investigation: dict[str, Any]) -> str:
    """Return the SHA-256 of the agent's input (investigation without analysis, settings) and of the expectations."""
    inputs = {"investigation": investigation, "weight": about.weight, "test_config": about.test_config}
    return _digest(_canonical(inputs | _expected(about)))


def expectation_digest(about: Description) -> str:
    """Return the SHA-256 of the expectations, the scoring and, if there is one, the rubric of a judge."""
    return _digest(_canonical(_expected(about)))


def scenario_id(title: str) -> str:
    """Return the id of a scenario: its title in the characters of a stream id."""
    name = _not_id_char.sub("-", title.replace("/", "."))
    if len(name) <= STREAM_ID_CHARS_MAX:
        return name
    return f"{name[:_ID_CHARS_KEPT]}-{sha256_hex(name)[:_DIGEST_CHARS]}"


class _Folder(NamedTuple):
    """A folder that contains at least one of a scenario's files."""

    path: Path
    names: tuple[str, ...]


def _folders(root: Path, faults: list[FixtureFault]) -> Iterator[_Folder]:
    """Yield the folders with a scenario's files, ordered by name, without hidden folders and links to ancestors."""
    pending: list[tuple[Path, int, frozenset[tuple[int, int]]]] = [(root, 0, frozenset())]
    while pending:
        path, depth, ancestors = pending.pop()
        try:
            status = path.stat()
            if (status.st_dev, status.st_ino) in ancestors:
                continue
            with os.scandir(path) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError as error:
            faults.append(
                FixtureFault(str(path), None, f"cannot be read: {error.strerror}", "Name a folder that can be.")
            )
            continue
        entry_names = {entry.name for entry in entries}
        names = tuple(name for name in (*SCENARIO_FILES, INVESTIGATION_FILE) if name in entry_names)
        if names and depth > DEPTH_MAX:
            advice = f"Move it up, or name {path.parent.parent} as the suite's folder."
            faults.append(FixtureFault(str(path), None, "lies deeper than NAME/MODE/, and would be ignored", advice))
        elif names:
            yield _Folder(path, names)
        if depth > DEPTH_MAX or (names and depth in {0, DEPTH_MAX}):
            continue
        ancestors |= {(status.st_dev, status.st_ino)}
        inner = [entry for entry in entries if not entry.name.startswith(".") and _is_folder(entry)]
        pending += [(path / entry.name, depth + 1, ancestors) for entry in reversed(inner)]


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _load(folder: _Folder, root: Path, faults: list[FixtureFault], read: ReadFile) -> Scenario | None:
    descriptions = [name for name in folder.names if name in SCENARIO_FILES]
    fault_count = len(faults)
    if not descriptions:
        advice = "Add it, or take the investigation out."
        faults.append(
            FixtureFault(str(folder.path), None, f"has {INVESTIGATION_FILE} and no {SCENARIO_FILES[0]}", advice)
        )
    elif len(descriptions) > 1:
        faults.append(
            FixtureFault(str(folder.path), None, f"has both {' and '.join(descriptions)}", "Keep one of them.")
        )
    if INVESTIGATION_FILE not in folder.names:
        problem = f"has {descriptions[0]} and no {INVESTIGATION_FILE}" if descriptions else "has no files of a scenario"
        faults.append(FixtureFault(str(folder.path), None, problem, "Add the captured investigation."))
    text = about = body = investigation = captured = None
    if len(descriptions) == 1:
        path = folder.path / descriptions[0]
        text, about = _read_description(path, _reporter(path, faults), read)
    if INVESTIGATION_FILE in folder.names:
        path = folder.path / INVESTIGATION_FILE
        body, investigation, captured = _read_investigation(path, _reporter(path, faults), read)
    if len(faults) > fault_count:
        return None
    assert text is not None
    assert about is not None
    assert body is not None
    assert investigation is not None
    files = (_file(descriptions[0], text), _file(INVESTIGATION_FILE, body))
    return _scenario(folder.path, root, about, files, investigation, captured)


def _reporter(path: Path, faults: list[FixtureFault]) -> ReportFault:
    """Return a function that adds the faults of a file."""
    return lambda key, problem, advice: faults.append(FixtureFault(str(path), key or None, problem, advice))


def _file(name: str, body: bytes) -> ScenarioFile:
    return ScenarioFile(name, _digest(body), len(body))


def _scenario(
    folder: Path,
    root: Path,
    about: Description,
    files: tuple[ScenarioFile, ScenarioFile],
    investigation: dict[str, Any],
    captured: dict[str, Any] | None,
) -> Scenario:
    relative = folder.relative_to(root).parts
    title = "/".join(relative) or folder.resolve().name
    return Scenario(
        id=scenario_id(title),
        title=title,
        folder=folder,
        mode=relative[-1] if len(relative) == DEPTH_MAX else None,
        about=about,
        investigation=investigation,
        captured=captured,
        fixture_digest=fixture_digest(about, investigation),
        expectation_digest=expectation_digest(about),
        investigation_digest=files[1].digest,
        files=files,
    )


def _non_default_scoring(scoring: Scoring) -> dict[str, object]:
    """Return the values that differ from the defaults, so that stating a default does not change the digest."""
    default = Scoring()
    values = {name: getattr(scoring, name) for name in Scoring.__struct_fields__}
    return {name: value for name, value in values.items() if value != getattr(default, name)}


def _expected(about: Description) -> dict[str, object]:
    expected: dict[str, object] = {
        "expected_outcomes": about.expected_outcomes,
        "scoring": _non_default_scoring(about.scoring),
    }
    return expected if about.judge is None else expected | {"judge": about.judge}


def _read_description(path: Path, report: ReportFault, read: ReadFile) -> tuple[bytes | None, Description | None]:
    """Return the bytes of a description, and its value."""
    body, value = _read_value(path, DESCRIPTION_BYTES_MAX, report, read)
    return body, None if body is None else check_scenario(value, report)


def _read_investigation(
    path: Path, report: ReportFault, read: ReadFile
) -> tuple[bytes | None, dict[str, Any] | None, dict[str, Any] | None]:
    """Return the bytes of an investigation, its value without the analysis, and its analysis."""
    body, value = _read_value(path, INVESTIGATION_BYTES_MAX, report, read)
    if body is None:
        return None, None, None
    if not isinstance(value, dict):
        report("", "is not a JSON object", "Write the captured investigation, with alert, evidence and the rest.")
        return None, None, None
    captured = check_analysis(value.pop("analysis", None), report)
    return body, value, captured


def _read_value(path: Path, bytes_max: int, report: ReportFault, read: ReadFile) -> tuple[bytes | None, object]:
    """Return the bytes and the value of a JSON or YAML file."""
    try:
        body = read(path, bytes_max)
        return body, json_value(body) if path.suffix == ".json" else yaml_value(body)
    except UnreadableFile as unreadable:
        report("", str(unreadable), unreadable.advice)
        return None, None


def _check_ids(scenarios: Sequence[Scenario], root: Path, faults: list[FixtureFault]) -> None:
    by_id: dict[str, Scenario] = {}
    for scenario in scenarios:
        first = by_id.setdefault(scenario.id, scenario)
        if first is not scenario:
            problem = f"has the id {scenario.id}, as {first.folder} has"
            faults.append(FixtureFault(str(scenario.folder), None, problem, "Rename one of the two folders."))


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()

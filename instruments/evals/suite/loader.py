"""A suite of scenarios from a folder: `NAME/` or `NAME/MODE/`, each with its two files.

Everything in it is read and checked before anything is scored, and all that is wrong is told at once. Digests are of
what files say, not of how: the order of keys, white space, line endings and whether it is YAML or JSON make no
difference. A number of an investigation or of `test_config` counts as it is written, since an agent is given it so:
1 and 1.0 are two; weights and thresholds are the same number either way.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from events.limits import STREAM_ID_CHARS_MAX
from instruments.evals.errors import BadFixtures, FixtureFault, NoScenarios
from instruments.evals.scenario import Description, Scenario, Scoring
from instruments.evals.suite.json_yaml import (
    DESCRIPTION_BYTES_MAX,
    INVESTIGATION_BYTES_MAX,
    json_value,
    read,
    yaml_value,
)
from instruments.evals.suite.validate_scenario import check_analysis, describe
from instruments.yaml_reader import UnreadableFile

SCENARIO_FILES = ("scenario.yaml", "scenario.yml", "scenario.json")
INVESTIGATION_FILE = "investigation.json"
DEPTH_MAX = 2
"""Folders between a suite and a scenario's files: its own, and that of its mode."""

_ID_CHARS_KEPT = 55
_unfit = re.compile(r"[^A-Za-z0-9._-]")
_canonical = msgspec.json.Encoder(order="sorted").encode


class Suite(msgspec.Struct, frozen=True):
    """Scenarios that are scored together."""

    name: str
    """The folder's."""
    root: Path
    scenarios: tuple[Scenario, ...]
    """In the order of their titles."""
    digest: str
    """SHA-256 of the ids and fixture digests, in their order."""


def load(root: Path) -> Suite:
    """Every scenario below a folder, or the one that it is. Errors: BadFixtures with every fault, NoScenarios."""
    faults: list[FixtureFault] = []
    found = [_load(folder, root, faults) for folder in _folders(root, faults)]
    scenarios = sorted((scenario for scenario in found if scenario is not None), key=lambda scenario: scenario.title)
    _check_ids(scenarios, root, faults)
    if faults:
        raise BadFixtures(faults)
    if not scenarios:
        advice = f"Name a folder with NAME/{SCENARIO_FILES[0]} and NAME/{INVESTIGATION_FILE}, or NAME/MODE/ with both."
        raise NoScenarios(FixtureFault(str(root), None, "holds no scenario", advice))
    return Suite(root.resolve().name, root, tuple(scenarios), suite_digest(scenarios))


def suite_digest(scenarios: Sequence[Scenario]) -> str:
    """SHA-256 of what the scenarios are and hold, whatever their order."""
    lines = sorted(f"{scenario.id} {scenario.fixture_digest}" for scenario in scenarios)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def fixture_digest(about: Description, investigation: dict[str, Any]) -> str:
    """SHA-256 of what is given, the investigation without its analysis, and of what is expected of the answer."""
    given = {"investigation": investigation, "weight": about.weight, "test_config": about.test_config}
    return _digest(_canonical(given | _expected(about)))


def expectation_digest(about: Description) -> str:
    """SHA-256 of what is expected, and of how it is scored."""
    return _digest(_canonical(_expected(about)))


def scenario_id(title: str) -> str:
    """The id of a scenario: its title as a stream may be named."""
    name = _unfit.sub("-", title.replace("/", "."))
    if len(name) <= STREAM_ID_CHARS_MAX:
        return name
    return f"{name[:_ID_CHARS_KEPT]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


class _Folder(NamedTuple):
    """A folder with at least one of a scenario's files."""

    path: Path
    names: tuple[str, ...]


def _folders(root: Path, faults: list[FixtureFault]) -> Iterator[_Folder]:
    """Folders with a scenario's files, in the order of their names; hidden ones and their ancestors are not entered."""
    waiting: list[tuple[Path, int, frozenset[tuple[int, int]]]] = [(root, 0, frozenset())]
    while waiting:
        path, depth, above = waiting.pop()
        try:
            status = path.stat()
            if (status.st_dev, status.st_ino) in above:
                continue
            with os.scandir(path) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            faults.append(
                FixtureFault(str(path), None, f"cannot be read: {error.strerror}", "Name a folder that can be.")
            )
            continue
        named = {entry.name for entry in entries}
        names = tuple(name for name in (*SCENARIO_FILES, INVESTIGATION_FILE) if name in named)
        if names and depth > DEPTH_MAX:
            advice = f"Move it up, or name {path.parent.parent} as the suite's folder."
            faults.append(
                FixtureFault(str(path), None, "lies deeper than NAME/MODE/, and would be passed over", advice)
            )
        elif names:
            yield _Folder(path, names)
        if depth > DEPTH_MAX or (names and depth in {0, DEPTH_MAX}):
            continue
        above |= {(status.st_dev, status.st_ino)}
        inner = [entry for entry in entries if not entry.name.startswith(".") and _is_folder(entry)]
        waiting += [(path / entry.name, depth + 1, above) for entry in reversed(inner)]


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _load(folder: _Folder, root: Path, faults: list[FixtureFault]) -> Scenario | None:
    descriptions = [name for name in folder.names if name in SCENARIO_FILES]
    before = len(faults)
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
        what = f"has {descriptions[0]} and no {INVESTIGATION_FILE}" if descriptions else "has no files of a scenario"
        faults.append(FixtureFault(str(folder.path), None, what, "Add the captured investigation."))
    about = _describe(folder.path / descriptions[0], faults) if len(descriptions) == 1 else None
    body = investigation = captured = None
    if INVESTIGATION_FILE in folder.names:
        body, investigation, captured = _investigate(folder.path / INVESTIGATION_FILE, faults)
    if len(faults) > before:
        return None
    assert about is not None
    assert body is not None
    assert investigation is not None
    return _scenario(folder.path, root, about, body, investigation, captured)


def _scenario(
    folder: Path,
    root: Path,
    about: Description,
    body: bytes,
    investigation: dict[str, Any],
    captured: dict[str, Any] | None,
) -> Scenario:
    below = folder.relative_to(root).parts
    title = "/".join(below) or folder.resolve().name
    return Scenario(
        id=scenario_id(title),
        title=title,
        folder=folder,
        mode=below[-1] if len(below) == DEPTH_MAX else None,
        about=about,
        investigation=investigation,
        captured=captured,
        fixture_digest=fixture_digest(about, investigation),
        expectation_digest=expectation_digest(about),
        investigation_digest=_digest(body),
    )


def _stated(scoring: Scoring) -> dict[str, float]:
    """What differs from the defaults: writing them out changes nothing."""
    default = Scoring()
    values = {name: getattr(scoring, name) for name in Scoring.__struct_fields__}
    return {name: value for name, value in values.items() if value != getattr(default, name)}


def _expected(about: Description) -> dict[str, object]:
    return {"expected_outcomes": about.expected_outcomes, "scoring": _stated(about.scoring)}


def _describe(path: Path, faults: list[FixtureFault]) -> Description | None:
    def tell(key: str, what: str, advice: str) -> None:
        faults.append(FixtureFault(str(path), key or None, what, advice))

    try:
        body = read(path, DESCRIPTION_BYTES_MAX)
        value = json_value(body) if path.suffix == ".json" else yaml_value(body)
    except UnreadableFile as unreadable:
        tell("", str(unreadable), unreadable.advice)
        return None
    return describe(value, tell)


def _investigate(
    path: Path, faults: list[FixtureFault]
) -> tuple[bytes | None, dict[str, Any] | None, dict[str, Any] | None]:
    """The bytes of an investigation, what it says without its analysis, and its analysis."""

    def tell(key: str, what: str, advice: str) -> None:
        faults.append(FixtureFault(str(path), key or None, what, advice))

    try:
        body = read(path, INVESTIGATION_BYTES_MAX)
        value = json_value(body)
    except UnreadableFile as unreadable:
        tell("", str(unreadable), unreadable.advice)
        return None, None, None
    if not isinstance(value, dict):
        tell("", "is no JSON object", "Write the captured investigation, with alert, evidence and the rest.")
        return None, None, None
    captured = check_analysis(value.pop("analysis", None), tell)
    return body, value, captured


def _check_ids(scenarios: Sequence[Scenario], root: Path, faults: list[FixtureFault]) -> None:
    first: dict[str, Scenario] = {}
    for scenario in scenarios:
        other = first.setdefault(scenario.id, scenario)
        if other is not scenario:
            what = f"has the id {scenario.id}, as {other.folder} has"
            faults.append(FixtureFault(str(scenario.folder), None, what, "Rename one of the two folders."))


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()

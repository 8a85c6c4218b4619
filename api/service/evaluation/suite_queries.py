"""Queries of suite versions that runs kept: list them, show one, one scenario of it, and one of its files."""

from collections.abc import Sequence
from functools import partial
from itertools import groupby

import msgspec
from msgspec import UNSET, structs

from api.principal import Principal
from api.service.evaluation.kept_suite import (
    EvidenceState,
    FilesState,
    KeptFile,
    KeptVersion,
    find_version,
    read_version,
    read_versions,
    require_kept,
)
from api.service.ledger import View
from api.service.operation import Link, operation
from api.service.run_params import KeptFileQuery, KeptScenarioQuery, SuiteVersionQuery, SuiteVersionsQuery
from api.service.store import LocalStore
from api.service.unknown_names import UnknownNames, find_unknown_names
from instruments.evals.suite.json_yaml_reader import json_value, yaml_value
from instruments.evals.suite.loader import INVESTIGATION_FILE, scenario_id
from instruments.yaml_reader import UnreadableFile
from ledger.errors import Damaged, Gone, NotFound
from ledger.threads import run_on_thread
from projections.evaluation.evaluation_index import EvaluationIndex
from projections.evaluation.suite_versions import SuiteVersion, build_suite_versions
from projections.evidence_index import EvidenceIndex
from tallystick.shapes.parts import AsOf

PATHS_SHOWN = 20
"""An error about an unknown scenario or file lists no more than this."""


class SuiteVersionEntry(SuiteVersion, frozen=True, kw_only=True, omit_defaults=True):
    """A suite version and its files: how many the list `files_digest` names, and how many of them are stored.

    `state` says whether the files are there: `stored`, `incomplete`, or `not_kept`. The list itself may be `erased`,
    `missing` (its bytes are not here), or `unusable` (it is other data).
    """

    state: FilesState
    files_digest: str | None = None
    files: int = 0
    files_stored: int = 0


class SuiteVersionPage(msgspec.Struct, frozen=True, kw_only=True):
    """Suite versions; `next` is the offset of the next page, None on the last."""

    versions: list[SuiteVersionEntry]
    total: int
    next: int | None
    as_of: AsOf
    unknown_names: UnknownNames = UNSET


class KeptScenario(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A scenario of a suite version: its texts, as its description states them, and its files.

    `fault` says why the description cannot be read.
    """

    scenario_id: str
    title: str
    name: str | None = None
    family: str | None = None
    failure_type: str | None = None
    description: str | None = None
    fault: str | None = None
    files: tuple[KeptFile, ...]


class SuiteVersionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A suite version, and a page of its scenarios by title; `next` is the offset of the next page."""

    version: SuiteVersionEntry
    scenarios: list[KeptScenario]
    total: int
    next: int | None
    as_of: AsOf


class KeptFileText(KeptFile, frozen=True, kw_only=True, omit_defaults=True):
    """A file with its text; without one if it is not stored, damaged, or not UTF-8."""

    text: str | None = None


class KeptScenarioAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario of a suite version, with its files as they were. `expected` are the expectations as JSON."""

    version: SuiteVersionEntry
    scenario: KeptScenario
    files: list[KeptFileText]
    expected: object = None
    as_of: AsOf


@operation(
    "/suites",
    "suites",
    heavy=True,
    links={"version": Link("get_suite_version", "version", "$response.body#/versions/0/suite_digest")},
)
async def get_suite_versions(view: View, params: SuiteVersionsQuery, caller: Principal) -> SuiteVersionPage:
    """List the versions of suites that runs used, the last used first, and whether their files are stored."""
    projection, position = await view.at(EvaluationIndex)
    runs, names = projection.runs(), projection.names()
    versions = await run_on_thread(build_suite_versions, runs, params.suite)
    listed = versions[params.offset : params.offset + params.limit]
    kept = await read_versions(LocalStore(view, caller), listed, partial(_read_states, view))
    after, total = params.offset + len(listed), len(versions)
    return SuiteVersionPage(
        versions=list(map(describe, kept)),
        total=total,
        next=after if after < total else None,
        as_of=await view.dated(position),
        unknown_names=UNSET if total else find_unknown_names({"suite": params.suite}, names),
    )


@operation("/suites/{version}", "suites", heavy=True, errors=(404, 422))
async def get_suite_version(view: View, params: SuiteVersionQuery, caller: Principal) -> SuiteVersionAnswer:
    """Return a suite version with its scenarios and files. Without kept files, it has no scenarios here."""
    kept, as_of_now = await find_kept(view, caller, params.version)
    by_title = files_by_title(kept.files)
    listed = by_title[params.offset : params.offset + params.limit]
    store = LocalStore(view, caller)
    after = params.offset + len(listed)
    return SuiteVersionAnswer(
        version=describe(kept),
        scenarios=[(await _read_scenario(store, title, files))[0] for title, files in listed],
        total=len(by_title),
        next=after if after < len(by_title) else None,
        as_of=as_of_now,
    )


@operation("/suites/{version}/scenarios/{scenario_id}", "suites", heavy=True, errors=(404, 410, 422))
async def get_kept_scenario(view: View, params: KeptScenarioQuery, caller: Principal) -> KeptScenarioAnswer:
    """Return one scenario of a suite version, with its files as they were when a run kept them."""
    scenario = params.scenario_id
    kept, as_of_now = await find_kept(view, caller, params.version)
    require_kept(kept, params.version)
    by_title = files_by_title(kept.files)
    found = next((each for each in by_title if scenario in (each[0], scenario_id(each[0]))), None)
    if found is None:
        titles = [scenario_id(title) for title, _ in by_title]
        raise NotFound(f"{scenario} is not in this suite version.", f"Its scenarios: {_listed(titles)}")
    title, files = found
    store = LocalStore(view, caller)
    about, value = await _read_scenario(store, title, files)
    texts = []
    for file in files:
        data = await read_stored(store, file)
        texts.append(KeptFileText(**structs.asdict(file), text=None if data is None else _decode(data)))
    expected = value.get("expected_outcomes") if isinstance(value, dict) else None
    return KeptScenarioAnswer(version=describe(kept), scenario=about, files=texts, expected=expected, as_of=as_of_now)


@operation("/suites/{version}/file", "suites", errors=(404, 410, 422))
async def get_suite_file(view: View, params: KeptFileQuery, caller: Principal) -> bytes:
    """Verify and return the bytes of a file of a suite version, as an attachment that no browser executes."""
    kept, _ = await find_kept(view, caller, params.version)
    require_kept(kept, params.version)
    for file in kept.files:
        if file.path == params.path:
            return (await view.evidence.get(file.digest, caller)).data
    paths = [file.path for file in kept.files]
    raise NotFound(f"{params.path!r} is not a file of this suite version.", f"Its files: {_listed(paths)}")


async def find_kept(view: View, caller: Principal, name: str) -> tuple[KeptVersion, AsOf]:
    """Return a suite version with its files, and the position of the answer. Errors: NotFound, BadFixtures."""
    projection, position = await view.at(EvaluationIndex)
    version = await run_on_thread(find_version, projection.runs(), name)
    kept = await read_version(LocalStore(view, caller), version, partial(_read_states, view))
    return kept, await view.dated(position)


async def _read_states(view: View, digests: Sequence[str]) -> dict[str, EvidenceState]:
    """Return the state of each digest now, since erased bytes are gone in views of the past too."""
    index, _ = await view.at(EvidenceIndex)
    states: dict[str, EvidenceState] = {}
    for digest in digests:
        entry = index.find(digest)
        if entry is not None and entry.erased is not None:
            states[digest] = EvidenceState("erased", None, entry.erased.reason)
        elif entry is not None:
            states[digest] = EvidenceState("stored", entry.size_bytes, None)
    return states


def describe(kept: KeptVersion) -> SuiteVersionEntry:
    """Return a version with the state of its files."""
    fields = structs.asdict(kept.version)
    if kept.files:
        fields["scenarios"] = len(files_by_title(kept.files))
    return SuiteVersionEntry(
        **fields,
        state=kept.state,
        files_digest=kept.files_digest,
        files=len(kept.files),
        files_stored=sum(file.state == "stored" for file in kept.files),
    )


def files_by_title(files: Sequence[KeptFile]) -> list[tuple[str, tuple[KeptFile, ...]]]:
    """Return the files of each scenario, by its title, sorted; the description first."""
    ordered = sorted(files, key=lambda file: (_title_of(file), file.path.endswith(f"/{INVESTIGATION_FILE}")))
    return [(title, tuple(of_title)) for title, of_title in groupby(ordered, key=_title_of)]


def _title_of(file: KeptFile) -> str:
    return file.path.rpartition("/")[0]


async def _read_scenario(store: LocalStore, title: str, files: Sequence[KeptFile]) -> tuple[KeptScenario, object]:
    """Return a scenario with its texts, and the value of its description."""
    value: object = None
    fault: str | None = "it has no description"
    for file in files:
        if not file.path.endswith(f"/{INVESTIGATION_FILE}"):
            value, fault = await _read_value(store, file)
    texts = {}
    if isinstance(value, dict):
        names = ("name", "family", "failure_type", "description")
        texts = {name: text for name in names if isinstance(text := value.get(name), str)}
    return KeptScenario(scenario_id=scenario_id(title), title=title, files=tuple(files), fault=fault, **texts), value


async def _read_value(store: LocalStore, file: KeptFile) -> tuple[object, str | None]:
    """Return the value of a JSON or YAML file, or why it cannot be read."""
    data = await read_stored(store, file)
    if data is None:
        return None, f"{file.path} is {file.state if file.state != 'stored' else 'damaged'}"
    try:
        return await run_on_thread(json_value if file.path.endswith(".json") else yaml_value, data), None
    except UnreadableFile as error:
        return None, f"{file.path} {error}"


async def read_stored(store: LocalStore, file: KeptFile) -> bytes | None:
    """Return the bytes of a file; None if they cannot be read."""
    if file.state != "stored":
        return None
    try:
        return (await store.evidence(file.digest)).data
    except (Gone, NotFound, Damaged):
        return None  # its digest is shown; a request for the file reports why


def _decode(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - PATHS_SHOWN} more" if len(names) > PATHS_SHOWN else ""
    return f"{', '.join(names[:PATHS_SHOWN]) or 'none'}{more}."

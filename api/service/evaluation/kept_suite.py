"""Read versions of suites that runs kept as evidence: which there are, which files they have, and the files.

A version is named by a run, by the suite's digest or that of its list of files, or by a unique beginning of any.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import structs

from api.service.evaluation.suite_files import read_evidence_states
from api.service.store import EventStore
from events.errors import TallystickError
from events.evaluation import EvalStarted
from events.evidence import EvidenceStored
from events.registry import VOCABULARY
from instruments.errors import BadFixtures
from instruments.evals.suite.loader import Suite, load_files
from instruments.evals.suite.manifest import decode_manifest
from instruments.evals.suite.suite_folder import check_empty, new_suite_folder, write_suite_file
from ledger.clock import microseconds
from ledger.errors import Damaged, Gone, InvalidQuery, NotFound
from ledger.threads import run_on_thread
from projections.evaluation.score_context import RunSpan
from projections.evaluation.suite_versions import SuiteVersion, build_suite_versions

PATHS_SHOWN = 5
"""The most files that a message names."""

SEE_LIST = "See the versions: tallystick eval suite list."

FileState = Literal["stored", "erased", "missing"]
FilesState = Literal["stored", "incomplete", "erased", "missing", "unusable", "not_kept"]
_PREFERRED: Sequence[FilesState] = ("stored", "incomplete", "erased", "missing", "unusable")
"""Of several lists of files, that with the first of these states is used."""

_types = VOCABULARY.names_of(EvalStarted)


class KeptFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of a suite version. `erased`: its bytes were erased, for `reason`. `missing`: the ledger has no event."""

    path: str
    digest: str
    state: FileState
    size_bytes: int | None = None
    reason: str | None = None


class KeptVersion(NamedTuple):
    """A version with one list of its files: the first that is complete, otherwise that of the last begun run.

    `state` is `not_kept` if no run kept the files, and `incomplete` if some files are not there. The list itself may be
    `erased`, `missing` (never stored here, or its bytes are lost) or `unusable` (other data); `problem` then says why.
    """

    version: SuiteVersion
    state: FilesState
    files_digest: str | None = None
    files: tuple[KeptFile, ...] = ()
    problem: TallystickError | None = None


class EvidenceState(NamedTuple):
    """What the log says about the bytes of a digest: their size, or that they were erased and why."""

    state: FileState
    size_bytes: int | None
    reason: str | None


ReadStates = Callable[[Sequence[str]], Awaitable[Mapping[str, EvidenceState]]]
"""Returns the state of each digest that the log knows."""


async def read_run_starts(store: EventStore) -> list[RunSpan]:
    """Return the starts of all runs. Errors: those of reading."""
    runs: list[RunSpan] = []
    async for page in store.pages(_types):
        runs += [
            RunSpan(fact.data.run_id, fact.data, microseconds(fact.moment), None, ())
            for fact in VOCABULARY.facts(page)
            if isinstance(fact.data, EvalStarted) and fact.data.run_id is not None
        ]
    return runs


def find_version(runs: Sequence[RunSpan], name: str) -> SuiteVersion:
    """Return the version that a run or a digest names; the files of that run come first. Errors: NotFound."""
    for run in runs:
        if run.run_id == name:
            return _version_of_run(runs, run)
    if not name:
        raise NotFound("A suite version has no empty name.", SEE_LIST)
    versions = {
        version.suite_digest: version
        for version in reversed(build_suite_versions(runs))
        if any(digest.startswith(name) for digest in (version.suite_digest, *version.files_digests))
    }
    started = [run for run in runs if run.run_id.startswith(name) and run.started.baseline is None]
    if len(versions) + len(started) > 1:
        raise NotFound(f"{name} begins more than one suite version or run.", f"Give more of it. {SEE_LIST}")
    if started:
        return _version_of_run(runs, started[0])
    if not versions:
        raise NotFound(f"There is no run and no suite version {name}.", SEE_LIST)
    (version,) = versions.values()
    return version if len(name) < len(version.suite_digest) else _prefer(version, name)


def _version_of_run(runs: Sequence[RunSpan], run: RunSpan) -> SuiteVersion:
    started = run.started
    for version in build_suite_versions(runs, started.suite):
        if version.suite_digest == started.suite_digest:
            return _prefer(version, started.suite_files_digest)
    raise NotFound(
        f"Run {run.run_id} does not state the version of its suite.", f"Name another run or a version. {SEE_LIST}"
    )


def _prefer(version: SuiteVersion, files_digest: str | None) -> SuiteVersion:
    """Return a version with this list of files first."""
    if files_digest is None or files_digest not in version.files_digests:
        return version
    return structs.replace(version, files_digests=tuple(dict.fromkeys((files_digest, *version.files_digests))))


async def read_versions(
    store: EventStore, versions: Sequence[SuiteVersion], read_states: ReadStates
) -> list[KeptVersion]:
    """Return versions with their files. Errors: those of reading; a list that cannot be used is in `problem`."""
    lists: dict[str, dict[str, str] | TallystickError] = {}
    for digest in dict.fromkeys(digest for version in versions for digest in version.files_digests):
        try:
            data = (await store.evidence(digest)).data
            lists[digest] = await run_on_thread(decode_manifest, data)
        except (Gone, NotFound, Damaged, BadFixtures) as error:
            lists[digest] = error
    named = {digest for files in lists.values() if isinstance(files, dict) for digest in files.values()}
    states = await read_states(sorted(named))
    return [_kept_version(version, lists, states) for version in versions]


def _kept_version(
    version: SuiteVersion,
    lists: Mapping[str, Mapping[str, str] | TallystickError],
    states: Mapping[str, EvidenceState],
) -> KeptVersion:
    kept = [_kept_list(version, digest, lists[digest], states) for digest in version.files_digests]
    kept.sort(key=lambda each: _PREFERRED.index(each.state))  # stable: of equal ones, that of the last begun run
    return kept[0] if kept else KeptVersion(version=version, state="not_kept")


def _kept_list(
    version: SuiteVersion,
    digest: str,
    listed: Mapping[str, str] | TallystickError,
    states: Mapping[str, EvidenceState],
) -> KeptVersion:
    if isinstance(listed, TallystickError):
        unusable: FilesState = "unusable" if isinstance(listed, BadFixtures) else "missing"
        state = "erased" if isinstance(listed, Gone) else unusable
        return KeptVersion(version=version, state=state, files_digest=digest, problem=listed)
    files = tuple(_kept_file(path, each, states.get(each)) for path, each in listed.items())
    complete = all(file.state == "stored" for file in files)
    return KeptVersion(version=version, state="stored" if complete else "incomplete", files_digest=digest, files=files)


def _kept_file(path: str, digest: str, last: EvidenceState | None) -> KeptFile:
    if last is None:
        return KeptFile(path=path, digest=digest, state="missing")
    return KeptFile(path=path, digest=digest, state=last.state, size_bytes=last.size_bytes, reason=last.reason)


async def read_stored_states(store: EventStore, digests: Sequence[str]) -> dict[str, EvidenceState]:
    """Return the state of each digest that the log knows. Errors: those of reading."""
    return {
        digest: EvidenceState("stored", data.size_bytes, None)
        if isinstance(data, EvidenceStored)
        else EvidenceState("erased", None, data.reason)
        for digest, data in (await read_evidence_states(store, digests)).items()
    }


async def read_version(store: EventStore, version: SuiteVersion, read_states: ReadStates) -> KeptVersion:
    """Return a version with its files. Errors: BadFixtures, for a list that is other data; those of reading."""
    (kept,) = await read_versions(store, [version], read_states)
    if kept.state == "unusable" and kept.problem is not None:
        raise kept.problem
    return kept


async def find_complete(store: EventStore, name: str) -> KeptVersion:
    """Return a version of which every file is stored. Errors: NotFound, Gone, BadFixtures; those of reading."""
    version = find_version(await read_run_starts(store), name)
    kept = await read_version(store, version, partial(read_stored_states, store))
    require_kept(kept, name)
    gone = [file for file in kept.files if file.state != "stored"]
    if gone:
        named = ", ".join(f"{file.path} ({file.reason or file.state})" for file in gone[:PATHS_SHOWN])
        more = f" and {len(gone) - PATHS_SHOWN} more" if len(gone) > PATHS_SHOWN else ""
        raise Gone(
            f"{len(gone):,} of {len(kept.files):,} files of this suite version are not in the ledger any more: "
            f"{named}{more}.",
            f"tallystick eval suite show {name} shows the others.",
            written=False,
        )
    return kept


def require_kept(kept: KeptVersion, name: str) -> None:
    """Check that the list of a version's files is there. Errors: NotFound, Gone, Damaged."""
    version = kept.version
    if kept.state == "not_kept":
        raise NotFound(
            f"No run kept the files of this version of {version.suite}: {name} was recorded by an older version of "
            "Tallystick, or with --no-keep-files.",
            "Run its folder once with eval run: it keeps the files, also for older runs of the same digest.",
        )
    if kept.state == "missing" and kept.problem is not None:
        raise kept.problem
    if kept.state == "erased":
        raise Gone(f"The list of the files of this version of {version.suite} was erased.", "It cannot be restored.")


async def load_kept_suite(store: EventStore, name: str, warn: Callable[[str], None]) -> Suite:
    """Load the suite of a run or version from the ledger alone; warn if its scores cannot be compared.

    Errors: NotFound; Gone, for erased files; Damaged; BadFixtures, for files that cannot be scored.
    """
    kept = await find_complete(store, name)
    bodies: dict[str, bytes] = {}
    for file in kept.files:
        if file.digest not in bodies:
            bodies[file.digest] = (await store.evidence(file.digest)).data
    suite = load_files(kept.version.suite, {file.path: bodies[file.digest] for file in kept.files})
    if suite.digest != kept.version.suite_digest:
        warn("warning: this version of Tallystick reads these files differently; do not compare the scores.")
    return suite


async def save_suite(store: EventStore, name: str, folder: Path) -> KeptVersion:
    """Write the files of a version into a new folder, byte for byte, all or none.

    Errors: FixtureExists, for a folder that is not empty; OSError; and those of `load_kept_suite`. Nothing is left.
    """
    try:
        check_empty(folder)
        kept = await find_complete(store, name)
        with new_suite_folder(folder) as staged:
            for file in kept.files:
                write_suite_file(staged, file.path, (await store.evidence(file.digest)).data)
    except OSError as error:
        raise InvalidQuery(
            "to", f"{folder} cannot be written: {error.strerror or error}.", "Name another folder.", written=False
        ) from None
    return kept

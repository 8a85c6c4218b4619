"""Compare two suite versions that runs kept: which scenarios were added, removed and changed, and what in them."""

from collections.abc import Mapping
from itertools import islice
from pathlib import PurePath

import msgspec

from api.principal import Principal
from api.service.evaluation.kept_suite import KeptFile, KeptVersion, require_kept
from api.service.evaluation.suite_queries import (
    SuiteVersionEntry,
    describe,
    files_by_title,
    find_kept,
    read_stored,
)
from api.service.ledger import View
from api.service.operation import operation
from api.service.run_params import SuiteComparisonQuery
from api.service.store import LocalStore
from instruments.errors import BadFixtures
from instruments.evals.suite.changed_keys import changed_keys
from instruments.evals.suite.json_yaml_reader import json_value, yaml_value
from instruments.evals.suite.loader import INVESTIGATION_FILE, load_files, scenario_id
from instruments.yaml_reader import UnreadableFile
from ledger.threads import run_on_thread
from tallystick.shapes.parts import AsOf

KEYS_MAX = 20
"""The most keys that are named for one file."""

Files = Mapping[str, KeptFile]


class ChangedScenario(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A scenario whose files differ. `changes` are `FILE: KEY`; FILE alone if only its format differs.

    `scored` tells whether its input, its expectations, its scoring or its weight differ, so that its scores cannot be
    compared; None if a file of it cannot be read.
    """

    scenario_id: str
    title: str
    scored: bool | None
    changes: tuple[str, ...]


class SuiteComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two suite versions. `added` and `removed` are titles of scenarios; `unchanged` have the same files."""

    baseline: SuiteVersionEntry
    candidate: SuiteVersionEntry
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[ChangedScenario, ...]
    unchanged: int
    as_of: AsOf


@operation("/suites/compare", "suites", heavy=True, errors=(404, 410, 422))
async def get_suite_comparison(view: View, params: SuiteComparisonQuery, caller: Principal) -> SuiteComparison:
    """Compare two suite versions by scenario, to tell whether the suite changed or the agent."""
    before, _ = await find_kept(view, caller, params.baseline)
    after, as_of_now = await find_kept(view, caller, params.candidate)
    require_kept(before, params.baseline)
    require_kept(after, params.candidate)
    old, new = _files_of(before), _files_of(after)
    changed = [
        await _compare_scenario(LocalStore(view, caller), title, old[title], new[title])
        for title in sorted(old.keys() & new.keys())
        if _digests(old[title]) != _digests(new[title])
    ]
    return SuiteComparison(
        baseline=describe(before),
        candidate=describe(after),
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(changed),
        unchanged=len(old.keys() & new.keys()) - len(changed),
        as_of=as_of_now,
    )


def _files_of(kept: KeptVersion) -> dict[str, Files]:
    """Return the files of each scenario, by its title and by their names."""
    return {title: {PurePath(file.path).name: file for file in files} for title, files in files_by_title(kept.files)}


def _digests(files: Files) -> dict[str, str]:
    return {name: file.digest for name, file in files.items()}


async def _compare_scenario(store: LocalStore, title: str, before: Files, after: Files) -> ChangedScenario:
    old, new = [{name: await read_stored(store, file) for name, file in files.items()} for files in (before, after)]
    return await run_on_thread(_changed_scenario, title, old, new)


def _changed_scenario(
    title: str, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
) -> ChangedScenario:
    digests = [_fixture_digest(title, bodies) for bodies in (before, after)]
    changes: list[str] = []
    for label in ("scenario", "investigation"):
        old, new = (_find(bodies, investigation=label == "investigation") for bodies in (before, after))
        if old is None or new is None:
            changes.append(f"{label}: not readable any more")
        elif old != new:
            changes += _describe_file(label, old, new)
    return ChangedScenario(
        scenario_id=scenario_id(title),
        title=title,
        scored=None if None in digests else digests[0] != digests[1],
        changes=tuple(changes),
    )


def _find(bodies: Mapping[str, bytes | None], *, investigation: bool) -> tuple[str, bytes] | None:
    """Return the name and the bytes of the investigation, or of the description; None if it cannot be read."""
    found = ((name, data) for name, data in bodies.items() if (name == INVESTIGATION_FILE) == investigation)
    return next(((name, data) for name, data in found if data is not None), None)


def _describe_file(label: str, old: tuple[str, bytes], new: tuple[str, bytes]) -> list[str]:
    try:
        values = [json_value(data) if name.endswith(".json") else yaml_value(data) for name, data in (old, new)]
    except UnreadableFile:
        return [label]
    keys = list(islice(changed_keys(values[0], values[1]), KEYS_MAX + 1))
    named = [f"{label}: {key}" for key in keys[:KEYS_MAX]]
    return [*named, *([f"{label}: more keys"] if len(keys) > KEYS_MAX else [])] or [f"{label}: only its format"]


def _fixture_digest(title: str, bodies: Mapping[str, bytes | None]) -> str | None:
    """Return the digest of what is scored; None if a file is missing, or refused by this version of the loader."""
    files = {f"{title}/{name}": data for name, data in bodies.items() if data is not None}
    if len(files) < len(bodies):
        return None
    try:
        (scenario,) = load_files("", files).scenarios
    except BadFixtures:
        return None
    return scenario.fixture_digest

"""Capture an incident as a scenario: write its files, and record it as an event.

Everything that can be wrong is checked before anything is written: the folder, the ledger, the investigation, and
the scenario as it will be once edited. The recorded event describes the unedited template, which has no expectations
yet and so no digest of them; the edited scenario is recorded as a revision.
"""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal

import msgspec

from api.service.evaluation.scenarios import (
    ScenarioInfo,
    alert_fingerprint,
    build_scenario_info,
    record_batch,
)
from api.service.evidence import digest_of
from api.service.store import EventStore
from events.evaluation import EvalScenarioCaptured
from events.limits import EVIDENCE_BYTES_MAX
from instruments.evals import Description, scenario_id, write_scenario
from instruments.evals.capture.scenario_template import (
    ScenarioDetails,
    scenario_description,
    scenario_readme,
)
from instruments.evals.scenario import UNEDITED
from instruments.evals.suite.json_yaml import json_value
from instruments.evals.suite.loader import DEPTH_MAX, fixture_digest
from instruments.evals.suite.validate_scenario import check_analysis, check_scenario
from instruments.evals.suite.writer import FILES, check_free, json_text
from instruments.yaml_reader import UnreadableFile
from ledger.errors import InvalidQuery, TallystickError

MODES = frozenset({"llm", "no-llm"})
"""Folder names that mean a mode of the scenario above them, without --fixtures."""

OpenStore = Callable[[], AbstractAsyncContextManager[EventStore]]
"""Opens the ledger, in a file or through a server."""

_parts = ("alert", "evidence", "analysis")
_options = {
    "name": "scenario_name",
    "failure_type": "failure_type",
    "expected_outcomes.failure_mode.exact": "failure_type",
    "family": "family",
    "description": "description",
    "captured_by": "captured_by",
}


class CaptureFolder(msgspec.Struct, frozen=True):
    """The folder of a scenario, and its title in the suite: `job-image/llm`."""

    folder: Path
    title: str

    @property
    def id(self) -> str:
        return scenario_id(self.title)

    @property
    def mode(self) -> str | None:
        return self.title.partition("/")[2] or None


class CaptureResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A captured scenario: its folder, and its digests as recorded in the ledger."""

    scenario_id: str
    folder: str
    files: tuple[str, ...]
    recorded: Literal["captured", "revised", "unchanged"]
    source: str
    fixture_digest: str
    investigation_digest: str
    fingerprint: str | None = None


def resolve_folder(output: Path, fixtures: Path | None, *, force: bool) -> CaptureFolder:
    """Return the folder and title of a scenario below the suite's folder. Errors: InvalidQuery, FixtureExists."""
    folder = output.resolve()
    above = folder.parent.parent if folder.name in MODES else folder.parent
    root = above if fixtures is None else fixtures.resolve()
    parts = folder.relative_to(root).parts if folder.is_relative_to(root) else ()
    if not 1 <= len(parts) <= DEPTH_MAX:
        advice = "Write FIXTURES/NAME or FIXTURES/NAME/MODE, where --fixtures names the suite's folder."
        raise InvalidQuery("output", f"{output} is not a folder of a scenario in {root}.", advice)
    check_writable(folder)
    check_free(folder, force=force)
    return CaptureFolder(folder, "/".join(parts))


def read_investigation(file: str) -> dict[str, Any]:
    """Read the investigation in a file, or on standard input as `-`. Errors: InvalidQuery."""
    name = "standard input" if file == "-" else file
    try:
        with sys.stdin.buffer if file == "-" else Path(file).open("rb") as opened:
            body = opened.read(EVIDENCE_BYTES_MAX + 1)
        if len(body) > EVIDENCE_BYTES_MAX:
            raise UnreadableFile(f"is larger than {EVIDENCE_BYTES_MAX:,} bytes", "Leave out what no agent needs.")
        value = json_value(body)
    except UnreadableFile as unreadable:
        raise InvalidQuery("investigation", f"{name} {unreadable}.", unreadable.advice) from None
    except OSError as error:
        raise InvalidQuery("investigation", f"{name} cannot be read: {error.strerror}.", "Name another file.") from None
    return check_investigation("investigation", name, value)


def check_investigation(field: str, name: str, value: object) -> dict[str, Any]:
    """Return an investigation if it can be scored. Errors: InvalidQuery, naming the option that is wrong."""
    if not isinstance(value, dict):
        raise InvalidQuery(
            field, f"{name} is not a JSON object.", "Give an investigation, with alert, evidence and analysis."
        )
    if not any(isinstance(value.get(part), dict | list) for part in _parts):
        advice = "An investigation is an object with at least one of alert, evidence and analysis."
        raise InvalidQuery(field, f"{name} is not an investigation: it has none of {', '.join(_parts)}.", advice)
    faults: list[str] = []
    check_analysis(value.get("analysis"), lambda key, what, advice: faults.append(f"{key} {what}"))
    if faults:
        raise InvalidQuery(field, f"{name}: {faults[0]}.", "Correct it: a part that is scored has another type.")
    return value


def check_writable(folder: Path) -> None:
    """Refuse a path that is not a folder, or that cannot be created or written. Errors: InvalidQuery."""
    existing = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        code = errno.EACCES if existing.is_dir() else errno.ENOTDIR
        raise unwritable_error(folder, f"{existing}: {os.strerror(code)}")


def unwritable_error(folder: Path, why: str) -> InvalidQuery:
    """Return the error for a folder that cannot be written."""
    return InvalidQuery("output", f"{folder} cannot be written: {why}.", "Name another folder.")


async def check_ledger(opened: OpenStore, place: CaptureFolder) -> None:
    """Check that the ledger can be read before the investigation runs, which may itself write to it.

    Errors: those of `open_store` and `EventStore.streams`.
    """
    async with opened() as store:
        await store.streams([f"scenario/{place.id}"])


async def capture(
    opened: OpenStore, place: CaptureFolder, details: ScenarioDetails, investigation: dict[str, Any], *, force: bool
) -> CaptureResult:
    """Write the files, and record them.

    Errors: InvalidQuery, InvalidEvent, BodyTooLarge, FixtureExists: nothing was written; those of `opened` and
    `EventStore.append`, after which the files exist but the ledger does not contain the scenario.
    """
    description_data = scenario_description(details, investigation)
    _check_edited(description_data)
    account = _build_info(place, details, description_data, json_text(investigation).encode())
    try:
        write_scenario(
            place.folder, description_data, investigation, scenario_readme(details, investigation), force=force
        )
    except OSError as error:
        raise unwritable_error(place.folder, error.strerror or type(error).__name__) from None
    try:
        async with opened() as store:
            recorded = await record_batch(store, [account])
    except TallystickError as error:
        error.advice += f" The files are in {place.folder}; `tallystick eval run` records them once they are edited."
        raise
    event = account.event
    assert event.investigation_digest is not None
    return CaptureResult(
        scenario_id=place.id,
        folder=str(place.folder),
        files=tuple(sorted(FILES)),
        recorded="captured" if recorded.captured else "revised" if recorded.revised else "unchanged",
        source=details.source,
        fixture_digest=event.fixture_digest,
        investigation_digest=event.investigation_digest,
        fingerprint=event.fingerprint,
    )


def _build_info(
    place: CaptureFolder, details: ScenarioDetails, description_data: dict[str, Any], body: bytes
) -> ScenarioInfo:
    """Return the event of the template, checked. Errors: InvalidEvent, BodyTooLarge, InvalidQuery."""
    try:
        fixture = json_value(body)
    except UnreadableFile as unreadable:
        raise InvalidQuery("investigation", f"it {unreadable}.", unreadable.advice) from None
    assert isinstance(fixture, dict)
    fixture.pop("analysis", None)
    event = EvalScenarioCaptured(
        scenario_id=place.id,
        name=details.name,
        family=details.family,
        failure_type=details.failure_type,
        mode=place.mode,
        description=details.description,
        fixture_digest=fixture_digest(msgspec.convert(description_data, Description), fixture),
        investigation_digest=digest_of(body),
        source=details.source,
        fingerprint=alert_fingerprint(fixture),
        captured_at=description_data["captured_at"],
        captured_by=details.captured_by,
    )
    return build_scenario_info(place.title, event, body)


def _check_edited(description_data: dict[str, Any]) -> None:
    """Check that the scenario can be loaded once it is edited. Errors: InvalidQuery, naming the option."""

    def refuse(key: str, what: str, advice: str) -> None:
        raise InvalidQuery(_options.get(key, key), f"{what}.", advice)

    check_scenario(_fill_in(description_data), refuse)


def _fill_in(value: Any) -> Any:  # noqa: ANN401 - YAML
    """Return a template with text in place of each value that the user is to replace."""
    if isinstance(value, dict):
        return {name: _fill_in(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_fill_in(each) for each in value]
    return "edited" if isinstance(value, str) and value.startswith(UNEDITED) else value

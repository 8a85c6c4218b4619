"""Capture an incident as a scenario: write its files, and record it as an event.

All checks come before the first write: of the folder, the ledger, the investigation, and the scenario with placeholder
texts replaced. The recorded event describes the template before the user edits it: it has no expectations yet, and so
no digest of them. After editing, `record_scenarios` records the scenario as a revision.
"""

import errno
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal

import msgspec

from api.service.evaluation.scenario_recorder import (
    RecordedScenarios,
    ScenarioInfo,
    build_scenario_info,
    captured_event,
    record_batch,
)
from api.service.evidence import digest_of
from api.service.store import EventStore
from events.limits import EVIDENCE_BYTES_MAX
from instruments.evals.capture.scenario_template import (
    ScenarioDetails,
    fill_cluster,
    scenario_description,
    scenario_readme,
)
from instruments.evals.capture.url_credentials import redact_urls_within
from instruments.evals.scenario import UNEDITED, Description
from instruments.evals.suite.json_yaml_reader import json_value
from instruments.evals.suite.loader import DEPTH_MAX, fixture_digest, scenario_id
from instruments.evals.suite.scenario_checks import check_analysis, check_scenario
from instruments.evals.suite.writer import FILES, check_free, json_text, write_scenario
from instruments.yaml_reader import UnreadableFile
from ledger.errors import InvalidQuery, TallystickError
from ledger.regular_file import open_input

MODES = frozenset({"llm", "no-llm"})
"""Without --fixtures, a folder with one of these names is a mode of the scenario in the folder above it."""

OpenStore = Callable[[], AbstractAsyncContextManager[EventStore]]
"""Opens the ledger, in a file or through a server."""

_parts = ("alert", "evidence", "analysis")
_options = {"name": "scenario_name", "expected_outcomes.failure_mode.exact": "failure_type"}
"""The options of values whose keys have other names."""


class CaptureFolder(msgspec.Struct, frozen=True):
    """The folder of a scenario, and its title in the suite, as in `job-image/llm`."""

    folder: Path
    title: str

    @property
    def id(self) -> str:
        return scenario_id(self.title)

    @property
    def mode(self) -> str | None:
        return self.title.partition("/")[2] or None


class CaptureResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A captured scenario: its folder, and its digests in the ledger."""

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
    suite_folder = folder.parent.parent if folder.name in MODES else folder.parent
    root = suite_folder if fixtures is None else fixtures.resolve()
    parts = folder.relative_to(root).parts if folder.is_relative_to(root) else ()
    if not 1 <= len(parts) <= DEPTH_MAX:
        advice = "Write FIXTURES/NAME or FIXTURES/NAME/MODE, where --fixtures names the suite's folder."
        raise InvalidQuery("output", f"{output} is not a folder of a scenario in {root}.", advice)
    check_writable(folder)
    check_free(folder, force=force)
    return CaptureFolder(folder, "/".join(parts))


def read_investigation(file: str) -> dict[str, Any]:
    """Read an investigation from a file, or from standard input for `-`; its URLs lose their credentials.

    Errors: InvalidQuery.
    """
    label = "standard input" if file == "-" else file
    try:
        with open_input(file) as stream:
            body = stream.read(EVIDENCE_BYTES_MAX + 1)
        if len(body) > EVIDENCE_BYTES_MAX:
            raise UnreadableFile(f"is larger than {EVIDENCE_BYTES_MAX:,} bytes", "Leave out what no agent needs.")
        value = json_value(body)
    except UnreadableFile as error:
        raise InvalidQuery("investigation", f"{label} {error}.", error.advice) from None
    except OSError as error:
        raise InvalidQuery(
            "investigation", f"{label} cannot be read: {error.strerror}.", "Name another file."
        ) from None
    return fill_cluster(redact_urls_within(check_investigation("investigation", label, value)))


def check_investigation(field: str, label: str, value: object) -> dict[str, Any]:
    """Check that a value is an investigation that can be scored; return it. Errors: InvalidQuery, naming the field."""
    if not isinstance(value, dict):
        raise InvalidQuery(
            field, f"{label} is not a JSON object.", "Give an investigation, with alert, evidence and analysis."
        )
    if not any(isinstance(value.get(part), dict | list) for part in _parts):
        advice = "An investigation is an object with at least one of alert, evidence and analysis."
        raise InvalidQuery(field, f"{label} is not an investigation: it has none of {', '.join(_parts)}.", advice)
    faults: list[str] = []
    check_analysis(value.get("analysis"), lambda key, fault, advice: faults.append(f"{key} {fault}"))
    if faults:
        raise InvalidQuery(field, f"{label}: {faults[0]}.", "Correct it: a part that is scored has another type.")
    return value


def check_writable(folder: Path) -> None:
    """Check that a folder can be created or written. Errors: InvalidQuery."""
    existing = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        code = errno.EACCES if existing.is_dir() else errno.ENOTDIR
        raise unwritable_error(folder, f"{existing}: {os.strerror(code)}")


def unwritable_error(folder: Path, why: str) -> InvalidQuery:
    """Return the error for a folder that cannot be written."""
    return InvalidQuery("output", f"{folder} cannot be written: {why}.", "Name another folder.")


async def check_ledger(open_store: OpenStore, target: CaptureFolder) -> None:
    """Check that the ledger can be read. Callers do this first: the investigation itself may write to the ledger.

    Errors: those of `open_store` and `EventStore.streams`.
    """
    async with open_store() as store:
        await store.streams([f"scenario/{target.id}"])


async def capture(
    open_store: OpenStore,
    target: CaptureFolder,
    details: ScenarioDetails,
    investigation: dict[str, Any],
    *,
    force: bool,
) -> CaptureResult:
    """Write the files, and record them.

    Errors: InvalidQuery, InvalidEvent, BodyTooLarge, FixtureExists: nothing was written; those of `open_store` and
    `EventStore.append`, after which the files exist but the ledger does not contain the scenario.
    """
    description = scenario_description(details, investigation)
    _check_edited(description)
    info = _build_info(target, description, json_text(investigation).encode())
    try:
        write_scenario(target.folder, description, investigation, scenario_readme(details, investigation), force=force)
    except OSError as error:
        raise unwritable_error(target.folder, error.strerror or type(error).__name__) from None
    try:
        async with open_store() as store:
            recorded = await record_batch(store, [info])
    except TallystickError as error:
        error.written = True
        error.advice += f" The files are in {target.folder}; `tallystick eval run` records them once they are edited."
        raise
    event = info.event
    assert event.investigation_digest is not None
    return CaptureResult(
        scenario_id=target.id,
        folder=str(target.folder),
        files=tuple(sorted(FILES)),
        recorded=_change_of(recorded),
        source=details.source,
        fixture_digest=event.fixture_digest,
        investigation_digest=event.investigation_digest,
        fingerprint=event.fingerprint,
    )


def _change_of(recorded: RecordedScenarios) -> Literal["captured", "revised", "unchanged"]:
    """Return how the ledger changed by recording one scenario."""
    if recorded.captured:
        return "captured"
    return "revised" if recorded.revised else "unchanged"


def _build_info(target: CaptureFolder, description: dict[str, Any], body: bytes) -> ScenarioInfo:
    """Build and check the event of the template. Errors: InvalidEvent, BodyTooLarge, InvalidQuery."""
    try:
        fixture = json_value(body)
    except UnreadableFile as error:
        raise InvalidQuery("investigation", f"it {error}.", error.advice) from None
    assert isinstance(fixture, dict)
    fixture.pop("analysis", None)
    about = msgspec.convert(description, Description)
    event = captured_event(
        about,
        fixture,
        scenario_id=target.id,
        mode=target.mode,
        fixture_digest=fixture_digest(about, fixture),
        investigation_digest=digest_of(body),
    )
    return build_scenario_info(target.title, event, body)


def _check_edited(description: dict[str, Any]) -> None:
    """Check that the scenario can be loaded once it is edited. Errors: InvalidQuery, naming the option."""

    def refuse(key: str, fault: str, advice: str) -> None:
        raise InvalidQuery(_options.get(key, key), f"{fault}.", advice)

    check_scenario(_replace_placeholders(description), refuse)


def _replace_placeholders(value: Any) -> Any:  # noqa: ANN401 - YAML
    """Replace each placeholder of a template, at any depth, by a text."""
    if isinstance(value, dict):
        return {name: _replace_placeholders(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_replace_placeholders(each) for each in value]
    return "edited" if isinstance(value, str) and value.startswith(UNEDITED) else value

"""eval capture: an incident as a scenario, from a finished investigation or from a firing alert."""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import open_store
from api.cli.output import print_json, print_note
from api.cli.render.capture import print_alerts, print_captured, print_choice
from api.service.evaluation.capture import (
    CaptureFolder,
    OpenStore,
    check_investigation,
    check_ledger,
    read_investigation,
    resolve_folder,
)
from api.service.evaluation.capture import capture as capture_incident
from instruments.evals.capture.alertmanager import (
    Alertmanager,
    BadAlertmanager,
    FiringAlert,
    select_by_fingerprint,
    select_by_index,
)
from instruments.evals.capture.investigator import ADVICE, Investigator, NoInvestigation
from instruments.evals.capture.scenario_template import (
    ScenarioDetails,
    alert_description,
    alert_family,
    alert_labels,
    initial_investigation,
    parse_window_s,
    stated_failure,
)
from ledger.errors import InvalidQuery, NotFound

Output = Annotated[Path | None, typer.Option(help="The scenario's folder: FIXTURES/NAME or FIXTURES/NAME/MODE.")]
ScenarioName = Annotated[str | None, typer.Option(help="The scenario's name, for people.", metavar="TEXT")]
FailureType = Annotated[str | None, typer.Option(help="The failure in one word: ImagePullBackOff.", metavar="WORD")]
Investigation = Annotated[
    str | None, typer.Option(help="A finished investigation, JSON; - is standard input.", metavar="FILE|-")
]
AlertmanagerUrl = Annotated[
    str | None, typer.Option("--alertmanager", help="Capture an alert that is firing there.", metavar="URL")
]
AlertIndex = Annotated[
    int | None, typer.Option(help="The number of the alert, as --list shows it; 0 fires longest.", metavar="N")
]
Fingerprint = Annotated[
    str | None, typer.Option(help="The fingerprint of the alert, or an unambiguous beginning of it.", metavar="HEX")
]
Investigate = Annotated[
    str | None, typer.Option(help="A command: reads the alert on stdin, prints the investigation.", metavar="CMD")
]
ListAlerts = Annotated[bool, typer.Option("--list", help="List the firing alerts, and capture nothing.")]
Interactive = Annotated[bool, typer.Option("--interactive", help="Choose the alert from a list, and type the names.")]
Family = Annotated[str | None, typer.Option(help="The family of alerts; without it the alert's.", metavar="WORD")]
Description = Annotated[str | None, typer.Option(help="What happened; without it the alert's words.", metavar="TEXT")]
TimeWindow = Annotated[str, typer.Option(help="How far back to investigate.", metavar="TIME")]
Timeout = Annotated[float, typer.Option(min=0.001, help="Seconds for the investigation.", metavar="S")]
Fixtures = Annotated[
    Path | None, typer.Option(help="The suite's folder; without it the parent of --output.", metavar="DIR")
]
CapturedBy = Annotated[str | None, typer.Option(help="Who captures it; without it $USER.", metavar="NAME")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing scenario, with its expectations.")]


@verb(server=True)
def capture(
    target: LedgerTarget,
    *,
    output: Output = None,
    scenario_name: ScenarioName = None,
    failure_type: FailureType = None,
    investigation: Investigation = None,
    alertmanager: AlertmanagerUrl = None,
    alert_index: AlertIndex = None,
    fingerprint: Fingerprint = None,
    investigate: Investigate = None,
    show: ListAlerts = False,
    interactive: Interactive = False,
    family: Family = None,
    description: Description = None,
    time_window: TimeWindow = "1h",
    timeout: Timeout = 600.0,
    fixtures: Fixtures = None,
    captured_by: CapturedBy = None,
    force: Force = False,
) -> None:
    """Capture an incident as a scenario.

    The incident is a finished investigation, or a firing alert. Writes investigation.json, README.md and scenario.yaml,
    in which you then write what is expected, and records the scenario. --investigate names a command that reads the
    alert as JSON, with time_window and target, and prints the investigation; without it only the alert is captured.
    ALERTMANAGER_URL is the default of --alertmanager.

    Example: tallystick eval capture --output fixtures/image-pull --scenario-name 'Image pull' --failure-type
    ImagePullBackOff --investigation investigation.json

    Example: tallystick eval capture --alertmanager http://127.0.0.1:9093 --list

    Example: tallystick eval capture --output fixtures/image-pull --alertmanager http://127.0.0.1:9093 --interactive
    --investigate 'python agent.py'
    """
    options = CaptureOptions(
        output=output,
        fixtures=fixtures,
        force=force,
        investigation=investigation,
        alertmanager=alertmanager,
        investigate=investigate,
        index=alert_index,
        fingerprint=fingerprint,
        interactive=interactive,
        name=scenario_name,
        failure_type=failure_type,
        family=family,
        description=description,
        captured_by=captured_by,
        time_window=time_window,
        timeout_s=timeout,
    )
    if show:
        _list_alerts(options, as_json=target.json)
    else:
        _capture(options, target)


FETCH_S = 30.0
"""Seconds that an Alertmanager has to answer."""


class CaptureOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `eval capture`."""

    output: Path | None
    fixtures: Path | None
    force: bool
    investigation: str | None
    alertmanager: str | None
    investigate: str | None
    index: int | None
    fingerprint: str | None
    interactive: bool
    name: str | None
    failure_type: str | None
    family: str | None
    description: str | None
    captured_by: str | None
    time_window: str
    timeout_s: float


def _list_alerts(options: CaptureOptions, *, as_json: bool) -> None:
    address = _alertmanager_of(options, show=True)
    assert address is not None
    print_alerts(_fetch_alerts(address, options.timeout_s), address.name, as_json=as_json)


def _capture(options: CaptureOptions, target: LedgerTarget) -> None:
    """Capture the incident and print the result. Errors: those of `capture`; typer.Abort."""
    address = _alertmanager_of(options, show=False)
    if options.output is None:
        raise InvalidQuery("output", "is missing.", "Name the scenario's folder: --output fixtures/NAME.")
    place = resolve_folder(options.output, options.fixtures, force=options.force)
    if address is None:
        found, details = _read_investigation(options, place)
    else:
        trial = partial(open_store, target, writable=target.ledger.exists())
        found, details = _investigate(options, place, address, trial)
    done = asyncio.run(capture_incident(partial(open_store, target), place, details, found, force=options.force))
    if target.json:
        print_json(done)
    else:
        print_captured(done, place)


def _alertmanager_of(options: CaptureOptions, *, show: bool) -> Alertmanager | None:
    """Return the Alertmanager to query; None for a finished investigation. Errors: InvalidQuery."""
    investigation = options.investigation
    if investigation is not None:
        _check_alone(options, show=show)
    address = options.alertmanager or os.environ.get("ALERTMANAGER_URL")
    if investigation is None and not address:
        advice = "Give --investigation FILE, or --alertmanager URL with --alert-index, --fingerprint or --interactive."
        raise InvalidQuery("investigation", "is missing, and so is --alertmanager.", advice)
    if options.index is not None and options.fingerprint is not None:
        raise InvalidQuery("alert_index", "does not go with --fingerprint.", "Choose the alert by one of them.")
    if parse_window_s(options.time_window) is None:
        raise InvalidQuery("time_window", f"{options.time_window!r} is not a time span.", "Write 30m, 1h or 2d.")
    if investigation is not None or not address:
        return None
    if not (show or options.interactive or options.index is not None or options.fingerprint is not None):
        advice = "Give --alert-index, --fingerprint or --interactive; --list shows the alerts."
        raise InvalidQuery("alertmanager", "the alert to capture is missing.", advice)
    with _instrument_errors():
        return Alertmanager(address)


def _check_alone(options: CaptureOptions, *, show: bool) -> None:
    """Errors: InvalidQuery, for an option that does not go with --investigation."""
    others = {
        "alertmanager": options.alertmanager,
        "alert_index": options.index,
        "fingerprint": options.fingerprint,
        "investigate": options.investigate,
        "list": show or None,
    }
    for field, value in others.items():
        if value is not None:
            detail = "does not go with --investigation."
            raise InvalidQuery(field, detail, "Capture a finished investigation, or a firing alert.")
    if options.investigation == "-" and options.interactive:
        detail = "needs standard input, which is the investigation."
        raise InvalidQuery("interactive", detail, "Name the investigation's file.")


@contextmanager
def _instrument_errors() -> Iterator[None]:
    """Turn errors of instruments into InvalidQuery."""
    try:
        yield
    except BadAlertmanager as error:
        raise InvalidQuery(error.field, error.detail, f"{error.advice} Nothing was written.".lstrip()) from None
    except NoInvestigation as error:
        output = f"Its last lines:\n{error.last_lines}\n" if error.last_lines else ""
        raise InvalidQuery("investigate", error.detail, f"{output}{ADVICE} Nothing was written.") from None


def _fetch_alerts(address: Alertmanager, timeout_s: float) -> list[FiringAlert]:
    """Return the firing alerts. Errors: InvalidQuery."""
    with _instrument_errors():
        return asyncio.run(address.alerts(min(FETCH_S, timeout_s)))


def _read_investigation(options: CaptureOptions, place: CaptureFolder) -> tuple[dict[str, Any], ScenarioDetails]:
    """Return a finished investigation with its details. Errors: InvalidQuery, typer.Abort."""
    assert options.investigation is not None
    found = read_investigation(options.investigation)
    return found, _details(options, "investigation", *_names(options, place, found), found)


def _investigate(
    options: CaptureOptions, place: CaptureFolder, address: Alertmanager, trial: OpenStore
) -> tuple[dict[str, Any], ScenarioDetails]:
    """Return the investigation of an alert by the command, or only the alert, with its details.

    `trial` opens the ledger to see that it can be written, before the command runs. It creates none.
    Errors: InvalidQuery, typer.Abort.
    """
    with _instrument_errors():
        command = options.investigate
        investigator = None if command is None else Investigator(command, timeout_s=options.timeout_s)
    alert = _choose(options, _fetch_alerts(address, options.timeout_s), address.name)
    given = found = initial_investigation(alert, options.time_window, datetime.now(UTC))
    names = _names(options, place, given)
    if investigator is not None:
        asyncio.run(check_ledger(trial, place))
        with _instrument_errors():
            answered = asyncio.run(investigator.investigate(given))
        check_investigation("investigate", "its answer", answered)
        found = {name: given[name] for name in ("alert", "time_window") if name not in answered} | answered
    return found, _details(options, "alertmanager", *names, found)


def _choose(options: CaptureOptions, alerts: list[FiringAlert], address: str) -> FiringAlert:
    """Return the alert that options name, or that the user chooses. Errors: InvalidQuery, NotFound, typer.Abort."""
    if not alerts:
        detail = f"No alert is firing at {address}; nothing was written."
        raise NotFound(detail, "Silenced and inhibited alerts do not count.")
    with _instrument_errors():
        if options.index is not None:
            return select_by_index(alerts, options.index)
        if options.fingerprint is not None:
            return select_by_fingerprint(alerts, options.fingerprint)
    print_choice(alerts)
    numbers = {str(index): alert for index, alert in enumerate(alerts)}
    while (answer := _ask("Which alert", "0")) not in numbers:
        print_note(f"Answer with a number from 0 to {len(alerts) - 1}.")
    return numbers[answer]


def _names(options: CaptureOptions, place: CaptureFolder, found: dict[str, Any]) -> tuple[str, str]:
    """Return the scenario's name and failure type, from options or from the user. Errors: InvalidQuery, typer.Abort."""
    name, failure = options.name, options.failure_type
    if options.interactive:
        alertname = alert_labels(found).get("alertname")
        name = name or _ask("Scenario name", alertname or place.folder.name)
        failure = failure or _ask("Failure type", stated_failure(found) or alertname)
    for option, value in (("scenario-name", name), ("failure-type", failure)):
        if value is None:
            advice = f"Give --{option}, or type it with --interactive."
            raise InvalidQuery(option.replace("-", "_"), "is missing.", advice)
    assert name is not None
    assert failure is not None
    return name, failure


def _details(
    options: CaptureOptions, source: str, name: str, failure_type: str, found: dict[str, Any]
) -> ScenarioDetails:
    return ScenarioDetails(
        name=name,
        failure_type=failure_type,
        family=options.family or alert_family(found),
        description=options.description or alert_description(found),
        source=source,
        captured_at=datetime.now(UTC),
        captured_by=options.captured_by or os.environ.get("USER") or None,
        time_window=options.time_window,
    )


def _ask(question: str, default: str | None) -> str:
    """Ask on standard error until there is an answer. Errors: typer.Abort, at the end of standard input."""
    shown = f" [{default}]" if default else ""
    while True:
        print(f"{question}{shown}: ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise typer.Abort
        if answer := line.strip() or default:
            return answer

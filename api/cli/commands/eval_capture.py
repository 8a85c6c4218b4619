"""eval capture: an incident as a scenario, from a finished investigation or from an alert that is firing."""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from api.cli.options import AsJson, BearerToken, Url, ledger_of
from api.cli.output import print_json, say
from api.cli.render.capture import print_alerts, print_captured, print_choice
from api.service.evaluation.capture import CaptureFolder, Opened, checked, investigation_of, place_of, reach
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
ScenarioName = Annotated[str | None, typer.Option(help="What people call it.", metavar="TEXT")]
FailureType = Annotated[str | None, typer.Option(help="What failed, in a word: ImagePullBackOff.", metavar="WORD")]
Investigation = Annotated[
    str | None, typer.Option(help="A finished investigation, JSON; - is standard input.", metavar="FILE|-")
]
AlertmanagerUrl = Annotated[
    str | None, typer.Option("--alertmanager", help="Take an alert that is firing there.", metavar="URL")
]
AlertIndex = Annotated[
    int | None, typer.Option(help="Which: 0 is the one that fires longest; --list shows them.", metavar="N")
]
Fingerprint = Annotated[
    str | None, typer.Option(help="Which, by its fingerprint or how only it begins.", metavar="HEX")
]
Investigate = Annotated[
    str | None, typer.Option(help="Who investigates: gets the alert on stdin, answers on stdout.", metavar="CMD")
]
Listed = Annotated[bool, typer.Option("--list", help="Show what is firing, and capture nothing.")]
Interactive = Annotated[bool, typer.Option("--interactive", help="Choose the alert from a list, and ask for names.")]
Family = Annotated[str | None, typer.Option(help="The family of alerts; else as the alert says.", metavar="WORD")]
Words = Annotated[str | None, typer.Option(help="What happened; else as the alert says.", metavar="TEXT")]
TimeWindow = Annotated[str, typer.Option(help="The time before now that is investigated.", metavar="TIME")]
Timeout = Annotated[float, typer.Option(min=0.001, help="Seconds for the investigation.", metavar="S")]
Fixtures = Annotated[
    Path | None, typer.Option(help="The suite's folder; without it the one above --output.", metavar="DIR")
]
CapturedBy = Annotated[str | None, typer.Option(help="Who captures; $USER without it.", metavar="NAME")]
Force = Annotated[bool, typer.Option("--force", help="Replace a scenario that is there, what it expects, too.")]


def capture(
    context: typer.Context,
    *,
    output: Output = None,
    scenario_name: ScenarioName = None,
    failure_type: FailureType = None,
    investigation: Investigation = None,
    alertmanager: AlertmanagerUrl = None,
    alert_index: AlertIndex = None,
    fingerprint: Fingerprint = None,
    investigate: Investigate = None,
    show: Listed = False,
    interactive: Interactive = False,
    family: Family = None,
    description: Words = None,
    time_window: TimeWindow = "1h",
    timeout: Timeout = 600.0,
    fixtures: Fixtures = None,
    captured_by: CapturedBy = None,
    force: Force = False,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Capture an incident as a scenario: from a finished investigation, or from an alert that is firing.

    It writes investigation.json, README.md and scenario.yaml with what is expected left to be edited, and records them.
    An alert goes as JSON, with time_window and target, to the command of --investigate, whose answer is the
    investigation; without that command the alert alone is captured. ALERTMANAGER_URL is the default of --alertmanager.

    Example: tallystick eval capture --output fixtures/image-pull --scenario-name 'Image pull' --failure-type
    ImagePullBackOff --investigation investigation.json

    Example: tallystick eval capture --alertmanager http://127.0.0.1:9093 --list

    Example: tallystick eval capture --output fixtures/image-pull --alertmanager http://127.0.0.1:9093 --interactive
    --investigate 'python agent.py'
    """
    from functools import partial

    typed = CaptureOptions(
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
    from api.cli.open_ledger import open_store

    ledger = ledger_of(context)
    tried = partial(open_store, ledger, url, token, writable=ledger.exists())
    take(typed, partial(open_store, ledger, url, token), tried, show=show, as_json=as_json)


FETCH_S = 30.0
"""Seconds that an Alertmanager is given at most."""


class CaptureOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed."""

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


def take(typed: CaptureOptions, opened: Opened, tried: Opened, *, show: bool, as_json: bool) -> None:
    """Capture what was typed, or show what is firing, and tell it. Errors: those of `capture`; typer.Abort.

    `opened` is the ledger that is written; `tried` shows before that it can be, and makes none.
    """
    address = _source(typed, show=show)
    if show:
        assert address is not None
        print_alerts(_alerts(address, typed.timeout_s), address.name, as_json=as_json)
        return
    if typed.output is None:
        raise InvalidQuery("output", "is missing.", "Name the scenario's folder: --output fixtures/NAME.")
    place = place_of(typed.output, typed.fixtures, force=typed.force)
    found, about = _finished(typed, place) if address is None else _alerted(typed, place, address, tried)
    done = asyncio.run(capture_incident(opened, place, about, found, force=typed.force))
    if as_json:
        print_json(done)
    else:
        print_captured(done, place)


def _source(typed: CaptureOptions, *, show: bool) -> Alertmanager | None:
    """The Alertmanager that is to be asked; None for a finished investigation. Errors: InvalidQuery."""
    investigation = typed.investigation
    if investigation is not None:
        others = {
            "alertmanager": typed.alertmanager,
            "alert_index": typed.index,
            "fingerprint": typed.fingerprint,
            "investigate": typed.investigate,
            "list": show or None,
        }
        for field, value in others.items():
            if value is not None:
                detail = "does not go with --investigation."
                raise InvalidQuery(field, detail, "Capture a finished investigation, or an alert that is firing.")
        if investigation == "-" and typed.interactive:
            raise InvalidQuery("interactive", "asks on standard input, which is the investigation.", "Name its file.")
    address = typed.alertmanager or os.environ.get("ALERTMANAGER_URL")
    if investigation is None and not address:
        advice = "Give --investigation FILE, or --alertmanager URL with --alert-index, --fingerprint or --interactive."
        raise InvalidQuery("investigation", "is missing, and so is --alertmanager.", advice)
    if typed.index is not None and typed.fingerprint is not None:
        raise InvalidQuery("alert_index", "does not go with --fingerprint.", "Choose the alert by one of them.")
    if parse_window_s(typed.time_window) is None:
        raise InvalidQuery("time_window", f"{typed.time_window!r} is none.", "Write 30m, 1h or 2d.")
    if investigation is not None or not address:
        return None
    if not (show or typed.interactive or typed.index is not None or typed.fingerprint is not None):
        advice = "Give --alert-index, --fingerprint or --interactive; --list shows what is firing."
        raise InvalidQuery("alertmanager", "which of its alerts is not said.", advice)
    with _told():
        return Alertmanager(address)


@contextmanager
def _told() -> Iterator[None]:
    """Errors of instruments as this door tells them: InvalidQuery."""
    try:
        yield
    except BadAlertmanager as error:
        raise InvalidQuery(error.field, error.detail, f"{error.advice} Nothing was written.".lstrip()) from None
    except NoInvestigation as error:
        said = f"It said last:\n{error.said}\n" if error.said else ""
        raise InvalidQuery("investigate", error.detail, f"{said}{ADVICE} Nothing was written.") from None


def _alerts(address: Alertmanager, timeout_s: float) -> list[FiringAlert]:
    """What is firing. Errors: InvalidQuery."""
    with _told():
        return asyncio.run(address.alerts(min(FETCH_S, timeout_s)))


def _finished(typed: CaptureOptions, place: CaptureFolder) -> tuple[dict[str, Any], ScenarioDetails]:
    """A finished investigation, and what is said of it. Errors: InvalidQuery, typer.Abort."""
    assert typed.investigation is not None
    found = investigation_of(typed.investigation)
    return found, _about(typed, "investigation", *_named(typed, place, found), found)


def _alerted(
    typed: CaptureOptions, place: CaptureFolder, address: Alertmanager, tried: Opened
) -> tuple[dict[str, Any], ScenarioDetails]:
    """The investigation of an alert, by a command, or begun where there is none. Errors: InvalidQuery, typer.Abort."""
    with _told():
        command = typed.investigate
        investigator = None if command is None else Investigator(command, timeout_s=typed.timeout_s)
    alert = _choose(typed, _alerts(address, typed.timeout_s), address.name)
    given = found = initial_investigation(alert, typed.time_window, datetime.now(UTC))
    names = _named(typed, place, given)
    if investigator is not None:
        asyncio.run(reach(tried, place))
        with _told():
            answered = asyncio.run(investigator.investigate(given))
        checked("investigate", "its answer", answered)
        found = {name: given[name] for name in ("alert", "time_window") if name not in answered} | answered
    return found, _about(typed, "alertmanager", *names, found)


def _choose(typed: CaptureOptions, alerts: list[FiringAlert], address: str) -> FiringAlert:
    """The alert that was named, or is chosen from the list. Errors: InvalidQuery, NotFound, typer.Abort."""
    if not alerts:
        detail = f"No alert is firing at {address}; nothing was written."
        raise NotFound(detail, "Silenced and inhibited ones are left out.")
    with _told():
        if typed.index is not None:
            return select_by_index(alerts, typed.index)
        if typed.fingerprint is not None:
            return select_by_fingerprint(alerts, typed.fingerprint)
    print_choice(alerts)
    numbers = {str(index): alert for index, alert in enumerate(alerts)}
    while (answer := _ask("Which alert", "0")) not in numbers:
        say(f"Answer with a number from 0 to {len(alerts) - 1}.")
    return numbers[answer]


def _named(typed: CaptureOptions, place: CaptureFolder, found: dict[str, Any]) -> tuple[str, str]:
    """The scenario's name and failure type, typed or asked for. Errors: InvalidQuery, typer.Abort."""
    name, failure = typed.name, typed.failure_type
    if typed.interactive:
        alertname = alert_labels(found).get("alertname")
        name = name or _ask("Scenario name", alertname or place.folder.name)
        failure = failure or _ask("Failure type", stated_failure(found) or alertname)
    for option, value in (("scenario-name", name), ("failure-type", failure)):
        if value is None:
            advice = f"Give --{option}, or --interactive to be asked."
            raise InvalidQuery(option.replace("-", "_"), "is missing.", advice)
    assert name is not None
    assert failure is not None
    return name, failure


def _about(typed: CaptureOptions, source: str, name: str, failure_type: str, found: dict[str, Any]) -> ScenarioDetails:
    return ScenarioDetails(
        name=name,
        failure_type=failure_type,
        family=typed.family or alert_family(found),
        description=typed.description or alert_description(found),
        source=source,
        captured_at=datetime.now(UTC),
        captured_by=typed.captured_by or os.environ.get("USER") or None,
        time_window=typed.time_window,
    )


def _ask(question: str, default: str | None) -> str:
    """What a person answers, asked on standard error, again until it says something. Errors: typer.Abort at its end."""
    shown = f" [{default}]" if default else ""
    while True:
        print(f"{question}{shown}: ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise typer.Abort
        if answer := line.strip() or default:
            return answer

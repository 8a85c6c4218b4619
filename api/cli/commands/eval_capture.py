"""eval capture: capture an incident as a scenario, from a finished investigation or from a firing alert."""

import asyncio
import os
import sys
from datetime import UTC, datetime
from functools import partial
from typing import Any

import typer

from api.cli.capture_options import CaptureOptions
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
    FiringAlert,
    select_by_fingerprint,
    select_by_index,
)
from instruments.evals.capture.investigator import Investigator
from instruments.evals.capture.scenario_template import (
    ScenarioDetails,
    alert_cluster,
    alert_description,
    alert_family,
    alert_labels,
    fill_cluster,
    initial_investigation,
    stated_failure,
)
from ledger.errors import InvalidQuery, NotFound


@verb(server=True)
def capture(target: LedgerTarget, options: CaptureOptions) -> None:
    """Capture an incident as a scenario.

    The incident is a finished investigation, or a firing alert. Writes investigation.json, README.md and scenario.yaml,
    and records the scenario. Then edit scenario.yaml: write what a good answer is expected to contain. --investigate
    names a command that reads the alert as JSON, with time_window and target, and prints the investigation; without it
    only the alert is captured. ALERTMANAGER_URL is the default of --alertmanager.

    Example: tallystick eval capture --output fixtures/image-pull --scenario-name 'Image pull' --failure-type
    ImagePullBackOff --investigation investigation.json

    Example: tallystick eval capture --alertmanager http://127.0.0.1:9093 --list

    Example: tallystick eval capture --output fixtures/image-pull --alertmanager http://127.0.0.1:9093 --interactive
    --investigate 'python agent.py'
    """
    source = options.checked_source()
    if source is not None and options.list_alerts:
        alerts = _fetch_alerts(source, options.timeout_s)
        print_alerts(alerts, source.name, as_json=target.json)
    else:
        _capture(options, source, target)


FETCH_S = 30.0
"""Seconds that an Alertmanager has to answer."""


def _capture(options: CaptureOptions, alertmanager: Alertmanager | None, target: LedgerTarget) -> None:
    """Capture the incident and print the result. Errors: those of `capture_incident`; typer.Abort."""
    if options.output is None:
        raise InvalidQuery("output", "is missing.", "Name the scenario's folder: --output fixtures/NAME.")
    folder = resolve_folder(options.output, options.fixtures, force=options.force)
    if alertmanager is None:
        investigation, details = _read_investigation(options, folder)
    else:
        open_trial = partial(open_store, target, writable=target.place.may_exist())
        investigation, details = _investigate(options, folder, alertmanager, open_trial)
    result = asyncio.run(
        capture_incident(partial(open_store, target), folder, details, investigation, force=options.force)
    )
    if target.json:
        print_json(result)
    else:
        print_captured(result, folder)


def _fetch_alerts(alertmanager: Alertmanager, timeout_s: float) -> list[FiringAlert]:
    """Return the firing alerts. Errors: InvalidQuery."""
    return asyncio.run(alertmanager.alerts(min(FETCH_S, timeout_s)))


def _read_investigation(options: CaptureOptions, folder: CaptureFolder) -> tuple[dict[str, Any], ScenarioDetails]:
    """Return a finished investigation with its details. Errors: InvalidQuery, typer.Abort."""
    assert options.investigation is not None
    investigation = read_investigation(options.investigation)
    name, failure_type = _name_and_failure_type(options, folder, investigation)
    return investigation, _details(options, "investigation", name, failure_type, investigation)


def _investigate(
    options: CaptureOptions, folder: CaptureFolder, alertmanager: Alertmanager, open_trial: OpenStore
) -> tuple[dict[str, Any], ScenarioDetails]:
    """Return what the command found out about an alert, or without a command only the alert, with its details.

    `open_trial` opens the ledger, without creating one, to check before the command runs that it can be written.
    Errors: InvalidQuery, typer.Abort.
    """
    command = options.investigate
    investigator = None if command is None else Investigator(command, timeout_s=options.timeout_s)
    alert = _choose_alert(options, _fetch_alerts(alertmanager, options.timeout_s), alertmanager.name)
    question = investigation = initial_investigation(alert, options.time_window, datetime.now(UTC))
    name, failure_type = _name_and_failure_type(options, folder, question)
    if investigator is not None:
        asyncio.run(check_ledger(open_trial, folder))
        answer = asyncio.run(investigator.investigate(question))
        check_investigation("investigate", "its answer", answer)
        known = {field: question[field] for field in ("alert", "time_window", "target") if field not in answer}
        investigation = fill_cluster(known | answer)
    return investigation, _details(options, "alertmanager", name, failure_type, investigation)


def _choose_alert(options: CaptureOptions, alerts: list[FiringAlert], url: str) -> FiringAlert:
    """Return the alert that options name, or that the user chooses. Errors: InvalidQuery, NotFound, typer.Abort."""
    if not alerts:
        detail = f"No alert is firing at {url}."
        raise NotFound(detail, "Silenced and inhibited alerts are left out.")
    if options.alert_index is not None:
        return select_by_index(alerts, options.alert_index)
    if options.fingerprint is not None:
        return select_by_fingerprint(alerts, options.fingerprint)
    print_choice(alerts)
    numbers = {str(index): alert for index, alert in enumerate(alerts)}
    while (answer := _ask("Which alert", "0")) not in numbers:
        print_note(f"Answer with a number from 0 to {len(alerts) - 1}.")
    return numbers[answer]


def _name_and_failure_type(
    options: CaptureOptions, folder: CaptureFolder, investigation: dict[str, Any]
) -> tuple[str, str]:
    """Return the scenario's name and failure type, from options or from the user. Errors: InvalidQuery, typer.Abort."""
    name, failure_type = options.scenario_name, options.failure_type
    if options.interactive:
        alert_name = alert_labels(investigation).get("alertname")
        name = name or _ask("Scenario name", alert_name or folder.folder.name)
        failure_type = failure_type or _ask("Failure type", stated_failure(investigation) or alert_name)
    for option, value in (("scenario-name", name), ("failure-type", failure_type)):
        if value is None:
            advice = f"Give --{option}, or type it with --interactive."
            raise InvalidQuery(option.replace("-", "_"), "is missing.", advice)
    assert name is not None
    assert failure_type is not None
    return name, failure_type


def _details(
    options: CaptureOptions, source: str, name: str, failure_type: str, investigation: dict[str, Any]
) -> ScenarioDetails:
    return ScenarioDetails(
        name=name,
        failure_type=failure_type,
        family=options.family or alert_family(investigation),
        cluster=options.cluster or alert_cluster(investigation),
        description=options.description or alert_description(investigation),
        source=source,
        captured_at=datetime.now(UTC),
        captured_by=options.captured_by or os.environ.get("USER") or None,
        time_window=options.time_window,
    )


def _ask(question: str, default: str | None) -> str:
    """Ask on standard error until the user answers. Errors: typer.Abort, at the end of standard input."""
    default_text = f" [{default}]" if default else ""
    while True:
        print(f"{question}{default_text}: ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise typer.Abort
        if answer := line.strip() or default:
            return answer

"""eval capture: an incident as a scenario, from a finished investigation or from an alert that is firing."""

from pathlib import Path
from typing import Annotated

import typer

from api.commands.options import AsJson, BearerToken, Url, ledger_of

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

    from api.commands.incident import Typed, take
    from api.sink import sink

    typed = Typed(
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
    ledger = ledger_of(context)
    tried = partial(sink, ledger, url, token, writable=ledger.exists())
    take(typed, partial(sink, ledger, url, token), tried, show=show, as_json=as_json)

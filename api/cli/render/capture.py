"""What is firing and what was captured, as people read it."""

from collections.abc import Sequence
from shlex import quote

import msgspec
import typer
from rich.console import Console

from api.cli.output import cut, out, print_json, say, table
from api.service.evaluation.capture import CaptureFolder, CaptureResult
from api.text import many, one_line
from instruments.evals.capture.alertmanager import FiringAlert
from instruments.evals.capture.scenario_template import UNEDITED


def print_alerts(alerts: Sequence[FiringAlert], name: str, *, as_json: bool) -> None:
    """What is firing, in the order in which --alert-index counts."""
    if as_json:
        print_json({"alerts": [{"index": at, **msgspec.to_builtins(alert)} for at, alert in enumerate(alerts)]})
    elif alerts:
        _print(out(), alerts)
    firing = "No alert is" if not alerts else f"{many(len(alerts), 'alert')} {'is' if len(alerts) == 1 else 'are'}"
    say(f"{firing} firing at {name}; silenced and inhibited ones are left out.")


def print_choice(alerts: Sequence[FiringAlert]) -> None:
    """What may be chosen, on standard error, where the question stands."""
    _print(out(stderr=True), alerts)


def print_captured(done: CaptureResult, place: CaptureFolder) -> None:
    """What was captured, and what is left to do."""
    event = {
        "captured": "recorded as a new scenario",
        "revised": "recorded as a revision",
        "unchanged": "the ledger knew it as it is",
    }[done.recorded]
    root = place.folder.parents[place.title.count("/")]
    typer.echo(f"{done.scenario_id} is captured, and {event}.")
    for file in done.files:
        typer.echo(f"  {place.folder / file}")
    typer.echo("Next:")
    typer.echo(
        f"  1. In scenario.yaml, put what is expected in place of every {UNEDITED}; until then it is not loaded."
    )
    typer.echo("  2. In README.md, say what happened and what a good answer says.")
    chosen = " and ".join(place.title.split("/"))
    typer.echo(f"  3. tallystick eval run {quote(str(root))} -k {quote(chosen)}")


def _print(console: Console, alerts: Sequence[FiringAlert]) -> None:
    shown = table(
        "", "alert", "namespace", "severity", "firing since", "fingerprint", right=("",), wrap=("alert", "namespace")
    )
    for index, alert in enumerate(alerts):
        shown.add_row(
            str(index),
            cut(one_line(alert.name)),
            cut(one_line(alert.labels.get("namespace"))),
            one_line(alert.labels.get("severity")),
            one_line(alert.starts_at),
            one_line(alert.fingerprint),
        )
    console.print(shown)

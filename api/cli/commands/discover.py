"""discover: which models a router really gives, asked until one comes back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, BearerToken, Url, ledger_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from api.service.discovery.runner import DiscoveryRunner, RunnerResult, Say
    from instruments.routers import Router as Asked

Router = Annotated[str, typer.Option(help="Who is asked: command:CMD, or openai:BASE_URL.")]
Model = Annotated[str | None, typer.Option(help="The model asked for; openai: asks for auto.", metavar="NAME")]
KeyEnv = Annotated[
    str | None, typer.Option(help="The variable that holds the key; OPENAI_API_KEY, if set.", metavar="VAR")
]
Header = Annotated[
    list[str] | None, typer.Option(help="'Name: value' or 'Name: env:VAR'; may be given several times.", metavar="TEXT")
]
RouterName = Annotated[
    str | None, typer.Option(help="What events call the router, not its program or address.", metavar="NAME")
]
ProbeId = Annotated[str | None, typer.Option(help="The probe of each prompt.", metavar="ID")]
MaxIterations = Annotated[
    int | None, typer.Option(min=1, max=1000, help="Models after which it ends; 15 without it.", metavar="N")
]
MaxAttempts = Annotated[
    int | None, typer.Option(min=1, max=1000, help="Attempts after which it ends; 40 without it.", metavar="N")
]
Timeout = Annotated[float, typer.Option(help="Seconds for one attempt.", metavar="S")]
MaxTime = Annotated[float | None, typer.Option(help="Seconds for all of them.", metavar="S")]
KeepGoing = Annotated[bool, typer.Option("--keep-going", help="Go on to the limits, whatever is answered.")]
Sensitive = Annotated[bool, typer.Option("--sensitive", help="Keep answers as evidence alone, which can be erased.")]
GoldenFile = Annotated[Path | None, typer.Option(help="Keep the first accepted response in this file.", metavar="FILE")]
Force = Annotated[bool, typer.Option("--force", help="--golden may overwrite a file.")]
RunId = Annotated[str | None, typer.Option(help="The run's id; one is made without it.", metavar="RUN")]
Resume = Annotated[str | None, typer.Option(help="Go on with a run that was interrupted.", metavar="RUN")]


def discover(
    context: typer.Context,
    *,
    router: Router,
    model: Model = None,
    key_env: KeyEnv = None,
    header: Header = None,
    router_name: RouterName = None,
    probe: ProbeId = None,
    max_iterations: MaxIterations = None,
    max_attempts: MaxAttempts = None,
    timeout: Timeout = 120.0,
    max_time: MaxTime = None,
    keep_going: KeepGoing = False,
    sensitive: Sensitive = False,
    golden: GoldenFile = None,
    force: Force = False,
    run: RunId = None,
    resume: Resume = None,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Ask a router who answers, exclude that model, and ask again: until one comes back, or a limit is reached.

    Every attempt is in the ledger before the next prompt is sent; no key, header value or password is. Ctrl-C keeps
    what was answered, and --resume goes on from there. Exit code 0 says that a model was identified, 1 that none was.

    Example: tallystick discover --router 'command:claude -p' --probe refactor-go

    Example: tallystick discover --router openai:https://openrouter.ai/api/v1 --key-env OPENROUTER_API_KEY

    Example: tallystick discover --router 'command:claude -p' --resume 3f2a9c1e
    """
    from api.service.discovery.runner import DiscoveryRunner

    settings: dict[str, object] = {
        "probe_id": probe, "max_iterations": max_iterations, "max_attempts": max_attempts,
        "keep_going": keep_going or None, "sensitive": sensitive or None, "run_id": run,
    }  # fmt: skip
    inquiry = DiscoveryRunner(
        _maker(router, key_env, header or [], router_name),
        model=model,
        timeout_s=timeout,
        max_time_s=max_time,
        golden=golden,
        force=force,
        resume=resume,
        settings={name: value for name, value in settings.items() if value is not None},
    )
    _run(inquiry, ledger_of(context), url, token, as_json)


def _maker(spec: str, key_env: str | None, headers: list[str], name: str | None) -> "Callable[[str | None], Asked]":
    """What makes the router, asking for a model. Errors of what it makes: InvalidQuery."""
    import os

    from instruments.routers import BadRouter, parse_router
    from ledger.errors import InvalidQuery

    def make(model: str | None) -> "Asked":
        try:
            return parse_router(spec, environment=os.environ, model=model, key_env=key_env, headers=headers, name=name)
        except BadRouter as error:
            raise InvalidQuery(error.field, error.detail, error.advice) from None

    return make


def _run(inquiry: "DiscoveryRunner", ledger: Path, url: str | None, token: str | None, as_json: bool) -> None:
    """Run it, tell what came of it, and end with the exit code that says so."""
    import asyncio
    import time

    from api.cli.output import print_json, say
    from api.cli.render.discovery import print_findings

    began = time.monotonic_ns()
    came, signals = asyncio.run(_inquire(inquiry, ledger, url, token, say if as_json else typer.echo))
    found = came.findings
    if as_json:
        print_json(found)
    else:
        print_findings(found, time.monotonic_ns() - began)
    if found.ending is None:
        say(f"Stopped. What was answered is kept; to go on: --resume {found.run_id}, with the same router.")
    if came.golden_error is not None:
        say(f"The first accepted response could not be kept in {came.golden_error}. It is in the ledger.")
    if signals:
        raise typer.Exit(128 + signals[0])
    if not found.models or came.golden_error is not None:
        raise typer.Exit(1)


async def _inquire(
    inquiry: "DiscoveryRunner", ledger: Path, url: str | None, token: str | None, tell: "Say"
) -> "tuple[RunnerResult, list[int]]":
    """What came of it, and the signals that stopped it. A second signal ends the command at once."""
    from api.cli.open_ledger import open_store
    from api.cli.output import say
    from api.cli.signals import stoppable

    with stoppable() as stop:
        async with open_store(ledger, url, token) as target:
            return await inquiry.run(target, stop.event, tell, say), stop.caught

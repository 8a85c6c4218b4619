"""discover: find out which models a router uses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import open_store
from api.cli.options import flag, option
from api.cli.output import print_json, print_note

if TYPE_CHECKING:
    from collections.abc import Callable

    from api.service.discovery.discover_command import DiscoverCommand, DiscoverResult, Say
    from instruments.routers import Router

RouterName = Annotated[str | None, option("The router's name in events, instead of its program or address.", "NAME")]
MaxIterations = Annotated[int | None, option("Stop after this many models; 15 without it.", "N", min=1, max=1000)]
MaxAttempts = Annotated[int | None, option("Stop after this many attempts; 40 without it.", "N", min=1, max=1000)]
Sensitive = Annotated[bool, flag("--sensitive", "Store answers only as evidence, which can be erased later.")]


@verb(server=True)
def discover(
    target: LedgerTarget,
    *,
    router: Annotated[str, option("The router: command:CMD, or openai:BASE_URL.")],
    model: Annotated[str | None, option("The model to request; openai: requests auto without it.", "NAME")] = None,
    key_env: Annotated[str | None, option("The variable with the key; OPENAI_API_KEY if that is set.", "VAR")] = None,
    header: Annotated[list[str] | None, option("'Name: value' or 'Name: env:VAR'; may be repeated.", "TEXT")] = None,
    router_name: RouterName = None,
    probe: Annotated[str | None, option("The probe in each prompt.", "ID")] = None,
    probes: Annotated[str | None, option("Several probes in each prompt, separated by commas.", "ID,ID,...")] = None,
    max_iterations: MaxIterations = None,
    max_attempts: MaxAttempts = None,
    timeout: Annotated[float, option("Seconds for one attempt.", "S")] = 120.0,
    max_time: Annotated[float | None, option("Seconds for all attempts together.", "S")] = None,
    keep_going: Annotated[bool, flag("--keep-going", "Continue to the limits, even if a model repeats.")] = False,
    sensitive: Sensitive = False,
    golden: Annotated[Path | None, option("Write the first accepted response to this file.", "FILE")] = None,
    force: Annotated[bool, flag("--force", "Let --golden overwrite a file.")] = False,
    run: Annotated[str | None, option("The id of the run; without it one is made.", "RUN")] = None,
    resume: Annotated[str | None, option("Resume an interrupted run.", "RUN")] = None,
) -> None:
    """Find out which models a router uses.

    Asks the answering model to identify itself and solve a small task, excludes models already seen, and stops when
    one repeats or a limit is reached. Every attempt is in the ledger before the next prompt is sent. Keys, header
    values and passwords are never recorded. Ctrl-C keeps the answers so far, and --resume continues the run. Exit
    code 0: at least one model was identified; 1: none was.

    Example: tallystick discover --router 'command:claude -p' --probe refactor-go

    Example: tallystick discover --router 'command:claude -p' --probes refactor-go,debugging,weighting

    Example: tallystick discover --router openai:https://openrouter.ai/api/v1 --key-env OPENROUTER_API_KEY

    Example: tallystick discover --router 'command:claude -p' --resume 3f2a9c1e
    """
    from api.service.discovery.discover_command import DiscoverCommand

    settings: dict[str, object] = {
        "probe_id": probe, "probes": None if probes is None else [one.strip() for one in probes.split(",")],
        "max_iterations": max_iterations, "max_attempts": max_attempts,
        "keep_going": keep_going or None, "sensitive": sensitive or None, "run_id": run,
    }  # fmt: skip
    runner = DiscoverCommand(
        _router_factory(router, key_env, header or [], router_name),
        model=model,
        timeout_s=timeout,
        max_time_s=max_time,
        golden=golden,
        force=force,
        resume=resume,
        settings={name: value for name, value in settings.items() if value is not None},
    )
    _run(runner, target)


def _router_factory(
    spec: str, key_env: str | None, headers: list[str], name: str | None
) -> "Callable[[str | None], Router]":
    """Return a function that makes the router client for a requested model. The function raises InvalidQuery."""
    import os

    from instruments.routers import parse_router

    def make(model: str | None) -> "Router":
        return parse_router(spec, environment=os.environ, model=model, key_env=key_env, headers=headers, name=name)

    return make


def _run(runner: "DiscoverCommand", target: LedgerTarget) -> None:
    """Run the discovery, print the result, and exit with its code."""
    import asyncio
    import time

    from api.cli.render.discovery import print_findings

    began_ns = time.monotonic_ns()
    result, signals = asyncio.run(_run_until_stopped(runner, target, print_note if target.json else typer.echo))
    summary = result.findings
    if target.json:
        print_json(summary)
        print_note(f"Run {summary.run_id} is saved: tallystick run show {summary.run_id}")
    else:
        print_findings(summary, time.monotonic_ns() - began_ns)
    if summary.ending is None:
        print_note(
            f"Stopped. The answers so far are kept; to continue: --resume {summary.run_id}, with the same router."
        )
    if result.golden_error is not None:
        print_note(
            f"The first accepted response could not be written to {result.golden_error}. The ledger contains it."
        )
    if signals:
        raise typer.Exit(128 + signals[0])
    if not summary.models or result.golden_error is not None:
        raise typer.Exit(1)


async def _run_until_stopped(
    runner: "DiscoverCommand", target: LedgerTarget, report: "Say"
) -> "tuple[DiscoverResult, list[int]]":
    """Return the result, and the signals that stopped the run. A second signal ends the command at once."""
    from api.cli.signals import catch_stop_signals

    with catch_stop_signals() as stop:
        async with open_store(target) as store:
            return await runner.run(store, stop.event, report, print_note), stop.caught

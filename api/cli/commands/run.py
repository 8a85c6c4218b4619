"""run: runs of discovery as they are kept: saved from a report, shown, listed."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, AsOf, BearerToken, Url, given, ledger_of

if TYPE_CHECKING:
    from pathlib import Path

    from api.importers.runs import RunPage, RunView, SaveResult

app = typer.Typer(help="Runs of discovery: save, show and list them.", no_args_is_help=True)

Speaker = Annotated[str | None, typer.Option(help="Who speaks: whose runs they are.", metavar="NAME")]


@app.command("save")
def save_run(
    context: typer.Context,
    report_file: Annotated[str, typer.Option(help="A run report; - is standard input.", metavar="FILE|-")],
    agent: Speaker = None,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Save one run report. The same one again adds nothing; a run never overwrites another.

    One without a run_id is given one.

    Example: tallystick run save --report-file report.json
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.runs import print_unborne
    from api.text import many

    one = asyncio.run(_save(report_file, agent, ledger_of(context), url, token))
    if as_json:
        print_json(one)
    else:
        done = f"saved, {many(one.results, 'result')}" if one.saved else "is there already"
        typer.echo(f"Run {one.run_id} {done}.")
        print_unborne(one.unborne)


async def _save(path: str, agent: str | None, ledger: "Path", url: str | None, token: str | None) -> "SaveResult":
    from api.cli.open_ledger import open_store
    from api.importers.runs import read_run, save_run
    from events.errors import InvalidEvent

    try:
        told = read_run(path, agent)
    except InvalidEvent as error:
        error.detail = f"{'standard input' if path == '-' else path}: {error.detail}"
        raise
    async with open_store(ledger, url, token) as target:
        return await save_run(told, target)


@app.command("show")
def show(
    context: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Its id, or an unambiguous beginning of it.")],
    attempts: Annotated[bool, typer.Option("--attempts", help="Every attempt and signal, too.")] = False,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Show one run. --json gives its report, field for field as it was imported.

    Example: tallystick run show mc-1771684523895 --attempts
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.runs import print_run

    shown = asyncio.run(_show(ledger_of(context), run_id, as_of, attempts))
    if as_json:
        print_json(shown.detail)
    else:
        print_run(shown)


async def _show(ledger: "Path", run_id: str, as_of: str | None, attempts: bool) -> "RunView":
    from api.cli.open_ledger import open_reader
    from api.importers.runs import show_run

    async with open_reader(ledger) as service:
        return await show_run(service, run_id, await service.resolve(as_of), attempts=attempts, prefix=True)


@app.command("list")
def list_(
    context: typer.Context,
    *,
    agent: Annotated[str | None, typer.Option(help="Only this agent's.")] = None,
    router: Annotated[str | None, typer.Option(help="Only those that asked this router.")] = None,
    probe: Annotated[str | None, typer.Option(help="Only those of this probe.", metavar="ID")] = None,
    since: Annotated[str | None, typer.Option(help="Begun then or later.", metavar="TIME")] = None,
    until: Annotated[str | None, typer.Option(help="Begun then or earlier.", metavar="TIME")] = None,
    window: Annotated[str | None, typer.Option(help="30d, 60d, 90d or all, back from now; beats --since.")] = None,
    limit: Annotated[str | None, typer.Option(help="At most so many.  \\[default: 100]")] = None,
    offset: Annotated[str | None, typer.Option(help="Leave out so many first.")] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """List runs, the one that began last first.

    Example: tallystick run list --probe refactor-v1 --since 2026-02-01
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.runs import print_runs

    parameters = given(
        agent=agent, router=router, probe=probe, since=since, until=until, window=window, limit=limit, offset=offset
    )
    page = asyncio.run(_list(ledger_of(context), parameters, as_of))
    if as_json:
        print_json(page)
    else:
        print_runs(page)


async def _list(ledger: "Path", parameters: dict[str, str], as_of: str | None) -> "RunPage":
    from api.cli.open_ledger import open_reader
    from api.importers.runs import list_runs
    from api.service.query_params import parse_run_query
    from ledger import system_clock

    asked = parse_run_query(parameters, system_clock())
    async with open_reader(ledger) as service:
        return await list_runs(service, asked, await service.resolve(as_of))

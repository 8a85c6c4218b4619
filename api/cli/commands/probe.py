"""probe: give models a task, and show the scores of their answers."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf, given

if TYPE_CHECKING:
    from api.service.rescore import RescoreQuery, RescoreResult, ScoreSummary

ProbeId = Annotated[
    str | None,
    typer.Option("--probe", help="The probe.  \\[default: refactor-go]", metavar="ID", show_default=False),
]


@verb(server=True, reads=True)
def scores(
    target: LedgerTarget,
    *,
    probe: Annotated[str | None, typer.Option(help="Only this probe.", metavar="ID|ID@VERSION")] = None,
    scorer: Annotated[str | None, typer.Option(help="Only this scorer.", metavar="ID|ID@VERSION")] = None,
    model: Annotated[str | None, typer.Option(help="Only this model, by any of its names.")] = None,
    as_of: AsOf = None,
) -> None:
    """Show how each model scored on the probes.

    Also says whether a probe tells models apart.

    Example: tallystick probe scores --probe refactor --scorer syntax@1
    """
    from api.cli.open_ledger import answer_as_of
    from api.cli.output import print_json
    from api.cli.render.model_inventory import print_scores
    from api.service.model_queries import compare_probe_scores
    from projections.discovery.probe_score_tables import ProbeScoreQuery

    query = ProbeScoreQuery(probe=probe, scorer=scorer, model=model)
    answer = answer_as_of(
        target,
        as_of,
        lambda service, position: compare_probe_scores(service, query, position),
        lambda server: server.probe_scores(given(probe=probe, scorer=scorer, model=model)),
    )
    if target.json:
        print_json(answer)
    else:
        print_scores(answer)


@verb(ledger=False, json=False)
def prompt(
    target: LedgerTarget,
    probe: ProbeId = None,
    exclude_file: Annotated[
        str | None,
        typer.Option(
            help="Models that must not answer: a JSON array of identities or names, or one name per line; "
            "- is standard input.",
            metavar="FILE|-",
        ),
    ] = None,
) -> None:
    """Print a prompt that asks a model who it is and gives it a task.

    Nothing is written.

    Example: tallystick probe prompt --exclude-file seen.txt | some-model > answer.txt
    """
    from api.cli.output import print_line
    from api.service.discovery.prompt_and_analysis import build_discovery_prompt

    print_line(build_discovery_prompt(probe, exclude_file).rstrip("\n").encode())


@verb(server=True, reads=True)
def analyze(
    target: LedgerTarget,
    response_file: Annotated[str, typer.Option(help="One answer; - is standard input.", metavar="FILE|-")],
    probe: ProbeId = None,
) -> None:
    """Print what one answer says: identity, code, score and verdict.

    The output is JSON. The verdict is identified, wrapper, refused, empty or unparsable. A model is known if the
    ledger has it registered. Nothing is written. Exit code 0: a model is identified; 1: none is.

    Example: tallystick probe analyze --response-file answer.txt || echo "nobody"
    """
    import asyncio

    from api.cli.output import print_json
    from api.service.discovery.prompt_and_analysis import analyze_response, read_input

    answer = read_input(response_file, "response_file")
    analysis = asyncio.run(analyze_response(answer, probe, lambda name: _is_registered(target, name)))
    print_json(analysis)
    if analysis.verdict != "identified":
        raise typer.Exit(1)


async def _is_registered(target: LedgerTarget, model_name: str) -> bool:
    """Return whether a model is registered at the server, or else in the ledger file, if that exists."""
    from api.cli.open_ledger import open_reader
    from api.client.open_store import open_remote_store
    from api.client.remote_views import RemoteViews
    from api.service.model_queries import is_registered

    if target.url is not None:
        async with open_remote_store(target.url, target.token) as remote:
            return await RemoteViews(remote).is_registered(model_name)
    if not target.ledger.is_file():
        return False
    async with open_reader(target.ledger) as service:
        return await is_registered(service, model_name)


@verb(ledger=False)
def list_probes(target: LedgerTarget) -> None:
    """List the probes with their scorers.

    Example: tallystick probe list
    """
    from api.cli.output import make_table, open_console, print_json
    from instruments.probes import PROBES, scorer_name

    if target.json:
        names = ("id", "version", "kind", "language")
        print_json(
            [{name: getattr(probe, name) for name in names} | {"scorer": scorer_name(probe.scorer)} for probe in PROBES]
        )
        return
    table = make_table("id", "version", "kind", "language", "scorer")
    for probe in PROBES:
        table.add_row(probe.id, probe.version, probe.kind, probe.language or "-", scorer_name(probe.scorer))
    open_console().print(table)


@verb(server=True)
def rescore(
    target: LedgerTarget,
    *,
    scorer: Annotated[str, typer.Option(help="The scorer to use.", metavar="ID@VERSION")],
    run: Annotated[str | None, typer.Option(help="Only the outputs of this run.", metavar="RUN")] = None,
    probe: Annotated[
        str | None, typer.Option(help="Only outputs of this probe; without it the scorer's own.", metavar="ID")
    ] = None,
) -> None:
    """Score stored outputs with another scorer.

    Shows old and new scores side by side. The new scores are events beside the old ones. A repetition adds nothing.
    Erased outputs are skipped.

    Example: tallystick probe rescore --scorer debugging@1
    """
    import asyncio

    from api.cli.output import print_json
    from api.service.rescore import RescoreQuery

    result = asyncio.run(_rescore(RescoreQuery(scorer=scorer, run=run, probe=probe), target))
    if target.json:
        print_json(result)
    else:
        _print_rescored(result)


async def _rescore(query: "RescoreQuery", target: LedgerTarget) -> "RescoreResult":
    from api.cli.open_ledger import open_store
    from api.cli.output import show_progress
    from api.service.rescore import rescore

    async with open_store(target) as store:
        with show_progress("rescoring", "outputs") as report:
            return await rescore(store, query, report)


def _print_rescored(result: "RescoreResult") -> None:
    from api.cli.output import format_speed, make_table, open_console, print_note
    from api.text_format import format_count, one_line, pluralize

    typer.echo(
        f"{pluralize(result.outputs, 'output')}: {result.appended:,} scored by {result.scorer}, {result.known:,} scored"
        f" before; {format_speed(result.appended, result.elapsed_ms, 'outputs')}."
    )
    if result.erased:
        print_note(f"{pluralize(result.erased, 'output')} skipped: the evidence was erased.")
    if result.lost:
        print_note(f"{pluralize(result.lost, 'output')} skipped: the evidence is missing or damaged.")
    if not result.models:
        return
    columns = [column for name in result.scorers for column in (name, "values", "invalid")]
    drop = ("invalid", "values", "outputs")
    table = make_table("model", "outputs", *columns, right=("outputs", *columns), wrap=("model",), drop=drop)
    for row in result.models:
        table.add_row(one_line(row.model), format_count(row.outputs), *_cells(row.scorers, result.scorers))
    table.add_row("all", format_count(result.outputs), *_cells(result.total, result.scorers))
    open_console().print(table)
    for name in result.scorers:
        typer.echo(f"{name}: {result.discrimination[name].says}")


def _cells(summaries: "dict[str, ScoreSummary]", scorers: list[str]) -> list[str]:
    from api.cli.output import format_figure
    from api.text_format import format_count

    return [
        cell
        for summary in (summaries[name] for name in scorers)
        for cell in (format_figure(summary.mean), format_count(summary.distinct), format_count(summary.invalid))
    ]

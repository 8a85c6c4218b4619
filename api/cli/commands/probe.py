"""probe: what models are asked to do, and what their answers were worth."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, AsOf, BearerToken, Url, given, ledger_of

if TYPE_CHECKING:
    from pathlib import Path

    from api.service.models import ProbesAnswer
    from api.service.rescore import ScoreSummary

app = typer.Typer(help="Probes: what models are asked to do, and what their answers were worth.", no_args_is_help=True)


@app.command("scores")
def scores(
    context: typer.Context,
    *,
    probe: Annotated[str | None, typer.Option(help="Only this probe.", metavar="ID|ID@VERSION")] = None,
    scorer: Annotated[str | None, typer.Option(help="Only this scorer.", metavar="ID|ID@VERSION")] = None,
    model: Annotated[str | None, typer.Option(help="Only this model, by any of its names.")] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """What were the answers of each model worth, and does the probe tell models apart at all?

    Example: tallystick probe scores --probe refactor --scorer syntax@1
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.models import print_scores

    found = asyncio.run(_scores(ledger_of(context), given(probe=probe, scorer=scorer, model=model), as_of))
    if as_json:
        print_json(found)
    else:
        print_scores(found)


async def _scores(ledger: "Path", parameters: dict[str, str], as_of: str | None) -> "ProbesAnswer":
    from api.cli.open_ledger import open_reader
    from api.service.models import probe_scores
    from projections.discovery.probe_score_tables import ProbeScoreQuery

    async with open_reader(ledger) as service:
        return await probe_scores(service, ProbeScoreQuery(**parameters), await service.resolve(as_of))


ProbeId = Annotated[
    str | None,
    typer.Option("--probe", help="The probe to ask.  \\[default: refactor-go]", metavar="ID", show_default=False),
]


def prompt(
    probe: ProbeId = None,
    exclude_file: Annotated[
        str | None,
        typer.Option(
            help="Who must not answer: a JSON array of identities or names, or one name a line; - is standard input.",
            metavar="FILE|-",
        ),
    ] = None,
) -> None:
    """Print the prompt that asks a model who it is, and gives it a probe's task. Nothing is written.

    Example: tallystick probe prompt --exclude-file seen.txt | some-model > answer.txt
    """
    from api.cli.output import print_line
    from api.service.discovery.prompts import prompt_of

    print_line(prompt_of(probe, exclude_file).rstrip("\n").encode())


def analyze(
    context: typer.Context,
    response_file: Annotated[str, typer.Option(help="One answer; - is standard input.", metavar="FILE|-")],
    probe: ProbeId = None,
) -> None:
    """Print what one answer is, as JSON: identity, key, code, score, known, wrapper, verdict. Nothing is written.

    The verdict is identified, wrapper, refused, empty or unparsable; the exit code is 0 where a model is identified,
    1 otherwise. Known is a model that is registered in the ledger, where there is one.

    Example: tallystick probe analyze --response-file answer.txt || echo "nobody"
    """
    import asyncio

    from api.cli.output import print_json
    from api.service.discovery.prompts import analyzed, read

    found = asyncio.run(analyzed(read(response_file, "response_file"), probe, ledger_of(context)))
    print_json(found)
    if found.verdict != "identified":
        raise typer.Exit(1)


if TYPE_CHECKING:
    from pathlib import Path

    from api.service.rescore import RescoreQuery, RescoreResult


def list_probes(as_json: AsJson = False) -> None:
    """List the probes there are, with the scorer of each.

    Example: tallystick probe list
    """
    from api.cli.output import out, print_json, table
    from instruments.probes import PROBES, scorer_name

    if as_json:
        names = ("id", "version", "kind", "language")
        print_json(
            [{name: getattr(probe, name) for name in names} | {"scorer": scorer_name(probe.scorer)} for probe in PROBES]
        )
        return
    shown = table("id", "version", "kind", "language", "scorer")
    for probe in PROBES:
        shown.add_row(probe.id, probe.version, probe.kind, probe.language or "-", scorer_name(probe.scorer))
    out().print(shown)


def rescore(
    context: typer.Context,
    *,
    scorer: Annotated[str, typer.Option(help="Who scores.", metavar="ID@VERSION")],
    run: Annotated[str | None, typer.Option(help="Only the outputs of this run.", metavar="RUN")] = None,
    probe: Annotated[
        str | None, typer.Option(help="Outputs of this probe; the scorer's own if not given.", metavar="ID")
    ] = None,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Score stored outputs by a scorer that did not score them, and show old and new side by side.

    The scores are events beside the old ones. Doing it again adds nothing. Outputs that were erased are skipped.

    Example: tallystick probe rescore --scorer debugging@1
    """
    import asyncio

    from api.cli.output import print_json
    from api.service.rescore import RescoreQuery

    found = asyncio.run(_rescore(RescoreQuery(scorer=scorer, run=run, probe=probe), ledger_of(context), url, token))
    if as_json:
        print_json(found)
    else:
        _show(found)


async def _rescore(asked: "RescoreQuery", ledger: "Path", url: str | None, token: str | None) -> "RescoreResult":
    from api.cli.open_ledger import open_store
    from api.cli.output import progress
    from api.service.rescore import rescore

    async with open_store(ledger, url, token) as target:
        with progress("rescoring", "outputs") as report:
            return await rescore(target, asked, report)


def _show(found: "RescoreResult") -> None:
    from api.cli.output import out, say, table
    from api.text import count, many, one_line

    elapsed_s = max(found.elapsed_ms / 1000, 0.001)
    typer.echo(
        f"{many(found.outputs, 'output')}: {found.appended:,} scored by {found.scorer}, {found.known:,} scored before; "
        f"{elapsed_s:.1f} s, {found.appended / elapsed_s:,.0f} outputs/s."
    )
    if found.erased:
        say(f"{many(found.erased, 'output')} skipped: the evidence was erased.")
    if found.lost:
        say(f"{many(found.lost, 'output')} skipped: the evidence is not there, or damaged.")
    if not found.models:
        return
    columns = [column for name in found.scorers for column in (name, "values", "invalid")]
    shown = table("model", "outputs", *columns, right=("outputs", *columns), wrap=("model",))
    for row in found.models:
        shown.add_row(one_line(row.model), count(row.outputs), *_cells(row.scorers, found.scorers))
    shown.add_row("all", count(found.outputs), *_cells(found.total, found.scorers))
    out().print(shown)
    for name in found.scorers:
        typer.echo(f"{name}: {found.discrimination[name].says}")


def _cells(figures: "dict[str, ScoreSummary]", scorers: list[str]) -> list[str]:
    from api.cli.output import figure
    from api.text import count

    return [
        cell
        for name in scorers
        for cell in (figure(figures[name].mean), count(figures[name].distinct), count(figures[name].invalid))
    ]


app.command("prompt")(prompt)
app.command("analyze")(analyze)
app.command("list")(list_probes)
app.command("rescore")(rescore)

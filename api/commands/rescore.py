"""probe list, probe rescore: which probes there are, and stored outputs by a scorer that did not score them."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.commands.options import AsJson, BearerToken, Url, ledger_of

if TYPE_CHECKING:
    from pathlib import Path

    from api.rescoring import Asked, Figures, Rescored


def list_probes(as_json: AsJson = False) -> None:
    """List the probes there are, with the scorer of each.

    Example: tallystick probe list
    """
    from api.printing import out, print_json, table
    from instruments.probes import PROBES, name_of

    if as_json:
        names = ("id", "version", "kind", "language")
        print_json(
            [{name: getattr(probe, name) for name in names} | {"scorer": name_of(probe.scorer)} for probe in PROBES]
        )
        return
    shown = table("id", "version", "kind", "language", "scorer")
    for probe in PROBES:
        shown.add_row(probe.id, probe.version, probe.kind, probe.language or "-", name_of(probe.scorer))
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

    from api.printing import print_json
    from api.rescoring import Asked

    found = asyncio.run(_rescore(Asked(scorer=scorer, run=run, probe=probe), ledger_of(context), url, token))
    if as_json:
        print_json(found)
    else:
        _show(found)


async def _rescore(asked: "Asked", ledger: "Path", url: str | None, token: str | None) -> "Rescored":
    from api.printing import progress
    from api.rescoring import rescore
    from api.sink import sink

    async with sink(ledger, url, token) as target:
        with progress("rescoring", "outputs") as report:
            return await rescore(target, asked, report)


def _show(found: "Rescored") -> None:
    from api.printing import count, many, one_line, out, say, table

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


def _cells(figures: "dict[str, Figures]", scorers: list[str]) -> list[str]:
    from api.printing import count, figure

    return [
        cell
        for name in scorers
        for cell in (figure(figures[name].mean), count(figures[name].distinct), count(figures[name].invalid))
    ]

"""import: what was kept elsewhere: decisions in tables or by a CSTP server, and reports of runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, BearerToken, Url, ledger_of

if TYPE_CHECKING:
    from api.importers.cstp import CstpImport, CstpImportResult
    from api.importers.decisions import DecisionImport, DecisionImportResult
    from api.importers.ledger import LedgerImportResult
    from api.importers.runs import RunImportResult

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Take in what was kept elsewhere."""


@app.command("decisions")
def decisions(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.csv|.jsonl", help="One decision a row.")],
    mapping: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="FIELD=COLUMN", help="Which column is which field; may be given several times."),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave bad rows out; else they refuse the file.")
    ] = False,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Import decisions and their outcomes. The same file again adds nothing.

    Fields: agent and decision; where known, category, confidence (0..1), outcome (success, partial, failure,
    abandoned, or 1, 0.5, 0), id, time, review_time, stakes, project, feature, question (by which agents that answered
    the same one are compared). An empty value is not known.

    Example: tallystick import decisions answers.csv --map decision=question_id --map question=question_id
    """
    import asyncio

    from api.cli.output import print_json, progress
    from api.importers.decisions import DecisionImport

    checked = DecisionImport(file, mapping or [], skip_bad=skip_bad, progress=progress)
    found = asyncio.run(_write(checked, ledger_of(context), url, token))
    if as_json:
        print_json(found)
    else:
        _tell(found)


async def _write(checked: "DecisionImport", ledger: Path, url: str | None, token: str | None) -> "DecisionImportResult":
    from api.cli.open_ledger import open_store

    async with open_store(ledger, url, token) as target:
        return await checked.write(target)


def _tell(found: "DecisionImportResult") -> None:
    from api.cli.output import say
    from api.importers.decisions import bad_row_lines
    from api.text import many

    elapsed_s = max(found.elapsed_ms / 1000, 0.001)
    typer.echo(
        f"{many(found.rows, 'row')}: {many(found.decisions, 'decision')} ({found.with_confidence:,} with a confidence),"
        f" {many(found.reviews, 'review')}."
    )
    typer.echo(
        f"{many(found.appended, 'event')} appended, {found.duplicates:,} there already; {elapsed_s:.1f} s,"
        f" {found.rows / elapsed_s:,.0f} rows/s."
    )
    if found.skipped:
        say(f"{many(found.skipped, 'bad row')} left out:")
        for line in bad_row_lines(found):
            say(line)
    if found.unused_columns:
        say(f"Columns not used: {', '.join(found.unused_columns)}.")


@app.command("cstp")
def cstp(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="CSTP's folder, a decision file, or its SQLite store.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be taken over; write nothing.")] = False,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Take over a CSTP installation: its YAML decision files, its SQLite store, or a folder with both, at any depth.

    Ids, times, agents, reviews and every field an event has are kept. What cannot be kept is told, and the rest is
    taken over. Run it again at any time: only what is new is added. Exit code 1 says that something was lost or
    contradicts, 0 that nothing was. --json prints all of it.

    Example: tallystick import cstp ./decisions --dry-run
    """
    import asyncio

    from api.cli.output import print_json, progress
    from api.importers.cstp import CstpImport

    report = asyncio.run(_take(CstpImport(path, progress=progress), ledger_of(context), url, token, dry_run))
    if as_json:
        print_json(report)
    else:
        _account(report)
    if not report.complete:
        raise typer.Exit(1)


async def _take(
    takeover: "CstpImport", ledger: Path, url: str | None, token: str | None, dry_run: bool
) -> "CstpImportResult":
    from api.cli.open_ledger import open_store

    async with open_store(ledger, url, token, writable=not dry_run) as target:
        return await takeover.write(target, dry_run=dry_run)


def _account(report: "CstpImportResult") -> None:
    from api.cli.output import say
    from api.cli.render.cstp_import import in_words, warnings

    for line in in_words(report):
        typer.echo(line)
    for line in warnings(report):
        say(line)


@app.command("runs")
def runs(
    context: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Run reports, one JSON object a file.")],
    agent: Annotated[str | None, typer.Option(help="Who speaks: whose runs they are.", metavar="NAME")] = None,
    rescore: Annotated[
        bool, typer.Option(help="Score outputs again, to tell which stated scores they do not bear out.")
    ] = True,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Import reports of discovery runs as they are, each with its own id and times. The same run again adds nothing.

    A file that cannot be read, or whose run is there and says something else, is told and left out; the others are
    imported. Exit code 1 says that some were left out, 2 that none could be used. A stated score that its own output
    does not bear out is imported as the fact it is, and told.

    Example: tallystick import runs runs/*.json
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.runs import print_taken

    taken = asyncio.run(_take_runs(files, agent, ledger_of(context), url, token, rescore=rescore))
    if as_json:
        print_json(taken)
    else:
        print_taken(taken)
    if taken.faults:
        raise typer.Exit(1 if taken.usable else 2)


async def _take_runs(
    files: list[str], agent: str | None, ledger: Path, url: str | None, token: str | None, *, rescore: bool
) -> "RunImportResult":
    from itertools import chain

    from api.cli.open_ledger import open_store
    from api.cli.output import progress
    from api.importers.runs import FileFault, RunImportResult, import_runs, read_runs

    taken, found = RunImportResult(), read_runs(files, agent)
    for one in found:
        if not isinstance(one, FileFault):
            async with open_store(ledger, url, token) as target:
                with progress("importing", "runs") as report:
                    await import_runs(chain([one], found), target, taken, report, len(files), rescore=rescore)
            break
        taken.files += 1
        taken.faults.append(one)
    return taken


@app.command("ledger")
def ledger_(
    context: typer.Context,
    export: Annotated[Path, typer.Argument(metavar="EXPORT", help="A complete export: its folder or its ZIP.")],
    key: Annotated[
        str | None, typer.Option(help="The verifier key of the log it is of, from somebody you trust.", metavar="KEY")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a ledger again from a complete export, where --ledger names none: the same bytes, positions and root.

    The export is verified, and nothing stands there unless all of it is right. The ledger gets a key of its own when
    it is first served; the checkpoint that it was made from stays beside it, in LEDGER.imported.

    Example: tallystick --ledger again.db import ledger audit.zip --key "$(cat log.vkey)"
    """
    from api.cli.output import print_json, progress
    from api.importers.ledger import rebuild_ledger

    with progress("importing", "events") as report:
        rebuilt = rebuild_ledger(export, ledger_of(context), key, progress=report)
    if as_json:
        print_json(rebuilt)
    else:
        _tell_rebuilt(rebuilt)
    if not rebuilt.placed:
        raise typer.Exit(1)


def _tell_rebuilt(rebuilt: "LedgerImportResult") -> None:
    from base64 import b64encode

    from api.cli.commands.verify import tell
    from api.text import many

    if not rebuilt.placed:
        tell(rebuilt.report)
        typer.echo(f"Nothing was imported: nothing stands at {rebuilt.ledger}.")
        return
    for note in rebuilt.report.notes:
        typer.echo(note)
    root = b64encode(rebuilt.report.root).decode()
    typer.echo(
        f"{rebuilt.ledger}: {many(rebuilt.report.events, 'event')} with {many(rebuilt.evidence, 'piece')} of evidence, "
        f"root {root}."
    )

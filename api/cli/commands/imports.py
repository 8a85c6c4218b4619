"""import: import decisions from tables or a CSTP installation, run reports, and complete exports."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import open_store, show, use_store
from api.cli.options import DryRun, argument, flag, option
from api.cli.output import print_json, print_note, show_progress
from api.text_format import pluralize
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from api.importers.cstp import CstpImportResult
    from api.importers.decisions import DecisionImport, DecisionImportOptions
    from api.importers.ledger_rebuild import LedgerImportResult
    from api.importers.runs.importer import RunImportResult
    from ledger.place import Place

SQLITE = b"SQLite format 3\0"
"""The first bytes of a ledger file."""

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

CONTINUE = "Stopped: kept all that was written; run the same command again to continue."


@contextmanager
def exit_when_interrupted(note: str = CONTINUE) -> Iterator[None]:
    """On Ctrl-C, print a note and exit."""
    try:
        yield
    except KeyboardInterrupt:
        print_note(note)
        raise typer.Exit(INTERRUPTED) from None


@verb(server=True)
def decisions(
    target: LedgerTarget,
    file: Annotated[str, argument("A table with one decision per row; - reads a pipe.", "FILE|-")],
    *,
    mapping: Annotated[
        list[str] | None, option("The column of a field; may be repeated.", "FIELD=COLUMN", "--map")
    ] = None,
    ignored: Annotated[
        list[str] | None, option("A column to leave out; may be repeated.", "COLUMN", "--ignore")
    ] = None,
    outcome_map: Annotated[
        list[str] | None, option("The outcome that a word means; may be repeated.", "WORD=OUTCOME", "--outcome-map")
    ] = None,
    percent: Annotated[bool, flag("--percent", "Confidences are in percent: 85% or 85 is 0.85.")] = False,
    skip_bad: Annotated[bool, flag("--skip-bad", "Skip bad rows. Without it, one bad row stops the import.")] = False,
    skip_conflicts: Annotated[
        bool, flag("--skip-conflicts", "Where a row contradicts the ledger, keep the ledger's values.")
    ] = False,
    match: Annotated[
        bool, flag("--match", "Find the decisions of rows by their content, too, not only by their ids.")
    ] = False,
    dry_run: Annotated[bool, flag("--dry-run", "Print what would be written, and write nothing.")] = False,
) -> None:
    """Import decisions and their outcomes.

    The file is CSV, JSON Lines or a JSON array; its delimiter and encoding are detected. Required fields: agent and
    decision. Optional: category, confidence (0..1), outcome (success, partial, failure, abandoned, or 1, 0.5, 0), id,
    time, review_time, stakes, project, feature, and question (agents that answered the same question can be compared).
    An empty value means unknown.

    Importing the same file again adds nothing. A new or changed outcome is added as a review, a changed question
    replaces the old one, and any other change is a conflict: exit code 1, and nothing is written.

    Example: tallystick import decisions answers.csv --map decision=question_id --map question=question_id
    """
    from api.importers.decisions import DecisionImportOptions

    options = DecisionImportOptions(
        mapping=mapping or [],
        ignored=ignored or [],
        outcome_map=outcome_map or [],
        percent=percent,
        skip_bad=skip_bad,
        skip_conflicts=skip_conflicts,
        match=match,
        dry_run=dry_run,
    )
    if code := _import_decisions(file, options, target):
        raise typer.Exit(code)


def _import_decisions(file: str, options: "DecisionImportOptions", target: LedgerTarget) -> int:
    """Import a file, print the result, and return the exit code."""
    import asyncio

    from api.cli.render.decision_import import print_import, stopped_line
    from api.importers.decisions import DecisionImport, regular_file

    source = None
    try:
        with regular_file(file) as path:
            name = "standard input" if file == "-" else file
            source = DecisionImport(path, options, name=name, progress=show_progress)
            signals = asyncio.run(_write_decisions(source, target)) if source.result.usable else []
    except KeyboardInterrupt:
        print_note(stopped_line(source.result.kept if source is not None else 0))
        return INTERRUPTED
    result = source.result
    if target.json:
        print_json(result)
    elif not result.stopped:
        print_import(result)
    if result.stopped:
        print_note(stopped_line(result.kept))
        return 128 + signals[0]
    return int(result.refused or not result.usable)


async def _write_decisions(source: "DecisionImport", target: LedgerTarget) -> list[int]:
    """Write a file; return the signals that stopped it. A second signal ends the command at once."""
    from api.cli.signals import catch_stop_signals

    async with open_store(target, writable=not source.result.dry_run) as store:
        with catch_stop_signals() as stop:
            await source.write(store, stop.event.is_set)
        return stop.caught


@verb(server=True)
def cstp(
    target: LedgerTarget,
    path: Annotated[Path, argument("CSTP's folder, a decision file, or its SQLite store.", "PATH")],
    dry_run: DryRun = False,
) -> None:
    """Import a CSTP installation: decision files, a SQLite store, or a folder with both.

    Folders are searched at any depth. Ids, times, agents, reviews, and every field that an event has are kept. Fields
    that cannot be kept are reported, and the rest is imported. Run it again at any time: only new decisions are added.
    Exit code 1: something was lost or contradictory. --json prints all of it.

    Example: tallystick import cstp ./decisions --dry-run
    """
    from api.importers.cstp import CstpImport

    with exit_when_interrupted():
        source = CstpImport(path, progress=show_progress)
        report = use_store(target, lambda store: source.write(store, dry_run=dry_run), writable=not dry_run)
    show(target, report, _print_cstp, code=int(not report.complete))


def _print_cstp(report: "CstpImportResult") -> None:
    from api.cli.render.cstp_import import import_summary_lines, warning_lines

    for line in import_summary_lines(report):
        typer.echo(line)
    for line in warning_lines(report):
        print_note(line)


@verb(server=True)
def runs(
    target: LedgerTarget,
    files: Annotated[list[str], argument("Run reports, one JSON object per file.", "FILE...")],
    agent: Annotated[str | None, option("The agent of the runs.", "NAME")] = None,
    rescore: Annotated[bool, option("Score the outputs again, and report stated scores that differ.")] = True,
) -> None:
    """Import reports of discovery runs.

    Each run keeps its id and its times. Importing the same run again adds nothing. A file that cannot be read, or whose
    run the ledger has with other content, is reported and skipped; the others are imported. Exit code 1: some files
    were skipped; 2: none could be used. A stated score that does not match its output is imported and reported.

    Example: tallystick import runs runs/*.json
    """
    import asyncio

    from api.cli.render.discovery_runs import print_import_result

    with exit_when_interrupted():
        result = asyncio.run(_import_runs(files, agent, target, rescore=rescore))
    show(target, result, print_import_result, code=(1 if result.usable else 2) if result.faults else 0)


async def _import_runs(
    files: list[str], agent: str | None, target: LedgerTarget, *, rescore: bool
) -> "RunImportResult":
    """Import the runs. The ledger is opened only when a file could be read."""
    from itertools import chain

    from api.importers.batch_append import FileFault
    from api.importers.runs.importer import RunImportResult, import_runs, read_runs

    result, reports = RunImportResult(), read_runs(files, agent)
    for item in reports:
        if not isinstance(item, FileFault):
            async with open_store(target) as store:
                with show_progress("importing", "runs") as report:
                    await import_runs(chain([item], reports), store, result, report, len(files), rescore=rescore)
            break
        result.files += 1
        result.faults.append(item)
    return result


@verb()
def ledger(
    target: LedgerTarget,
    source: Annotated[str, argument("A complete export (its folder or its ZIP), or a ledger to move.", "SOURCE")],
    *,
    to: Annotated[
        str | None, option("The new place: a file, or postgresql://HOST/DATABASE?ledger=NAME.", "PLACE")
    ] = None,
    keep: Annotated[bool, flag("--keep", "Copy a ledger without its key, and do not seal the old place.")] = False,
    without_evidence: Annotated[bool, flag("--without-evidence", "Move a ledger even if it lacks evidence.")] = False,
    key: Annotated[str | None, option("The verifier key of the log, from a source you trust.", "KEY")] = None,
) -> None:
    """Create a ledger from a complete export, or move one between a file and PostgreSQL.

    --to names the new place, or else --ledger; there must be no ledger, or an incomplete one of an interrupted import,
    which continues. The new ledger gets the same bytes, positions and root. Everything is verified first: if anything
    is wrong, the new place accepts no events.

    A ledger that is moved takes its key, tokens, evidence and checkpoints along. The old place is then sealed: it can
    be read, and accepts no events. A ledger from an export gets its own key when it is first served; the checkpoint of
    the export is kept beside it, in LEDGER.imported.

    Example: tallystick import ledger tallystick.db --to 'postgresql://n1,n2,n3/db?ledger=acme'
    """
    place = target.place if to is None else target.place_of(to, "to")
    old = _ledger_to_move(target, source)
    stopped = f"Stopped: {place} accepts no events. Run the same command again."
    with exit_when_interrupted(stopped), show_progress("importing", "events") as report:
        if old is None:
            from api.importers.ledger_rebuild import rebuild_ledger

            _refuse_move_options(source, keep=keep, without_evidence=without_evidence)
            result = rebuild_ledger(Path(source), place, key, progress=report)
        else:
            from api.importers.ledger_move import move_ledger

            result = move_ledger(old, place, key=key, keep=keep, without_evidence=without_evidence, progress=report)
    show(target, result, _print_rebuilt, code=int(not result.placed))


def _ledger_to_move(target: LedgerTarget, source: str) -> "Place | None":
    """Return the place of a ledger file or of a ledger in a database; None for an export. Errors: InvalidQuery."""
    from contextlib import suppress

    from ledger.regular_file import open_regular

    if "://" in source:
        return target.place_of(source, "SOURCE")
    with suppress(OSError), open_regular(source) as file:
        if file.read(len(SQLITE)) == SQLITE:
            return target.place_of(source, "SOURCE").follow_link()
    return None


def _refuse_move_options(source: str, **options: bool) -> None:
    for name, value in options.items():
        if value:
            advice = "Leave it out, or name a ledger."
            raise InvalidQuery(name.replace("_", "-"), f"{source} is not a ledger that can be moved.", advice)


def _print_rebuilt(result: "LedgerImportResult") -> None:
    from base64 import b64encode

    from api.cli.commands.verify import print_report

    if not result.placed:
        print_report(result.report)
        typer.echo(f"Nothing was imported, and {result.ledger} accepts no events.")
        return
    for note in result.report.notes:
        typer.echo(note)
    root = b64encode(result.report.root).decode()
    if result.complete_before:
        events = pluralize(result.report.events, "event")
        typer.echo(f"{result.ledger}: {events}, root {root}. An earlier attempt moved them; nothing was left to do.")
        return
    rate = result.report.events / max(result.report.elapsed_ms, 1) * 1000
    typer.echo(
        f"{result.ledger}: {pluralize(result.report.events, 'event')} "
        f"with {pluralize(result.evidence, 'piece')} of evidence, "
        f"root {root} ({rate:,.0f} events/s)."
    )
    if result.missing:
        print_note(f"{pluralize(len(result.missing), 'piece')} of evidence are missing: {', '.join(result.missing)}.")
    if result.sealed is not None:
        print_note(f"{result.sealed} is sealed: it can be read, and accepts no more events.")

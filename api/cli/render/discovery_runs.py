"""Print discovery runs, and the result of importing reports."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from api.cli.output import format_speed, make_facts, make_table, open_console, print_note, truncate
from api.importers.batch_append import FileFault
from api.importers.runs.importer import RunImportResult
from api.importers.runs.score_check import TOLERANCE, UnsupportedScore
from api.service.discovery.queries import RunPage
from api.text_format import (
    format_count,
    format_figure,
    format_time,
    one_line,
    pluralize,
)
from projections.discovery.run_index import RunEntry
from projections.discovery.run_report import RunAttempt, RunDetail

UNSUPPORTED_MAX = 20
"""Unsupported scores that are listed. Of the others, only the number is printed."""


def print_runs(page: RunPage) -> None:
    """Print one line for each run."""
    table = make_table(
        "run", "begun (UTC)", "agent", "router", "probe", "models", "attempts", "ending",
        right=("models", "attempts"), wrap=("agent", "router", "ending"),
        drop=("router", "probe", "begun (UTC)", "agent", "attempts", "models"),
    )  # fmt: skip
    for run in page.runs:
        table.add_row(
            run.run_id,
            format_time(run.start_time),
            one_line(run.agent),
            one_line(run.router),
            one_line(run.probe_id),
            format_count(run.models),
            format_count(run.attempts),
            _ending(run),
        )
    open_console().print(table)
    more = f" Next page: --offset {page.next}" if page.next is not None else ""
    print_note(f"{format_count(len(page.runs))} of {pluralize(page.total, 'run')}.{more}")


def print_run(detail: RunDetail) -> None:
    """Print one run: its properties, its models with their scores, and its attempts if it has them."""
    console, run = open_console(), detail.summary
    assert isinstance(run, RunEntry), "the summary was requested"
    console.print(run.run_id, style="bold")
    facts = make_facts()
    facts.add_row("agent", one_line(run.agent))
    for name in ("router", "requested_model", "probe_id", "probe_version"):
        if (value := getattr(run, name)) is not None:
            facts.add_row(name.replace("_", " ").removesuffix(" id"), one_line(value))
    facts.add_row("begun", f"{format_time(run.start_time)} UTC")
    facts.add_row("ended", f"{format_time(run.end_time)} UTC" if run.end_time is not None else "still running")
    if run.reason is not None:
        facts.add_row("because", one_line(detail.termination_reason))
    outcomes = ", ".join(f"{n:,} {name}" for name, n in run.outcomes.items())
    facts.add_row("attempts", f"{run.attempts:,}{f' ({outcomes})' if outcomes else ''}")
    console.print(facts)
    _print_results(console, detail)
    _print_attempts(console, detail)


def _print_results(console: Console, detail: RunDetail) -> None:
    numbers = ("iteration", "score", "elapsed")
    table = make_table(
        "iteration", "claimed model", "provider", "score", "elapsed", right=numbers, wrap=("claimed model", "provider"),
        drop=("elapsed", "provider"),
    )  # fmt: skip
    for result in detail.results or ():
        score = (result.probe.score or {}).get("total_score")
        table.add_row(
            str(result.iteration),
            one_line(result.model.model_name),
            one_line(result.model.provider),
            "no score" if score is None else format_figure(score),
            _elapsed(result.probe.elapsed_ns),
        )
    if detail.results:
        console.print()
        console.print(table)


def _print_attempts(console: Console, detail: RunDetail) -> None:
    if detail.attempts:
        table = make_table(
            "attempt", "outcome", "claimed model", "endpoint says", "elapsed", "scores", "",
            right=("attempt", "elapsed"), wrap=("claimed model", "endpoint says", "scores", ""),
            drop=("elapsed", "", "endpoint says"),
        )  # fmt: skip
        for attempt in detail.attempts:
            scores = ", ".join(f"{score.scorer_id} {format_figure(score.total_score)}" for score in attempt.scores)
            table.add_row(
                str(attempt.attempt),
                attempt.outcome,
                one_line(attempt.claimed.model_name if attempt.claimed is not None else None),
                one_line(attempt.reported_model),
                _elapsed(attempt.elapsed_ns),
                one_line(scores),
                _note(attempt),
            )
        console.print()
        console.print(table)
    for signal in detail.signals or ():
        meta = ", ".join(f"{name} {value}" for name, value in (signal.meta or {}).items())
        console.print(one_line(f"{signal.event} at {signal.ts} by {signal.agent}: {meta}".rstrip(": ")))


def print_import_result(result: RunImportResult) -> None:
    """Print the result of an import; faults go to standard error."""
    runs = result.runs + result.there
    written = f"{pluralize(result.runs, 'run')} written ({pluralize(result.results, 'result')})"
    open_console().print(
        f"{pluralize(result.files, 'file')}: {written}, "
        f"{result.there:,} there already, {len(result.faults):,} left out.",
        soft_wrap=True,
    )
    open_console().print(
        f"{pluralize(result.appended, 'event')} appended; {format_speed(runs, result.elapsed_ms, 'runs')}.",
        soft_wrap=True,
    )
    print_unsupported_scores(result.unborne)
    for fault in result.faults:
        print_note(fault_text(fault))


def print_unsupported_scores(scores: Sequence[UnsupportedScore]) -> None:
    """Print stated scores that do not match their outputs."""
    if not scores:
        return
    open_console().print(
        f"{pluralize(len(scores), 'stated score')} not supported by the output "
        f"(by more than {TOLERANCE:g}), kept as stated:"
    )
    numbers = ("attempt", "stated", "by its counts", "scored again")
    table = make_table("run", "attempt", "claimed model", "stated", "by its counts", "scored again", "scorer", "",
                       right=numbers, wrap=("run", "claimed model", ""),
                       drop=("scorer", "claimed model", "by its counts"))  # fmt: skip
    for score in scores[:UNSUPPORTED_MAX]:
        table.add_row(
            score.run_id,
            str(score.attempt),
            one_line(score.model_name),
            format_figure(score.stated),
            format_figure(score.by_counts),
            format_figure(score.by_scorer),
            score.scorer,
            "the output is invalid" if "invalid" in score.why else "",
        )
    open_console().print(table)
    if len(scores) > UNSUPPORTED_MAX:
        open_console().print(f"and {len(scores) - UNSUPPORTED_MAX:,} more; --json prints all.")


def fault_text(fault: FileFault) -> str:
    """Return the error of a file, with advice."""
    return f"error: {one_line(fault.file)}: {one_line(fault.detail)}\n{one_line(fault.advice)}".rstrip()


def _note(attempt: RunAttempt) -> str | Text:
    """Return a remark on an attempt: that it was erased, the digest of its evidence, or its error."""
    if attempt.erased:
        return "erased"
    if attempt.response is None and attempt.output is None and attempt.response_digest is not None:
        return f"evidence {attempt.response_digest[:12]}"
    return truncate(one_line(attempt.detail or ""))


def _ending(run: RunEntry) -> str:
    return "still running" if run.end_time is None else one_line(run.ending or run.reason)


def _elapsed(elapsed_ns: int | None) -> str:
    return "-" if elapsed_ns is None else f"{elapsed_ns / 1e6:,.0f} ms"

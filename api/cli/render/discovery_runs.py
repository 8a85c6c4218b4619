"""Print discovery runs, and the result of importing reports."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from api.cli.output import figure, format_speed, make_facts, open_console, print_note, table_of, truncate
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
from projections.discovery.run_report import DiscoveryResult, RunAttempt, RunDetail

STATED = ("router", "requested_model", "probe_id", "probe_version")
"""Fields of a run that are printed if it has them."""

UNSUPPORTED_MAX = 20
"""Unsupported scores that are listed. Of the others, only the number is printed."""


def print_runs(page: RunPage) -> None:
    """Print one line for each run."""
    table = table_of(
        page.runs,
        {"run": "run_id", "begun (UTC)": "start_time", "agent": "agent", "router": "router", "probe": "probe_id",
         "models": "models", "attempts": "attempts", "ending": _ending},
        right=("models", "attempts"), wrap=("agent", "router", "ending"),
        drop=("router", "probe", "begun (UTC)", "agent", "attempts", "models"),
    )  # fmt: skip
    open_console().print(table)
    more = f" Next page: --offset {page.next}" if page.next is not None else ""
    print_note(f"{format_count(len(page.runs))} of {pluralize(page.total, 'run')}.{more}")


def print_run(detail: RunDetail) -> None:
    """Print one run: its properties, its models with their scores, and its attempts if it has them."""
    console, run = open_console(), detail.summary
    assert isinstance(run, RunEntry), "the summary was requested"
    console.print(run.run_id, style="bold")
    console.print(make_facts(_facts(detail, run)))
    _print_results(console, detail)
    _print_attempts(console, detail)


def _facts(detail: RunDetail, run: RunEntry) -> Iterator[tuple[str, object]]:
    yield "agent", one_line(run.agent)
    yield from ((name.removesuffix("_id").replace("_", " "), getattr(run, name)) for name in STATED)
    yield "begun", f"{format_time(run.start_time)} UTC"
    yield "ended", f"{format_time(run.end_time)} UTC" if run.end_time is not None else "still running"
    if run.reason is not None:
        yield "because", one_line(detail.termination_reason)
    outcomes = ", ".join(f"{n:,} {name}" for name, n in run.outcomes.items())
    yield "attempts", f"{run.attempts:,}{f' ({outcomes})' if outcomes else ''}"


def _print_results(console: Console, detail: RunDetail) -> None:
    if detail.results:
        table = table_of(
            detail.results,
            {"iteration": lambda result: str(result.iteration), "claimed model": "model.model_name",
             "provider": "model.provider", "score": _total_score,
             "elapsed": lambda result: _elapsed(result.probe.elapsed_ns)},
            right=("iteration", "score", "elapsed"), wrap=("claimed model", "provider"), drop=("elapsed", "provider"),
        )  # fmt: skip
        console.print()
        console.print(table)


def _total_score(result: DiscoveryResult) -> str:
    score = (result.probe.score or {}).get("total_score")
    return "no score" if score is None else format_figure(score)


def _print_attempts(console: Console, detail: RunDetail) -> None:
    if detail.attempts:
        table = table_of(
            detail.attempts,
            {"attempt": lambda attempt: str(attempt.attempt), "outcome": "outcome",
             "claimed model": "claimed.model_name", "endpoint says": "reported_model",
             "elapsed": lambda attempt: _elapsed(attempt.elapsed_ns),
             "scores": lambda attempt: [f"{s.scorer_id} {format_figure(s.total_score)}" for s in attempt.scores],
             "": _note},
            right=("attempt", "elapsed"), wrap=("claimed model", "endpoint says", "scores", ""),
            drop=("elapsed", "", "endpoint says"),
        )  # fmt: skip
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
    table = table_of(
        scores[:UNSUPPORTED_MAX],
        {"run": "run_id", "attempt": lambda score: str(score.attempt), "claimed model": "model_name",
         "stated": figure("stated"), "by its counts": figure("by_counts"), "scored again": figure("by_scorer"),
         "scorer": "scorer", "": lambda score: "the output is invalid" if "invalid" in score.why else ""},
        right=("attempt", "stated", "by its counts", "scored again"), wrap=("run", "claimed model", ""),
        drop=("scorer", "claimed model", "by its counts"),
    )  # fmt: skip
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

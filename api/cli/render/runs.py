"""Runs and what became of imported reports, as people read them."""

from collections.abc import Sequence

from rich.console import Console

from api.cli.output import cut, figure, out, say, table
from api.importers.runs import TOLERANCE, FileFault, RunImportResult, RunPage, RunView, UnsupportedScore
from api.text import count, many, moment, one_line
from projections.discovery.run_index import RunEntry
from projections.discovery.run_report import RunAttempt, RunDetail

UNBORNE_SHOWN = 20
"""Scores not borne out that are listed; of the others only the number is told."""


def print_runs(page: RunPage) -> None:
    """Runs, one a line."""
    shown = table(
        "run", "begun (UTC)", "agent", "router", "probe", "models", "attempts", "ending",
        right=("models", "attempts"), wrap=("agent", "router", "ending"),
    )  # fmt: skip
    for run in page.runs:
        shown.add_row(
            run.run_id,
            moment(run.start_time),
            cut(one_line(run.agent)),
            cut(one_line(run.router)),
            one_line(run.probe_id),
            count(run.models),
            count(run.attempts),
            cut(_ending(run)),
        )
    out().print(shown)
    more = f" The next: --offset {page.next}." if page.next is not None else ""
    say(f"{count(len(page.runs))} of {many(page.total, 'run')}.{more}")


def print_run(shown: RunView) -> None:
    """One run: its models with their scores; what else is asked for."""
    console, run, detail = out(), shown.entry, shown.detail
    console.print(run.run_id, style="bold")
    facts = table("", "", wrap=("",))
    facts.show_header = False
    facts.add_row("agent", one_line(run.agent))
    for name in ("router", "requested_model", "probe_id", "probe_version"):
        if (value := getattr(run, name)) is not None:
            facts.add_row(name.replace("_", " ").removesuffix(" id"), one_line(value))
    facts.add_row("begun", f"{moment(run.start_time)} UTC")
    facts.add_row("ended", f"{moment(run.end_time)} UTC" if run.end_time is not None else "it goes on")
    if run.reason is not None:
        facts.add_row("because", one_line(detail.termination_reason))
    outcomes = ", ".join(f"{n:,} {name}" for name, n in run.outcomes.items())
    facts.add_row("attempts", f"{run.attempts:,}{f' ({outcomes})' if outcomes else ''}")
    console.print(facts)
    _print_results(console, detail)
    _print_attempts(console, detail)


def _print_results(console: Console, detail: RunDetail) -> None:
    numbers = ("iteration", "score", "elapsed")
    shown = table("iteration", "claimed model", "provider", "score", "elapsed", right=numbers, wrap=("provider",))
    for result in detail.results or ():
        score = (result.probe.score or {}).get("total_score")
        shown.add_row(
            str(result.iteration),
            one_line(result.model.model_name),
            cut(one_line(result.model.provider)),
            figure(score),
            _elapsed(result.probe.elapsed_ns),
        )
    if detail.results:
        console.print()
        console.print(shown)


def _print_attempts(console: Console, detail: RunDetail) -> None:
    if detail.attempts:
        shown = table("attempt", "outcome", "claimed model", "endpoint says", "elapsed", "scores", "",
                      right=("attempt", "elapsed"), wrap=("scores", ""))  # fmt: skip
        for attempt in detail.attempts:
            scores = ", ".join(f"{one.scorer_id} {figure(one.total_score)}" for one in attempt.scores)
            shown.add_row(
                str(attempt.attempt),
                attempt.outcome,
                one_line(attempt.claimed.model_name if attempt.claimed is not None else None),
                one_line(attempt.reported_model),
                _elapsed(attempt.elapsed_ns),
                cut(one_line(scores)),
                cut(one_line(_note(attempt))),
            )
        console.print()
        console.print(shown)
    for signal in detail.signals or ():
        meta = ", ".join(f"{name} {value}" for name, value in (signal.meta or {}).items())
        console.print(one_line(f"{signal.event} at {signal.ts} by {signal.agent}: {meta}".rstrip(": ")))


def print_taken(taken: RunImportResult) -> None:
    """What became of the files of an import; what was wrong goes to standard error."""
    elapsed_s = max(taken.elapsed_ms / 1000, 0.001)
    done = taken.runs + taken.there
    print_line = f"{many(taken.files, 'file')}: {many(taken.runs, 'run')} written ({many(taken.results, 'result')}),"
    out().print(f"{print_line} {taken.there:,} there already, {len(taken.faults):,} left out.", soft_wrap=True)
    out().print(
        f"{many(taken.appended, 'event')} appended; {elapsed_s:.1f} s, {done / elapsed_s:,.0f} runs/s.", soft_wrap=True
    )
    print_unborne(taken.unborne)
    for fault in taken.faults:
        say(told(fault))


def print_unborne(found: Sequence[UnsupportedScore]) -> None:
    """Stated scores that are not borne out, the first of them."""
    if not found:
        return
    out().print(f"{many(len(found), 'stated score')} not borne out (by more than {TOLERANCE:g}), and kept as stated:")
    numbers = ("attempt", "stated", "by its counts", "scored again")
    shown = table("run", "attempt", "claimed model", "stated", "by its counts", "scored again", "scorer", "",
                  right=numbers, wrap=("claimed model", ""))  # fmt: skip
    for one in found[:UNBORNE_SHOWN]:
        shown.add_row(
            one.run_id,
            str(one.attempt),
            cut(one_line(one.model_name)),
            figure(one.stated),
            figure(one.by_counts),
            figure(one.by_scorer),
            one.scorer,
            "the output is invalid" if "invalid" in one.why else "",
        )
    out().print(shown)
    if len(found) > UNBORNE_SHOWN:
        out().print(f"and {len(found) - UNBORNE_SHOWN:,} more; --json tells all.")


def told(fault: FileFault) -> str:
    """What is wrong with a file, and what to do."""
    return f"error: {one_line(fault.file)}: {one_line(fault.detail)}\n{one_line(fault.advice)}".rstrip()


def _note(attempt: RunAttempt) -> str | None:
    """What is to be said of an attempt beside its figures."""
    if attempt.erased:
        return "erased"
    if attempt.response is None and attempt.output is None and attempt.response_digest is not None:
        return f"evidence {attempt.response_digest[:12]}"
    return attempt.detail or ""


def _ending(run: RunEntry) -> str:
    return "it goes on" if run.end_time is None else one_line(run.ending or run.reason)


def _elapsed(elapsed_ns: int | None) -> str:
    return "-" if elapsed_ns is None else f"{elapsed_ns / 1e6:,.0f} ms"

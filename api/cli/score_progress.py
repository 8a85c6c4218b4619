"""Progress of an evaluation: a bar on a terminal, otherwise a line for each answer of the agent."""

from typing import TYPE_CHECKING

from api.cli.ledger_target import LedgerTarget

if TYPE_CHECKING:
    from api.progress import ReportProgress as Progress
    from api.reports import EvaluationReport
    from api.service.evaluation.eval_run_command import EvalRunCommand, Say
    from api.service.evaluation.judge_run_command import JudgeRunCommand
    from api.service.evaluation.run_operations import GradedAttempt

BAR_UPDATE_S = 0.5
"""Seconds between two updates of the progress bar while the agent answers."""


class ProgressReporter:
    """Reports each score: with a progress bar on a terminal, otherwise with one line for each answer of the agent."""

    def __init__(self, bar: "Progress", print_line: "Say") -> None:
        self._bar = bar
        self._print_line = print_line
        self._done = self._total = 0

    async def tick(self) -> None:
        """Update the bar regularly, so that its times are right while the agent answers. Runs until it is cancelled."""
        import asyncio

        while True:
            await asyncio.sleep(BAR_UPDATE_S)
            if self._total:
                self._bar(self._done, self._total)

    def report(self, graded: "GradedAttempt | None", done: int, total: int) -> None:
        """Report a score. Before the first one, `graded` is None and only the total is shown."""
        import sys

        from api.reports.escape import one_line
        from api.reports.format import points, seconds

        self._done, self._total = done, total
        self._bar(done, total)
        if graded is None or graded.score.elapsed_ns is None or sys.stderr.isatty():
            return
        score = graded.score
        result = f"{points(score.total_score)} {'passed' if score.passed else 'failed'}"
        if graded.superseded:
            result = "not recorded, another process was first"
        elif score.state != "scored":
            result = one_line(f"{score.failure}: {score.detail}")
        attempt = f"#{score.attempt}" if score.retry is None else f"#{score.attempt}, retry {score.retry}"
        self._print_line(f"[{done}/{total}] {score.scenario_id} {attempt}: {result} ({seconds(score.elapsed_ns)})")


async def run_until_stopped(
    command: "EvalRunCommand | JudgeRunCommand", target: LedgerTarget, label: str
) -> "tuple[EvaluationReport, list[int]]":
    """Return the result, and the signals that stopped the command."""
    import asyncio

    from api.cli.open_ledger import open_store
    from api.cli.output import print_note, show_progress
    from api.cli.signals import catch_stop_signals

    with catch_stop_signals() as stop, show_progress(label, "answers", piped=False) as report:
        reporter = ProgressReporter(report, print_note)
        ticking = asyncio.create_task(reporter.tick())
        try:
            async with open_store(target) as store:
                return await command.run(store, stop.event, print_note, reporter.report), stop.caught
        finally:
            ticking.cancel()

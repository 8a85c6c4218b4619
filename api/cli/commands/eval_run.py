"""eval run: run an agent on the scenarios of a folder, or score the captured analyses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.errors import exit_2_on_error
from api.cli.ledger_target import LedgerTarget, verb

if TYPE_CHECKING:
    from api.progress import ReportProgress as Progress
    from api.reports import EvaluationReport
    from api.service.evaluation.eval_run_command import EvalRunCommand, Say
    from api.service.evaluation.options import EvalOptions
    from api.service.evaluation.run_operations import GradedAttempt
    from projections.evaluation.view_types import Evaluation

BAR_UPDATE_S = 0.5
"""Seconds between two updates of the progress bar while the agent answers."""

Fixtures = Annotated[Path, typer.Argument(help="The folder of the suite, or of one scenario.", metavar="FIXTURES")]
AgentCommand = Annotated[
    str | None,
    typer.Option(
        "--agent", help="The agent's command: reads an investigation on stdin, prints an analysis.", metavar="CMD"
    ),
]
Chosen = Annotated[
    str | None, typer.Option("-k", help="Only matching scenarios, as in pytest: image and not llm.", metavar="EXPR")
]
Attempts = Annotated[
    int | None, typer.Option(min=1, max=1000, help="Attempts at each scenario; 1 without it.", metavar="N")
]
Jobs = Annotated[int, typer.Option(min=1, max=256, help="Agents that run at the same time.", metavar="N")]
Name = Annotated[str | None, typer.Option(help="The suite's name; without it the name of its folder.", metavar="SUITE")]
AgentName = Annotated[str | None, typer.Option(help="The agent's name; without it command:PROGRAM.", metavar="NAME")]
AgentVersion = Annotated[str | None, typer.Option(help="The agent's version.", metavar="V")]
Model = Annotated[str | None, typer.Option(help="The language model that answers, as you claim.", metavar="NAME")]
Timeout = Annotated[float, typer.Option(help="Seconds for one answer.", metavar="S")]
EnableLlm = Annotated[
    bool | None,
    typer.Option(
        "--enable-llm/--no-enable-llm", help="Send this to the agent, instead of test_config's.", show_default=False
    ),
]
RunId = Annotated[str | None, typer.Option(help="The id of the run; without it one is made.", metavar="ID")]
Resume = Annotated[str | None, typer.Option(help="Resume an interrupted run.", metavar="RUN")]
Meta = Annotated[
    list[str] | None, typer.Option(help="Something else to record, such as commit=3f2a9c1.", metavar="KEY=VALUE")
]
Baselines = Annotated[
    bool, typer.Option("--baselines/--no-baselines", help="Also score an empty answer and the most frequent cause.")
]
JUnit = Annotated[Path | None, typer.Option(help="Write JUnit XML.", metavar="FILE")]
Html = Annotated[Path | None, typer.Option(help="Write one self-contained HTML page.", metavar="FILE")]
Markdown = Annotated[Path | None, typer.Option(help="Write a comment for a pull request.", metavar="FILE")]


@verb(server=True)
@exit_2_on_error()
def run(
    target: LedgerTarget,
    fixtures: Fixtures,
    *,
    agent: AgentCommand = None,
    chosen: Chosen = None,
    attempts: Attempts = None,
    jobs: Jobs = 1,
    name: Name = None,
    agent_name: AgentName = None,
    agent_version: AgentVersion = None,
    model: Model = None,
    timeout: Timeout = 600.0,
    enable_llm: EnableLlm = None,
    run: RunId = None,
    resume: Resume = None,
    meta: Meta = None,
    baselines: Baselines = True,
    junit: JUnit = None,
    html: Html = None,
    markdown: Markdown = None,
) -> None:
    """Run an agent on scenarios and score its answers.

    Without --agent, the analyses that were captured with the scenarios are scored. Each score is in the ledger as soon
    as it is known. Ctrl-C keeps the scores so far, and --resume continues the run. Exit code 0: every scenario passed;
    1: one failed; 2: there is nothing to judge: no scenario, broken ones, or errors of the agent.

    Example: tallystick eval run fixtures

    Example: tallystick eval run fixtures --agent 'python agent.py' --agent-version 1.4 --attempts 3 -k image

    Example: tallystick eval run fixtures --agent 'python agent.py' --resume 3f2a9c1e
    """
    from api.reports import ReportFiles
    from api.service.evaluation.options import EvalOptions

    options = EvalOptions(
        fixtures=fixtures,
        agent=agent,
        suite=name,
        selection=chosen if chosen and chosen.strip() else None,
        attempts=attempts,
        agent_name=agent_name,
        agent_version=agent_version,
        model=model,
        enable_llm=enable_llm,
        meta=_parse_meta(meta or []),
        jobs=jobs,
        timeout_s=timeout,
        run_id=run,
        resume=resume,
        baselines=baselines,
        files=ReportFiles.checked(target.ledger, junit=junit, html=html, markdown=markdown),
    )
    _run(options, target)


def _run(options: "EvalOptions", target: LedgerTarget) -> None:
    """Run the evaluation, print the result, and exit with its code."""
    import asyncio
    import os

    from api.cli.output import print_json, print_note
    from api.cli.render.eval_run import print_evaluation
    from api.service.evaluation.eval_run_command import EvalRunCommand
    from api.service.evaluation.queries import without_analyses
    from instruments.evals.scoring.semantic_matcher import matcher_from_environment

    cache = None if target.url is not None else target.ledger.with_name(f"{target.ledger.name}.embeddings")
    runner = EvalRunCommand(options, matcher_from_environment(os.environ, cache))
    report, signals = asyncio.run(_run_until_stopped(runner, target))
    evaluation = report.evaluation
    if target.json:
        print_json(without_analyses(evaluation))
    else:
        print_evaluation(evaluation)
    if evaluation.ended:
        options.files.write(report)
    else:
        print_note(
            f"Stopped. The scores so far are kept; to continue: --resume {evaluation.run_id}, with the same agent."
        )
    if signals:
        raise typer.Exit(128 + signals[0])
    if code := exit_code(evaluation):
        raise typer.Exit(code)


def exit_code(evaluation: "Evaluation") -> int:
    """Return 0 if every scenario passed, 1 if one failed, 2 if there is nothing to judge."""
    if evaluation.failed:
        return 1
    return 0 if evaluation.passed and not evaluation.errors else 2


def _parse_meta(pairs: list[str]) -> dict[str, str]:
    """Return the pairs as a dictionary. Errors: InvalidQuery."""
    from ledger.errors import InvalidQuery

    parsed: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals or key in parsed:
            detail = f"{pair!r} is not KEY=VALUE, or its key was given twice."
            raise InvalidQuery("meta", detail, "Write --meta commit=3f2a9c1.")
        parsed[key] = value
    return parsed


async def _run_until_stopped(runner: "EvalRunCommand", target: LedgerTarget) -> "tuple[EvaluationReport, list[int]]":
    """Return the result, and the signals that stopped the run."""
    import asyncio

    from api.cli.open_ledger import open_store
    from api.cli.output import print_note, show_progress
    from api.cli.signals import catch_stop_signals

    with catch_stop_signals() as stop, show_progress("scoring", "answers", piped=False) as report:
        reporter = ProgressReporter(report, print_note)
        ticking = asyncio.create_task(reporter.tick())
        try:
            async with open_store(target) as store:
                return await runner.run(store, stop.event, print_note, print_note, reporter.report), stop.caught
        finally:
            ticking.cancel()


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
        if score.state != "scored":
            result = one_line(f"{score.failure}: {score.detail}")
        self._print_line(
            f"[{done}/{total}] {score.scenario_id} #{score.attempt}: {result} ({seconds(score.elapsed_ns)})"
        )

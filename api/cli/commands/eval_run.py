"""eval run: the scenarios of a folder, put to an agent or scored as they were captured."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.errors import judging
from api.cli.options import AsJson, BearerToken, Url, ledger_of

if TYPE_CHECKING:
    from api.progress import Report as Progress
    from api.reports import EvaluationReport
    from api.service.evaluation.runner import EvalOptions, EvalRunner, Say
    from api.service.evaluation.runs import GradedAttempt
    from projections.evaluation.view_types import Evaluation

TICK_S = 0.5
"""How often a bar is told that time goes on."""

Fixtures = Annotated[Path, typer.Argument(help="The folder of the suite, or of one scenario.", metavar="FIXTURES")]
AgentCommand = Annotated[
    str | None,
    typer.Option(
        "--agent", help="Who answers: gets an investigation on stdin, gives its analysis on stdout.", metavar="CMD"
    ),
]
Chosen = Annotated[
    str | None, typer.Option("-k", help="Only scenarios that fit, as in pytest: image and not llm.", metavar="EXPR")
]
Attempts = Annotated[
    int | None, typer.Option(min=1, max=1000, help="How often each scenario is asked; 1 without it.", metavar="N")
]
Jobs = Annotated[int, typer.Option(min=1, max=256, help="How many agents run at once.", metavar="N")]
Name = Annotated[str | None, typer.Option(help="The suite's name; its folder's without it.", metavar="SUITE")]
AgentName = Annotated[str | None, typer.Option(help="Who is evaluated; command:PROGRAM without it.", metavar="NAME")]
AgentVersion = Annotated[str | None, typer.Option(help="Its version.", metavar="V")]
Timeout = Annotated[float, typer.Option(help="Seconds for one answer.", metavar="S")]
EnableLlm = Annotated[
    bool | None,
    typer.Option(
        "--enable-llm/--no-enable-llm", help="Tell the agent so, whatever test_config says.", show_default=False
    ),
]
RunId = Annotated[str | None, typer.Option(help="The run's id; one is made without it.", metavar="ID")]
Resume = Annotated[str | None, typer.Option(help="Go on with a run that was interrupted.", metavar="RUN")]
Meta = Annotated[
    list[str] | None, typer.Option(help="Anything else to record, such as commit=3f2a9c1.", metavar="KEY=VALUE")
]
Baselines = Annotated[
    bool, typer.Option("--baselines/--no-baselines", help="Score an empty answer and the most frequent cause, too.")
]
JUnit = Annotated[Path | None, typer.Option(help="Write JUnit XML there.", metavar="FILE")]
Html = Annotated[Path | None, typer.Option(help="Write one HTML page there.", metavar="FILE")]
Markdown = Annotated[Path | None, typer.Option(help="Write a comment for a pull request there.", metavar="FILE")]


@judging()
def run(
    context: typer.Context,
    fixtures: Fixtures,
    *,
    agent: AgentCommand = None,
    chosen: Chosen = None,
    attempts: Attempts = None,
    jobs: Jobs = 1,
    name: Name = None,
    agent_name: AgentName = None,
    agent_version: AgentVersion = None,
    timeout: Timeout = 600.0,
    enable_llm: EnableLlm = None,
    run: RunId = None,
    resume: Resume = None,
    meta: Meta = None,
    url: Url = None,
    token: BearerToken = None,
    baselines: Baselines = True,
    junit: JUnit = None,
    html: Html = None,
    markdown: Markdown = None,
    as_json: AsJson = False,
) -> None:
    """Put scenarios to an agent and score what it answers; without --agent, score what was captured with them.

    Every score is in the ledger as it happens. Ctrl-C keeps what was scored, and --resume goes on from there. Exit code
    0 says that every scenario passed, 1 that one did not, 2 that nothing can be judged: no scenario, broken ones,
    or errors of the agent.

    Example: tallystick eval run fixtures

    Example: tallystick eval run fixtures --agent 'python agent.py' --agent-version 1.4 --attempts 3 -k image

    Example: tallystick eval run fixtures --agent 'python agent.py' --resume 3f2a9c1e
    """
    from api.reports import ReportFiles
    from api.service.evaluation.resume import RunSettings
    from api.service.evaluation.runner import EvalOptions

    terms = RunSettings(
        suite=name,
        selection=chosen if chosen and chosen.strip() else None,
        attempts=attempts,
        agent_name=agent_name,
        agent_version=agent_version,
        enable_llm=enable_llm,
        meta=_meta(meta or []),
    )
    asked = EvalOptions(
        fixtures=fixtures,
        agent=agent,
        terms=terms,
        jobs=jobs,
        timeout_s=timeout,
        run_id=run,
        resume=resume,
        baselines=baselines,
        files=ReportFiles.checked(ledger_of(context), junit=junit, html=html, markdown=markdown),
    )
    _run(asked, ledger_of(context), url, token, as_json)


def _run(asked: "EvalOptions", ledger: Path, url: str | None, token: str | None, as_json: bool) -> None:
    """Run it, tell what came of it, and end with the exit code that says so."""
    import asyncio
    import os

    from api.cli.output import print_json, say
    from api.cli.render.eval_run import print_evaluation
    from api.service.evaluation.report_data import without_analyses
    from api.service.evaluation.runner import EvalRunner
    from instruments.evals.scoring.semantic import matcher_from_environment

    cache = None if url is not None else ledger.with_name(f"{ledger.name}.embeddings")
    examination = EvalRunner(asked, matcher_from_environment(os.environ, cache))
    report, signals = asyncio.run(_examine(examination, ledger, url, token, say))
    found = report.evaluation
    if as_json:
        print_json(without_analyses(found))
    else:
        print_evaluation(found)
    if found.ended:
        asked.files.write(report)
    else:
        say(f"Stopped. What was scored is kept; to go on: --resume {found.run_id}, with the same agent.")
    if signals:
        raise typer.Exit(128 + signals[0])
    if code := exit_code(found):
        raise typer.Exit(code)


def exit_code(found: "Evaluation") -> int:
    """0 where every scenario passed, 1 where one failed, 2 where nothing can be judged by it."""
    if found.failed:
        return 1
    return 0 if found.passed and not found.errors else 2


def _meta(pairs: list[str]) -> dict[str, str]:
    """Errors: InvalidQuery."""
    from ledger.errors import InvalidQuery

    told: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals or key in told:
            raise InvalidQuery("meta", f"{pair!r} is no KEY=VALUE, or is there twice.", "Write --meta commit=3f2a9c1.")
        told[key] = value
    return told


async def _examine(
    examination: "EvalRunner", ledger: Path, url: str | None, token: str | None, say: "Say"
) -> "tuple[EvaluationReport, list[int]]":
    """What came of it, and the signals that stopped it."""
    import asyncio

    from api.cli.open_ledger import open_store
    from api.cli.output import progress
    from api.cli.signals import stoppable

    with stoppable() as stop, progress("scoring", "answers") as report:
        telling = ProgressReporter(report, say)
        ticking = asyncio.create_task(telling.tick())
        try:
            async with open_store(ledger, url, token) as target:
                return await examination.run(target, stop.event, say, say, telling.tell), stop.caught
        finally:
            ticking.cancel()


class ProgressReporter:
    """Tells of each score: a bar on a terminal, else a line for each answer that was waited for."""

    def __init__(self, report: "Progress", say: "Say") -> None:
        self._report = report
        self._say = say
        self._done = self._total = 0

    async def tick(self) -> None:
        """Have the bar go on while nobody answers."""
        import asyncio

        while True:
            await asyncio.sleep(TICK_S)
            if self._total:
                self._report(self._done, self._total)

    def tell(self, graded: "GradedAttempt | None", done: int, total: int) -> None:
        """Tell of a score, or before the first of how many there are."""
        import sys

        from api.reports.escape import line
        from api.reports.format import points, seconds

        self._done, self._total = done, total
        self._report(done, total)
        if graded is None or graded.score.elapsed_ns is None or sys.stderr.isatty():
            return
        score = graded.score
        came = f"{points(score.total_score)} {'passed' if score.passed else 'failed'}"
        if score.state != "scored":
            came = line(f"{score.failure}: {score.detail}")
        self._say(f"[{done}/{total}] {score.scenario_id} #{score.attempt}: {came} ({seconds(score.elapsed_ns)})")

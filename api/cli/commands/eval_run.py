"""eval run: run an agent on the scenarios of a folder, or score the captured analyses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.errors import exit_2_on_error
from api.cli.judge_options import (
    JudgeKeyEnv,
    JudgeModel,
    JudgeName,
    JudgeRepeats,
    JudgeSettings,
    JudgeTemperature,
    JudgeTimeout,
    OptionalJudge,
    make_optional_judge,
)
from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import choice
from api.cli.score_progress import ProgressReporter

if TYPE_CHECKING:
    from api.reports import EvaluationReport
    from api.service.evaluation.eval_run_command import EvalRunCommand
    from api.service.evaluation.options import EvalOptions
    from projections.evaluation.view_types import Evaluation

HALTED = 130
"""The exit code of a run that stopped before its end, as after Ctrl-C."""

Fixtures = Annotated[
    Path | None, typer.Argument(help="The folder of the suite, or of one scenario.", metavar="[FIXTURES]")
]
SuiteOf = Annotated[
    str | None,
    typer.Option(help="Instead of a folder: the suite of this run or version, as the ledger has it.", metavar="RUN"),
]
KeepFiles = Annotated[
    bool, typer.Option("--keep-files/--no-keep-files", help="Store the files of the suite as evidence.")
]
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
Network = Annotated[
    str | None,
    choice("Network of the agent; without it, allow: this machine's.", ("none", "loopback", "allow")),
]
RunId = Annotated[str | None, typer.Option(help="The id of the run; without it one is made.", metavar="ID")]
Resume = Annotated[str | None, typer.Option(help="Resume an interrupted run.", metavar="RUN")]
RetryErrors = Annotated[
    str | None, typer.Option(help="Retry the errors of a run, also of one that has ended.", metavar="RUN")
]
Only = Annotated[
    str | None,
    typer.Option(help="Kinds of errors for --retry-errors: timeout,judge; without it, all.", metavar="KINDS"),
]
Retries = Annotated[
    int | None,
    typer.Option(min=0, max=100, help="Retry an attempt so often after a rate limit, outage or timeout.", metavar="N"),
]
RateLimit = Annotated[
    list[str] | None,
    typer.Option(help="Ask the agent at most so often, 30/m; or an endpoint: HOST=30/m.", metavar="[HOST=]N/s|m|h"),
]
MaxCost = Annotated[
    float | None,
    typer.Option(help="Stop before the next attempt once the answers have cost so many dollars.", metavar="USD"),
]
Meta = Annotated[
    list[str] | None, typer.Option(help="Something else to record, such as commit=3f2a9c1.", metavar="KEY=VALUE")
]
Sequential = Annotated[
    str | None,
    typer.Option(help="Compare with this run after 1/4 and 1/2 of --attempts, and stop early.", metavar="RUN"),
]
Baselines = Annotated[
    bool, typer.Option("--baselines/--no-baselines", help="Also score an empty answer and the most frequent cause.")
]
Prices = Annotated[
    Path | None,
    typer.Option(help="Prices of models, YAML or JSON: compute costs from stated tokens.", metavar="FILE"),
]
JUnit = Annotated[Path | None, typer.Option(help="Write JUnit XML.", metavar="FILE")]
Html = Annotated[Path | None, typer.Option(help="Write one self-contained HTML page.", metavar="FILE")]
Markdown = Annotated[Path | None, typer.Option(help="Write a comment for a pull request.", metavar="FILE")]


@verb(server=True)
@exit_2_on_error()
def run(
    target: LedgerTarget,
    fixtures: Fixtures = None,
    *,
    suite_of: SuiteOf = None, agent: AgentCommand = None, chosen: Chosen = None, attempts: Attempts = None,
    jobs: Jobs = 1, name: Name = None, agent_name: AgentName = None, agent_version: AgentVersion = None,
    model: Model = None, timeout: Timeout = 600.0, enable_llm: EnableLlm = None, network: Network = None,
    run: RunId = None, resume: Resume = None,
    retry_errors: RetryErrors = None, only: Only = None, retries: Retries = None,
    rate_limit: RateLimit = None, max_cost: MaxCost = None,
    meta: Meta = None, sequential: Sequential = None, baselines: Baselines = True, keep_files: KeepFiles = True,
    judge: OptionalJudge = None,
    judge_model: JudgeModel = None,
    judge_key_env: JudgeKeyEnv = None,
    judge_name: JudgeName = None,
    judge_repeats: JudgeRepeats = None,
    judge_timeout: JudgeTimeout = None,
    judge_temperature: JudgeTemperature = None,
    prices: Prices = None,
    junit: JUnit = None,
    html: Html = None,
    markdown: Markdown = None,
) -> None:  # fmt: skip
    """Run an agent on scenarios and score its answers.

    Without --agent, the captured analyses are scored. With --judge, a language model scores the answers by the criteria
    of each scenario; its verdicts are decisions of the agent judge:NAME. With --network none, an attempt that calls
    the network is an error. Ctrl-C keeps the scores so far; --resume continues the run. Errors are retried with
    --retries at once, and with --retry-errors later. The files of the suite are stored as evidence, and --suite-of runs
    on them again after the folder has changed. Exit code 0: every scenario passed; 1: one failed; 2: there is nothing
    to judge: no scenario, broken ones, or errors; 130: stopped before its end.

    Example: tallystick eval run fixtures --agent 'python agent.py' --agent-version 1.4 --attempts 3 -k image

    Example: tallystick eval run fixtures --agent 'python agent.py' --attempts 12 --sequential 3f2a9c1e --network none

    Example: tallystick eval run --suite-of 3f2a9c1e --agent 'python agent.py'

    Example: tallystick eval run fixtures --agent 'python agent.py' --retries 3 --rate-limit 30/m --max-cost 2.50

    Example: tallystick eval run fixtures --agent 'python agent.py' --retry-errors 3f2a9c1e

    Example: tallystick eval run fixtures --judge openai:https://api.openai.com/v1 --judge-model gpt-4o
    """
    from api.reports import ReportFiles
    from api.service.evaluation.options import EvalOptions
    from api.service.evaluation.retry_options import RetryOptions

    settings = JudgeSettings(judge_model, judge_key_env, judge_name, judge_repeats, judge_timeout, judge_temperature)
    options = EvalOptions(
        fixtures=fixtures, suite_of=suite_of, agent=agent, suite=name,
        selection=chosen if chosen and chosen.strip() else None, attempts=attempts, agent_name=agent_name,
        agent_version=agent_version, model=model, enable_llm=enable_llm, network=network,
        meta=_parse_meta(meta or []), sequential=sequential, jobs=jobs, timeout_s=timeout, run_id=run, resume=resume,
        retry=RetryOptions.parsed(retry_errors, only, retries, rate_limit, max_cost), baselines=baselines,
        keep_files=keep_files, judge=make_optional_judge(judge, settings), prices=prices,
        files=ReportFiles.checked(target.place.path, junit=junit, html=html, markdown=markdown),
    )  # fmt: skip
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

    ledger = target.place.path
    cache = None if target.url is not None else ledger.with_name(f"{ledger.name}.embeddings")
    runner = EvalRunCommand(options, matcher_from_environment(os.environ, cache))
    report, signals = asyncio.run(_run_until_stopped(runner, target))
    evaluation = report.evaluation
    if target.json:
        print_json(without_analyses(evaluation))
    elif not runner.nothing_to_retry:
        print_evaluation(evaluation)
    if runner.nothing_to_retry:
        print_note(_describe_nothing(options, evaluation))
        return
    if evaluation.ended:
        options.files.write(report)
        print_note(f"Run {evaluation.run_id} is saved: tallystick eval show {evaluation.run_id}")
    elif runner.halt is not None:
        print_note(_describe_halt(runner, evaluation.run_id))
    else:
        print_note(
            f"Stopped. The scores so far are kept; to continue: --resume {evaluation.run_id}, with the same agent."
        )
    if signals:
        raise typer.Exit(128 + signals[0])
    if runner.halt is not None:
        raise typer.Exit(HALTED)
    if code := exit_code(evaluation):
        raise typer.Exit(code)


def _describe_nothing(options: "EvalOptions", evaluation: "Evaluation") -> str:
    """Say that a run has no error to retry, and how to continue it if it has not ended."""
    kinds = f" of the kind {' or '.join(options.retry.only)}" if options.retry.only else ""
    more = "" if evaluation.ended else f" It has not ended: --resume {evaluation.run_id} continues it."
    return f"Run {evaluation.run_id} has no error{kinds} to retry; nothing was written.{more}"


def _describe_halt(runner: "EvalRunCommand", run_id: str) -> str:
    """Say why a run stopped before its end, what is left, and how to continue it."""
    from api.text_format import pluralize

    assert runner.halt is not None
    return (
        f"Stopped: {runner.halt.reason}. {pluralize(runner.left, 'attempt')} left. "
        f"The scores so far are kept; to continue: --resume {run_id}{runner.halt.option}, with the same agent."
    )


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

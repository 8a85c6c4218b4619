"""eval run: run an agent on the scenarios of a folder, or score the captured analyses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.errors import exit_2_on_error
from api.cli.ledger_target import LedgerTarget, verb
from api.cli.score_progress import run_until_stopped
from api.service.evaluation.options import EvalOptions

if TYPE_CHECKING:
    from api.service.evaluation.eval_run_command import EvalRunCommand
    from projections.evaluation.view_types import Evaluation

HALTED = 130
"""The exit code of a run that stopped before its end, as after Ctrl-C."""

JUnit = Annotated[Path | None, typer.Option(help="Write JUnit XML.", metavar="FILE")]
Html = Annotated[Path | None, typer.Option(help="Write one self-contained HTML page.", metavar="FILE")]
Markdown = Annotated[Path | None, typer.Option(help="Write a comment for a pull request.", metavar="FILE")]


@verb(server=True)
@exit_2_on_error()
def run(
    target: LedgerTarget,
    options: EvalOptions,
    *,
    junit: JUnit = None,
    html: Html = None,
    markdown: Markdown = None,
) -> None:
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
    import asyncio
    import os

    from api.cli.output import print_json, print_note
    from api.cli.render.eval_run import print_evaluation
    from api.reports import ReportFiles
    from api.service.evaluation.eval_run_command import EvalRunCommand
    from api.service.evaluation.queries import without_analyses
    from instruments.evals.scoring.semantic_matcher import matcher_from_environment

    ledger = target.place.path
    files = ReportFiles.checked(ledger, junit=junit, html=html, markdown=markdown)
    cache = None if target.url is not None else ledger.with_name(f"{ledger.name}.embeddings")
    runner = EvalRunCommand(options, matcher_from_environment(os.environ, cache), for_files=bool(files))
    report, signals = asyncio.run(run_until_stopped(runner, target, "scoring"))
    evaluation = report.evaluation
    if target.json:
        print_json(without_analyses(evaluation))
    elif not runner.nothing_to_retry:
        print_evaluation(evaluation)
    if runner.nothing_to_retry:
        print_note(_describe_nothing(options, evaluation))
        return
    if evaluation.ended:
        files.write(report)
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


def _describe_nothing(options: EvalOptions, evaluation: "Evaluation") -> str:
    """Say that a run has no error to retry, and how to continue it if it has not ended."""
    from api.service.evaluation.retry_plan import parse_only

    only = parse_only(options.only)
    kinds = f" of the kind {' or '.join(only)}" if only else ""
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

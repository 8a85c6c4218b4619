"""judge run, judge compare: judge recorded answers again, and ask which of two answers is better."""

from typing import TYPE_CHECKING

import typer

from api.cli.errors import exit_2_on_error
from api.cli.ledger_target import LedgerTarget, verb
from api.service.evaluation.options import JudgeCompareOptions, JudgeRunOptions

if TYPE_CHECKING:
    from api.service.evaluation.judge_compare_command import JudgeCompareCommand, PairSummary


@verb(server=True)
@exit_2_on_error()
def run(target: LedgerTarget, options: JudgeRunOptions) -> None:
    """Judge the recorded answers of an evaluation.

    The verdicts are scores of a new evaluation. No agent is asked. Each verdict is a decision of the agent judge:NAME,
    which labels of the same answer review. Ctrl-C keeps the scores so far, and --resume continues. Exit codes are
    those of `eval run`.

    Example: tallystick judge run 3f2a9c1e fixtures --judge openai:https://api.openai.com/v1 --judge-model gpt-4o
    """
    import asyncio

    from api.cli.commands.eval_run import exit_code
    from api.cli.output import print_json, print_note
    from api.cli.render.eval_run import print_evaluation
    from api.cli.score_progress import run_until_stopped
    from api.service.evaluation.judge_run_command import JudgeRunCommand
    from api.service.evaluation.queries import without_analyses

    report, signals = asyncio.run(run_until_stopped(JudgeRunCommand(options), target, "judging"))
    evaluation = report.evaluation
    if target.json:
        print_json(without_analyses(evaluation))
    else:
        print_evaluation(evaluation)
    if not evaluation.ended:
        print_note(
            f"Stopped. The scores so far are kept; to continue: --resume {evaluation.run_id}, with the same judge."
        )
    if signals:
        raise typer.Exit(128 + signals[0])
    if code := exit_code(evaluation):
        raise typer.Exit(code)


@verb(server=True)
@exit_2_on_error()
def compare(target: LedgerTarget, options: JudgeCompareOptions) -> None:
    """Ask a judge which of two answers is better.

    It is asked for each attempt that both evaluations have. Each pair is shown in both orders. If the preference
    changes with the order, it is a tie. Pairs that the same judge has compared already are not asked again. Exit code
    2: the judge gave no usable reply to a pair.

    Example: tallystick judge compare 3f2a9c1e 77aa01be fixtures --judge 'command:./judge.sh'
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.compared_pairs import print_pairs
    from api.service.evaluation.judge_compare_command import JudgeCompareCommand

    summary = asyncio.run(_compare(JudgeCompareCommand(options), target))
    if target.json:
        print_json(summary)
    else:
        print_pairs(summary)
    if summary.errors:
        raise typer.Exit(2)


async def _compare(runner: "JudgeCompareCommand", target: LedgerTarget) -> "PairSummary":
    from api.cli.open_ledger import open_store
    from api.cli.output import print_note

    async with open_store(target) as store:
        return await runner.run(store, print_note)

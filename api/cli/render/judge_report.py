"""Print the report on judges, and the queue of answers to label."""

from rich.console import Console

from api.cli.output import make_table, open_console, print_note
from api.cli.render.calibration import format_as_of
from api.reports.escape import one_line
from api.reports.format import rate
from api.reports.judge_text import difference_text, figure_lines, heading, share_text
from api.service.evaluation.judge_queries import JudgingReportAnswer, UnlabelledPage
from api.text_format import format_count, pluralize
from projections.evaluation.judge_view_types import CriterionReport, JudgeReport

NO_JUDGE = "No judge has scored an answer yet: tallystick eval run FIXTURES --judge SPEC"


def print_judging_report(report: JudgingReportAnswer) -> None:
    """Print each judge: its figures on whole answers, by criterion, and by judged agent; then the pairs."""
    console = open_console()
    if not report.judges and not report.orders:
        console.print(NO_JUDGE)
    for judge in report.judges:
        _print_judge(console, judge)
    for order in report.orders:
        console.print(f"{one_line(order.agent)}: {one_line(order.model)} on pairs", style="bold", soft_wrap=True)
        changed = share_text(order.swap_rate)
        console.print(f"Of {pluralize(order.pairs, 'pair')}, the preference changed with the order: {changed}")
        console.print()
    console.print(format_as_of(report.as_of), style="dim")


def _print_judge(console: Console, judge: JudgeReport) -> None:
    console.print(one_line(heading(judge)), style="bold", soft_wrap=True)
    _print_part(console, judge.whole)
    for part in judge.criteria:
        _print_part(console, part)
    if judge.biases:
        _print_biases(console, judge)
    if judge.errors:
        console.print(f"{pluralize(judge.errors, 'error')}: the judge gave no usable reply.")
    console.print()


def _print_part(console: Console, part: CriterionReport) -> None:
    name = "whole answers" if part.criterion is None else one_line(part.criterion)
    console.print(
        f"{name}: {pluralize(part.judged, 'answer')} of {pluralize(part.scenarios, 'scenario')}; labelled: "
        f"{format_count(part.labelled)} of {pluralize(part.labelled_scenarios, 'scenario')}",
        style="cyan",
        soft_wrap=True,
    )
    console.print(part.in_words, soft_wrap=True)
    if part.labelled:
        table = make_table("", "label: pass", "label: fail", right=("label: pass", "label: fail"))
        counts = part.confusion
        table.add_row("judge: pass", format_count(counts.passed_good), format_count(counts.passed_bad))
        table.add_row("judge: fail", format_count(counts.failed_good), format_count(counts.failed_bad))
        console.print(table)
    table = make_table("figure", "value", "95% interval", "n", right=("n",), drop=("n",))
    for line in figure_lines(part):
        table.add_row(*line)
    console.print(table)


def _print_biases(console: Console, judge: JudgeReport) -> None:
    console.print("by judged agent, on labelled answers", style="cyan")
    table = make_table(
        "agent", "version", "model", "judge passes", "label passes", "difference", "n",
        right=("judge passes", "label passes", "n"), wrap=("agent", "version", "model"),
        drop=("n", "label passes", "judge passes"),
    )  # fmt: skip
    for bias in judge.biases:
        table.add_row(
            one_line(bias.agent or "-"),
            one_line(bias.agent_version or "-"),
            one_line(bias.model or "-"),
            rate(bias.judge_rate),
            rate(bias.label_rate),
            difference_text(bias.difference),
            format_count(bias.difference.n),
        )
    console.print(table)


def print_queue(page: UnlabelledPage) -> None:
    """Print the answers that lack a label, one a line: run, scenario, attempt, and the criteria without a label."""
    console = open_console()
    for answer in page.answers:
        criteria = f": {one_line(', '.join(answer.criteria))}" if answer.criteria else ""
        console.print(f"{answer.run_id} {answer.scenario_id} attempt {answer.attempt}{criteria}", soft_wrap=True)
    more = f" Next page: --offset {page.next}" if page.next is not None else ""
    print_note(f"{format_count(page.total)} to label, {format_count(page.labelled)} labelled.{more}")

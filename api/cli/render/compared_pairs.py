"""Print the result of `judge compare`: a table of pairs, and how often each run was preferred."""

from typing import TYPE_CHECKING

import typer

from api.cli.output import make_table, open_console
from api.reports.escape import one_line
from api.text_format import pluralize

if TYPE_CHECKING:
    from api.service.evaluation.judge_compare_command import ComparedPair, PairSummary


def print_pairs(summary: "PairSummary") -> None:
    """Print each pair with the preferred run, and a summary."""
    if summary.pairs:
        table = make_table(
            "scenario", "attempt", "better", "confidence", "orders agree", right=("attempt", "confidence"),
            drop=("orders agree", "confidence"),
        )  # fmt: skip
        for pair in summary.pairs:
            agree = {True: "yes", False: "no", None: "-"}[pair.orders_agree]
            confidence = "-" if pair.confidence is None else f"{pair.confidence:.0%}"
            table.add_row(pair.scenario_id, f"{pair.attempt}", _better(summary, pair), confidence, agree)
        open_console().print(table)
    for pair in summary.pairs:
        if pair.detail is not None:
            typer.echo(one_line(f"{pair.scenario_id} #{pair.attempt} {pair.state}: {pair.detail}"))
    compared = summary.first + summary.second + summary.ties
    typer.echo(
        f"{summary.judge} compared {pluralize(compared, 'pair')}: {summary.first_run} better in {summary.first}, "
        f"{summary.second_run} in {summary.second}, {pluralize(summary.ties, 'tie')}."
    )
    if compared:
        typer.echo(f"The preference changed with the order in {summary.order_disagreements} of {compared}.")


def _better(summary: "PairSummary", pair: "ComparedPair") -> str:
    if pair.preferred is None:
        return pair.state
    return {"first": summary.first_run, "second": summary.second_run, "tie": "tie"}[pair.preferred]

"""judge report: print how well judges agree with the labels of people."""

from typing import Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf, given

JudgeName = Annotated[str | None, typer.Option(help="Only this judge, by its name as an agent.", metavar="NAME")]
Suite = Annotated[str | None, typer.Option(help="Only answers of this suite.", metavar="NAME")]


@verb(server=True, reads=True)
def report(
    target: LedgerTarget,
    *,
    judge: JudgeName = None,
    suite: Suite = None,
    as_of: AsOf = None,
) -> None:
    """Report how well judges agree with the labels of people.

    For whole answers and each criterion: Cohen's kappa, sensitivity and specificity, agreement beside that of a
    constant guess, consistency of repeated votes, correlation with the length of answers, and the pass rate corrected
    for the judge's errors. Every figure has its 95% interval. "cannot tell": there are too few labels.

    Example: tallystick judge report --judge judge:example-large --suite examples
    """
    from api.cli.open_ledger import answer_as_of
    from api.cli.output import print_json
    from api.cli.render.judge_report import print_judging_report
    from api.service.evaluation.judge_queries import report_on_judges
    from api.service.judge_params import parse_judge_query

    parameters = given(judge=judge, suite=suite)
    query = parse_judge_query(parameters)
    answer = answer_as_of(
        target,
        as_of,
        lambda view: report_on_judges(view, query),
        lambda server: server.judges(parameters),
    )
    if target.json:
        print_json(answer)
    else:
        print_judging_report(answer)

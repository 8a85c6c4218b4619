"""judge report: print how well judges agree with the labels of people."""

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf
from projections.evaluation.query_params import JudgeQuery


@verb(server=True, reads=True)
def report(target: LedgerTarget, params: JudgeQuery, as_of: AsOf = None) -> None:
    """Report how well judges agree with the labels of people.

    For whole answers and each criterion: Cohen's kappa, sensitivity and specificity, agreement beside that of a
    constant guess, consistency of repeated votes, correlation with the length of answers, and the pass rate corrected
    for the judge's errors. Every figure has its 95% interval. "cannot tell": there are too few labels.

    Example: tallystick judge report --judge judge:example-large --suite examples
    """
    from api.cli.open_ledger import ask, show
    from api.cli.render.judge_report import print_judging_report
    from api.service.evaluation.judge_queries import get_judges

    show(target, ask(target, get_judges, params, as_of), print_judging_report)

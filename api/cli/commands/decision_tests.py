"""tests, resolve: show the tests of decisions, and review decisions by them."""

from typing import Annotated

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, show, use_store
from api.cli.options import AsOf, flag, option
from api.service.decision_tests import DecisionTestsQuery


@verb(server=True, reads=True)
def list_tests(target: LedgerTarget, params: DecisionTestsQuery, as_of: AsOf = None) -> None:
    """Show the tests of decisions, and what their rules find.

    A test is stated with its decision: `tallystick record --test git.kept:14d`. It waits until it is known when its
    window begins, runs until that ends, and is overdue if what was observed ends before. A test that failed early
    counts when its window ends.

    Example: tallystick tests --state overdue
    """
    from api.cli.render.decision_tests import print_tests
    from api.service.decision_tests import get_tests

    show(target, ask(target, get_tests, params, as_of), print_tests)


@verb(server=True)
def resolve(
    target: LedgerTarget,
    *,
    dry_run: Annotated[bool, flag("--dry-run", "Show what would be reviewed, and review nothing.")] = False,
    explain: Annotated[
        str | None, option("Show what decides the test of this decision, and review nothing.", "ID")
    ] = None,
) -> None:
    """Review decisions by their tests.

    That is: every decision whose test has an outcome by now, and that nobody has reviewed. Reviews are by the rule
    (`/resolvers/git.kept.v1`), with the observations that decide; doing it twice is doing it once. A server does so by
    itself. What is observed comes from `tallystick adopt git --record` and `adopt pulls --record`. Exit code 1: a test
    is overdue, since what was observed ends before its window does.

    Example: tallystick resolve --dry-run
    """
    from api.cli.render.decision_tests import print_resolved, print_tests
    from api.service.decision_tests import get_tests

    if explain is not None:
        show(target, ask(target, get_tests, DecisionTestsQuery(decision_id=explain), None), print_tests)
        return
    resolved = use_store(target, lambda store: store.resolve(dry_run=dry_run), writable=not dry_run)
    show(target, resolved, print_resolved, code=1 if resolved.states.get("overdue") else 0)

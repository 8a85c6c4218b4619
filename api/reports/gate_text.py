"""Say by which rule the gate decided, what its test found, and what it can find."""

from collections.abc import Iterator

from api.reports.gate import GateResult, describe_p
from api.reports.loss_test import GateTest
from api.text_format import pluralize

FLAKY_SHOWN = 10
"""The most flaky scenarios that are named."""


def gate_lines(judgement: GateResult) -> Iterator[str]:
    """Yield the rule, the power of the test, and the regressed scenarios with a mixed history, as sentences."""
    test = judgement.test
    if test is None:
        return
    yield _rule(judgement, test)
    yield _power(test)
    if judgement.flaky:
        named = ", ".join(
            f"{each.scenario_id} ({each.passed} of {each.attempts} passed)" for each in judgement.flaky[:FLAKY_SHOWN]
        )
        more = len(judgement.flaky) - FLAKY_SHOWN
        yield f"Flaky under the baseline's version: {named}{f' and {more:,} more' if more > 0 else ''}."


def _rule(judgement: GateResult, test: GateTest) -> str:
    level = f"alpha {test.alpha:g}"
    if test.level < test.alpha:
        level = f"level {test.level:.3g} for this look, of alpha {test.alpha:g}"
    found = f"p {describe_p(test.p)}, {level}"
    copied = f"; attempts at {pluralize(test.copied, 'scenario')} count as one: all alike" if test.copied else ""
    if judgement.rule == "count":
        return f"Rule: regressions are counted (strict). The test of losses has {found}{copied}."
    return f"Rule: test of losses, {found}{copied}."


def _power(test: GateTest) -> str:
    if test.blind:
        return (
            f"This gate can find no loss: if no attempt passed, p would be {test.least_p:.3f}. "
            f"It takes {pluralize(test.attempts_to_detect, 'attempt')} with different answers at each scenario, "
            "or more scenarios."
        )
    where = "all scenarios" if test.drop_scenarios is None else pluralize(test.drop_scenarios, "scenario")
    drop = f"a drop of the pass rate by {test.drop:g} in {where}"
    needed = f"more than {test.attempts_tried}" if test.attempts_needed is None else str(test.attempts_needed)
    return f"Power: {test.power:.0%} for {drop}; 80% takes {needed} attempts at each scenario in both runs."

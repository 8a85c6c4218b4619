"""Print tests of decisions, and what resolving them did."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from api.cli.output import make_table, open_console, print_note
from api.cli.table import FittedTable
from api.text_format import format_figure, format_interval, one_line, pluralize

if TYPE_CHECKING:
    from api.importers.observe.observers import Observation
from tallystick.shapes.tests import DecisionTest, DecisionTestsAnswer, ResolvedTests, RuleAudit

NONE = "No test was stated. State one with a decision: tallystick record TEXT --confidence 0.8 --test git.kept:14d"


def print_tests(answer: DecisionTestsAnswer) -> None:
    """Print tests; a single one with all that decides it."""
    console = open_console()
    if not answer.tests:
        print_note(NONE if not answer.states else "No test is so.")
    elif len(answer.tests) == 1:
        for line in _explain(answer.tests[0]):
            console.print(line, soft_wrap=True)
    else:
        console.print(_table(answer.tests))
    if answer.states and answer.total != 1:
        console.print(_states(answer.states), soft_wrap=True)
    if answer.next is not None:
        console.print(f"{answer.total - answer.next:,} more: --offset {answer.next}", style="dim")


def print_resolved(resolved: ResolvedTests) -> None:
    """Print the decisions that were reviewed, and how many tests are in each state."""
    console = open_console()
    if resolved.resolved:
        console.print(_table(resolved.resolved))
    console.print(f"{pluralize(len(resolved.resolved), 'decision')} reviewed by a test. {_states(resolved.states)}")
    if resolved.retrofitted:
        tests = pluralize(resolved.retrofitted, "test")
        console.print(
            f"Not reviewed by: {tests} stated when there was evidence already, of a decision with a confidence.",
            style="dim",
            soft_wrap=True,
        )
    if overdue := resolved.states.get("overdue"):
        print_note(
            f"{pluralize(overdue, 'test')} overdue: observe what they are about. tallystick tests --state overdue"
        )


def print_audit(audit: RuleAudit) -> None:
    """Print decisions that a rule reviewed, and how often people disagree with it."""
    console = open_console()
    if not audit.decisions:
        print_note(f"{audit.rule} has reviewed no decision.")
        return
    table = make_table("decision", "agent", "recorded (UTC)", "reviewed", "text", wrap=("agent", "text"))
    for one in audit.decisions:
        reviewed = "yes" if one.is_reviewed else "no"
        recorded = f"{one.recorded_at:%Y-%m-%d %H:%M}"
        table.add_row(one.decision_id, one_line(one.agent), recorded, reviewed, one_line(one.decision))
    console.print(table)
    drawn = pluralize(len(audit.decisions), "decision")
    console.print(f"{drawn}, drawn at random within the verdicts of {audit.rule} on {audit.total:,}.")
    console.print(audit.checked, soft_wrap=True)
    for error, word in ((audit.wrong_successes, "success"), (audit.wrong_failures, "failure")):
        if error is not None:
            share = f"{format_figure(error.rate)} ({format_interval(error.interval)})"
            console.print(f"Called a {word} and wrong: {error.wrong:,} of {error.n:,}, {share}")
    if audit.corrected is not None:
        rate = f"{format_figure(audit.corrected.rate)} ({format_interval(audit.corrected.interval)})"
        console.print(f"Success rate: {format_figure(audit.corrected.by_rule)} by the rule, {rate} as people find it")
    if audit.reviewed < len(audit.decisions):
        console.print("Review each without looking at it first (OUTCOME is success, partial, failure or abandoned):")
        for one in audit.decisions:
            if not one.is_reviewed:
                console.print(one.command, soft_wrap=True)
        again = f"--resolved-by {audit.rule} --seed {audit.seed} --drawn-at {audit.drawn_at}"
        console.print(f"The same again, with its result: tallystick review --sample {len(audit.decisions)} {again}")


def print_observations(observed: "Sequence[Observation]") -> None:
    """Print what was observed."""
    console = open_console()
    for one in observed:
        console.print(f"{one_line(one.subject)}: {one_line(one.observed)}", soft_wrap=True)


def _states(states: Mapping[str, int]) -> str:
    counts = ", ".join(f"{state.replace('_', ' ')} {number:,}" for state, number in states.items())
    return f"Tests: {counts or 'none'}."


def _table(tests: Sequence[DecisionTest]) -> FittedTable:
    table = make_table("decision", "agent", "test", "state", "due", "what decides", wrap=("test", "what decides"))
    for test in tests:
        due = "-" if test.due is None else f"{test.due:%Y-%m-%d}"
        state = test.state.replace("_", " ")
        table.add_row(test.decision_id, one_line(test.agent), one_line(test.test), state, due, one_line(test.value))
    return table


def _explain(test: DecisionTest) -> Sequence[str]:
    start, due = ("not known yet" if at is None else f"{at:%Y-%m-%d %H:%M} UTC" for at in (test.start, test.due))
    lines = [
        f"Decision {test.decision_id} of {one_line(test.agent)}: {test.state.replace('_', ' ')}",
        f"Test: {one_line(test.test)}, stated {test.stated:%Y-%m-%d %H:%M} UTC",
        f"Window: {start} to {due}",
        f"What decides: {one_line(test.value)}",
    ]
    lines += [f"Observation: {name}" for name in test.evidence]
    if test.retrofitted:
        lines.append("There was evidence before it was stated: no confidence is judged by it.")
    if test.reviewed_by is not None:
        lines.append(f"Reviewed by {one_line(test.reviewed_by)}: {test.outcome}")
    return lines

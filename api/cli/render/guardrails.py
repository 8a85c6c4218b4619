"""Print guardrails with their figures, and the answer about an action."""

from collections.abc import Iterator
from datetime import datetime

from api.cli.output import make_facts, open_console, print_note, table_of
from api.cli.render.calibration import format_as_of
from api.service.guardrails.action_check import CheckAnswer
from api.service.guardrails.rule_set import GuardrailList, GuardrailRow, Outcomes
from api.text_format import format_count, format_time, one_line, pluralize
from projections.guardrails.rule_evaluation import describe_condition


def print_guardrails(answer: GuardrailList) -> None:
    """Print one line for each rule, and the counts of evaluations."""
    console = open_console()
    table = table_of(
        answer.guardrails,
        {"rule": "guardrail_id", "action": "rule.action", "fired": "fired", "met": "met",
         "last fired (UTC)": lambda row: _time(row.last_fired),
         "recorded although it fired": lambda row: _outcomes(row.after_fired),
         "when met": lambda row: _outcomes(row.after_met),
         "state": lambda row: "in force" if row.retired is None else "retired"},
        right=("fired", "met"), wrap=("rule", "recorded although it fired", "when met"),
        drop=("when met", "last fired (UTC)", "state", "recorded although it fired"),
    )  # fmt: skip
    if answer.guardrails:
        console.print(table)
    checks = answer.checks
    console.print(
        f"{pluralize(checks.total, 'evaluation')}: {format_count(checks.blocked)} blocked,"
        f" {format_count(checks.without_rules)} without any rule in force."
    )
    console.print(f"Digest of the rules in force: {answer.rules_digest}", style="dim")
    console.print(format_as_of(answer.as_of), style="dim")
    if isinstance(answer.note, str):
        print_note(answer.note)


def print_guardrail(row: GuardrailRow) -> None:
    """Print one rule with its figures."""
    console = open_console()
    console.print(row.guardrail_id, style="bold")
    console.print(make_facts(_facts(row)))


def _facts(row: GuardrailRow) -> Iterator[tuple[str, object]]:
    rule = row.rule
    yield "action", rule.action
    yield from ((name, getattr(rule, name)) for name in ("description", "message", "expression"))
    yield "scope", rule.scope or None
    for condition in rule.conditions:
        yield "condition", describe_condition(condition)
    for group in rule.any_of:
        yield "condition", " or ".join(map(describe_condition, group))
    for requirement in rule.requirements:
        yield "requires", describe_condition(requirement)
    by = f"by {one_line(row.agent)} at position {row.position:,}"
    yield "version", f"{row.revision}, set {_time(row.time)} {by}"
    if row.retired is not None:
        why = f": {one_line(row.retired.reason)}" if row.retired.reason else ""
        yield "retired", f"{_time(row.retired.time)} by {one_line(row.retired.agent)}{why}"
    yield "fired", _figure(row.fired, "recorded nevertheless", row.after_fired)
    yield "latest of them", row.latest_fired or None
    yield "met", _figure(row.met, "recorded", row.after_met)
    yield "undecided", f"{pluralize(row.undecided, 'time')} (a field that it compares was not stated)"


def print_check(answer: CheckAnswer) -> None:
    """Print whether an action is allowed, and the rules that fired."""
    console = open_console()
    console.print("ALLOWED" if answer.allowed else "BLOCKED", style="bold")
    for rule in (*answer.violations, *answer.warnings):
        console.print(f"{rule.action}: {one_line(rule.message)} ({rule.guardrail_id})")
    for undecided in answer.undecided:
        fields = one_line(", ".join(undecided.fields))
        console.print(f"not applied: {undecided.guardrail_id} compares what is not stated: {fields}")
    if answer.overridden:
        console.print(f"read from --context instead of the option: {', '.join(answer.overridden)}")
    recorded = f", recorded as check {answer.check_id} at position {answer.position:,}" if answer.position else ""
    console.print(f"{pluralize(answer.rules, 'rule')} evaluated{recorded}.", style="dim")
    if answer.note is not None:
        print_note(answer.note)


def _time(text: str | None) -> str:
    return "-" if text is None else format_time(datetime.fromisoformat(text))


def _figure(times: int, recorded: str, found: Outcomes) -> str:
    """Return how often a rule had a result, and the outcomes of the decisions that were recorded then."""
    decisions = pluralize(found.decisions, "decision")
    outcomes = f": {_outcomes(found).partition(': ')[2]}" if found.decisions else ""
    return f"{pluralize(times, 'time')}; {decisions} {recorded}{outcomes}"


def _outcomes(found: Outcomes) -> str:
    """Return the outcomes of some decisions: `3: 1 success, 2 unreviewed`."""
    names = ("success", "partial", "failure", "abandoned", "unreviewed", "retracted")
    counted = [f"{format_count(getattr(found, name))} {name}" for name in names if getattr(found, name)]
    return f"{format_count(found.decisions)}: {', '.join(counted)}" if counted else "-"

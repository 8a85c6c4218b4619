"""guardrail: set, list, show and retire rules for actions, and check an action."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.errors import exit_2_on_error
from api.cli.ledger_target import LedgerTarget, source_of_agent, verb
from api.cli.open_ledger import ask, show, use_store
from api.cli.options import STAKES, AsOf, EventIdOption, argument, choice, option
from api.cli.output import make_table, open_console, print_note
from api.service.guardrails.rule_params import GuardrailQuery, GuardrailsQuery
from api.text_format import pluralize
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from api.service.guardrails.rule_set import SetAnswer


@verb(server=True)
def set_file(
    target: LedgerTarget,
    file: Annotated[str, argument("The rule file; - is standard input.", "[FILE|-]")] = "-",
) -> None:
    """Set the rules of a file.

    A rule whose id is in force replaces it; other rules stay in force. If the file has anything that is not supported,
    no rule is set. A server needs a token with the scope admin.

    Example: tallystick guardrail set examples/guardrails/cstp.yaml
    """
    from api.client.guardrail_store import set_in_store
    from api.service.guardrails.rule_file import RULE_FILE_BYTES_MAX
    from ledger.regular_file import read_input

    body = read_input(file, RULE_FILE_BYTES_MAX + 1)
    show(target, use_store(target, lambda store: set_in_store(store, body)), _print_set)


def _print_set(answer: "SetAnswer") -> None:
    table = make_table("rule", "state", "position", right=("position",), wrap=("rule",))
    for rule in answer.rules:
        table.add_row(rule.guardrail_id, rule.state, f"{rule.position:,}")
    open_console().print(table)
    for warning in answer.warnings:
        print_note(f"warning: {warning.guardrail_id}: {warning.message}")
    print_note(f"{pluralize(len(answer.rules), 'rule')} in force from this file. Digest of all: {answer.rules_digest}")


@verb(server=True, reads=True)
def list_guardrails(target: LedgerTarget, params: GuardrailsQuery, as_of: AsOf = None) -> None:
    """List the rules, and how often each fired.

    Also shows the outcomes of the decisions that were recorded although a rule fired.

    Example: tallystick guardrail list
    """
    from api.cli.render.guardrails import print_guardrails
    from api.service.guardrails.rule_set import get_guardrails

    show(target, ask(target, get_guardrails, params, as_of), print_guardrails)


@verb(server=True, reads=True)
def show_rule(target: LedgerTarget, params: GuardrailQuery, as_of: AsOf = None) -> None:
    """Show one rule.

    Also a retired one.

    Example: tallystick guardrail show no-high-stakes-low-confidence
    """
    from api.cli.render.guardrails import print_guardrail
    from api.service.guardrails.rule_set import get_guardrail

    show(target, ask(target, get_guardrail, params, as_of), print_guardrail)


@verb(server=True)
@exit_2_on_error()
def check(
    target: LedgerTarget,
    description: Annotated[str, argument("The action in words.", "TEXT")],
    *,
    agent: Annotated[
        str | None, option("The agent that plans it; without it the token's, or TALLYSTICK_AGENT.", "NAME")
    ] = None,
    category: Annotated[str | None, option("The kind of action.", "WORD")] = None,
    stakes: Annotated[str | None, choice("How much depends on it.", STAKES)] = None,
    confidence: Annotated[float | None, option("The stated probability of success, 0 to 1.", min=0, max=1)] = None,
    context: Annotated[
        list[str] | None,
        option("A further field that rules compare, such as code_review=true; may be repeated.", "FIELD=VALUE"),
    ] = None,
    event_id: EventIdOption = None,
) -> None:
    """Ask whether an action is allowed.

    The evaluation is recorded. Exit code 1: a rule blocks the action.

    Example: tallystick guardrail check "Drop the table" --stakes high --confidence 0.3
    """
    from api.cli.payload import convert_options, convert_text
    from api.cli.render.guardrails import print_check
    from api.client.guardrail_store import check_in_store
    from api.service.guardrails.action_check import PlannedAction
    from events.envelope import EventId

    fields = {
        "description": description, "category": category, "stakes": stakes, "confidence": confidence,
        "context": _context(context or ()),
    }  # fmt: skip
    action = convert_options(fields, PlannedAction, options={})
    checked_id = convert_text("event_id", event_id, EventId)
    source = source_of_agent(target, "agent", agent)
    answer = use_store(target, lambda store: check_in_store(store, action, checked_id, source))
    show(target, answer, print_check, code=0 if answer.allowed else 1)


@verb(server=True)
def retire(
    target: LedgerTarget,
    guardrail_id: Annotated[str, argument("The id of the rule.", "ID")],
    reason: Annotated[str | None, option("Why. It stays in the log permanently.", "TEXT")] = None,
) -> None:
    """Put a rule out of force.

    Its history stays, and it can be set again.

    Example: tallystick guardrail retire low-quality-recording --reason "too strict for drafts"
    """
    from api.client.guardrail_store import retire_in_store

    answer = use_store(target, lambda store: retire_in_store(store, guardrail_id, reason))
    when = "was already" if answer.duplicate else "is"
    message = f"{guardrail_id} {when} retired, recorded at position {answer.position:,}."
    show(target, answer, lambda _: typer.echo(message))


def _context(pairs: "Sequence[str]") -> dict[str, object]:
    """Parse FIELD=VALUE; a value that is JSON is that value, any other is a text. Errors: InvalidQuery."""
    import msgspec

    fields: dict[str, object] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise InvalidQuery("context", f"{pair!r} is not FIELD=VALUE.", "Write it as code_review=true.")
        try:
            fields[name] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            fields[name] = value
    return fields

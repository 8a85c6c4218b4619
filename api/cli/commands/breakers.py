"""breakers: configure the circuit breakers, and list them with their states."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, show, use_store
from api.cli.options import AsOf, argument
from api.cli.output import make_table, open_console, print_note
from api.text_format import format_time, one_line, pluralize
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from api.service.breakers import BreakerList


@verb(server=True)
def configure(
    target: LedgerTarget,
    file: Annotated[str, argument("The file circuit_breakers.yaml; - is standard input.", "FILE")],
) -> None:
    """Replace the circuit breakers with those of a file.

    A breaker whose scope stays keeps its state. A server's token needs the scope admin.

    Example: tallystick breakers set circuit_breakers.yaml
    """
    from api.service.breakers import FILE_BYTES_MAX, configure_breakers, parse_breakers
    from ledger.regular_file import read_input

    data = read_input(file, FILE_BYTES_MAX + 1)
    if len(data) > FILE_BYTES_MAX:
        raise InvalidQuery("file", f"is over {FILE_BYTES_MAX:,} bytes.", "Name the file circuit_breakers.yaml.")
    rules = parse_breakers(data)
    position = use_store(target, lambda store: configure_breakers(store, rules)).first
    answer = {"position": position, "breakers": [rule.scope for rule in rules]}
    message = f"{pluralize(len(rules), 'circuit breaker')} configured: position {position:,}."
    show(target, answer, lambda _: typer.echo(message))


@verb(server=True, reads=True)
def list_breakers(target: LedgerTarget, as_of: AsOf = None) -> None:
    """List the circuit breakers with their states.

    Example: tallystick breakers list
    """
    from api.service.breakers import get_breakers
    from projections.shared_params import NoParams

    show(target, ask(target, get_breakers, NoParams(), as_of), _print_breakers)


def _print_breakers(answer: "BreakerList") -> None:
    if not answer.breakers:
        print_note("There are no circuit breakers: tallystick breakers set FILE")
        return
    table = make_table("scope", "state", "failures", "opened (UTC)", "waits for", right=("failures",), wrap=("scope",))
    for breaker in answer.breakers:
        failures = f"{breaker.failure_count} of {breaker.failure_threshold}"
        opened = format_time(breaker.opened_at) if breaker.opened_at is not None else ""
        table.add_row(one_line(breaker.scope), breaker.state.replace("_", " "), failures, opened, breaker.probe or "")
    open_console().print(table)

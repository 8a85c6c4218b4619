"""breakers: configure the circuit breakers, and list them with their states."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf

if TYPE_CHECKING:
    from events.breaker import BreakerRule
    from tallystick.shapes.appended import AppendResult


@verb(server=True)
def configure(
    target: LedgerTarget,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file circuit_breakers.yaml; - is standard input.")],
) -> None:
    """Replace the circuit breakers with those of a file.

    A breaker whose scope stays keeps its state. A server's token needs the scope admin.

    Example: tallystick breakers set circuit_breakers.yaml
    """
    import asyncio

    from api.cli.output import print_json
    from api.service.breakers import parse_breakers
    from api.text_format import pluralize

    rules = parse_breakers(_read(file))
    appended = asyncio.run(_configure(target, rules))
    if target.json:
        print_json({"position": appended.first, "breakers": [rule.scope for rule in rules]})
        return
    typer.echo(f"{pluralize(len(rules), 'circuit breaker')} configured: position {appended.first:,}.")


def _read(file: str) -> bytes:
    """Return the bytes of a file or of standard input, at most FILE_BYTES_MAX. Errors: InvalidQuery."""
    from api.service.breakers import FILE_BYTES_MAX
    from ledger.errors import InvalidQuery
    from ledger.regular_file import open_input

    with open_input(file) as stream:
        data = stream.read(FILE_BYTES_MAX + 1)
    if len(data) > FILE_BYTES_MAX:
        raise InvalidQuery("file", f"is over {FILE_BYTES_MAX:,} bytes.", "Name the file circuit_breakers.yaml.")
    return data


async def _configure(target: LedgerTarget, rules: "tuple[BreakerRule, ...]") -> "AppendResult":
    from api.cli.open_ledger import open_store
    from api.service.breakers import configure_breakers

    async with open_store(target) as store:
        return await configure_breakers(store, rules)


@verb(server=True, reads=True)
def list_breakers(target: LedgerTarget, as_of: AsOf = None) -> None:
    """List the circuit breakers with their states.

    Example: tallystick breakers list
    """
    from api.cli.open_ledger import ask
    from api.cli.output import make_table, open_console, print_json, print_note
    from api.service.breakers import get_breakers
    from api.text_format import format_time, one_line
    from projections.shared_params import NoParams

    answer = ask(target, get_breakers, NoParams(), as_of)
    if target.json:
        print_json(answer)
        return
    if not answer.breakers:
        print_note("There are no circuit breakers: tallystick breakers set FILE")
        return
    table = make_table("scope", "state", "failures", "opened (UTC)", "waits for", right=("failures",), wrap=("scope",))
    for breaker in answer.breakers:
        failures = f"{breaker.failure_count} of {breaker.failure_threshold}"
        opened = format_time(breaker.opened_at) if breaker.opened_at is not None else ""
        table.add_row(one_line(breaker.scope), breaker.state.replace("_", " "), failures, opened, breaker.probe or "")
    open_console().print(table)

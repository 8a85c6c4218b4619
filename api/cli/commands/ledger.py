"""ledger: make, list and check ledgers in PostgreSQL."""

from typing import Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import show
from api.cli.options import option
from api.cli.output import make_table, open_console, print_json, print_note
from api.text_format import one_line


@verb()
def create(
    target: LedgerTarget,
    grant: Annotated[
        str | None, option("Let this role append to the ledger and read it, also if the ledger exists.", "ROLE")
    ] = None,
) -> None:
    """Make an empty ledger, and let a role use it.

    In PostgreSQL the role of the address must be allowed to create schemas, and owns the ledger. Serve the ledger as
    another role, which --grant names: it can append and read, and cannot change anything.

    Exit code 2: the ledger exists, and no role is named.

    Example: tallystick ledger create --ledger 'postgresql://owner@db.example.com/tally?ledger=acme' --grant tally
    """
    import asyncio

    from api.service.database_ledgers import create_ledger

    created = asyncio.run(create_ledger(target.place, grant))
    if target.json:
        print_json(created)
        return
    typer.echo(f"{'Made' if created.created else 'Exists:'} {one_line(created.ledger)}")
    if created.granted is not None:
        typer.echo(f"{one_line(created.granted)} may append to it and read it.")


@verb()
def check(target: LedgerTarget) -> None:
    """Check a ledger in PostgreSQL: whether it opens, how durable it is, and what the role may do.

    It commits one write without an event, as a server does when it connects.

    Exit code 1: the ledger does not open, or commits are less durable than --durability promises.

    Example: tallystick ledger check --ledger 'postgresql://db.example.com/tally?ledger=acme' --durability local
    """
    import asyncio

    from api.cli.render.database_report import print_report
    from api.service.database_ledgers import check_ledger

    report = asyncio.run(check_ledger(target.place))
    show(target, report, print_report, code=int(not report.right))


@verb()
def list_ledgers(target: LedgerTarget) -> None:
    """List the ledgers of a database.

    The ledger that --ledger names need not exist.

    Example: tallystick ledger list --ledger 'postgresql://db.example.com/tally?ledger=any'
    """
    import asyncio

    from api.service import database_ledgers

    found = asyncio.run(database_ledgers.list_ledgers(target.place))
    if target.json:
        print_json(found)
        return
    if not found.ledgers:
        print_note("The database has no ledger. Make one: tallystick ledger create.")
        return
    table = make_table("ledger")
    for name in found.ledgers:
        table.add_row(name)
    open_console().print(table)

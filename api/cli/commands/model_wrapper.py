"""model wrapper: state which names are hosts' own (wrappers), not models'."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.commands.model import EventAgent
from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf

if TYPE_CHECKING:
    from tallystick.shapes.appended import AppendResult

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The name, as answers claim it; case and punctuation are ignored.")
]
Note = Annotated[str | None, typer.Option(help="A remark.")]


@verb(server=True)
def add(target: LedgerTarget, name: Name, *, note: Note = None, agent: EventAgent = None) -> None:
    """Declare that a name is a host's, not a model's.

    Answers that claim it, also earlier ones, are then listed among the hosts of the inventory, and a run that gets one
    ends as with any host.

    Example: tallystick model wrapper add "Acme Gateway" --note "our gateway"
    """
    import asyncio

    from api.cli.render.model_inventory import print_appended

    appended = asyncio.run(_state(target, name, note, agent, is_wrapper=True))
    print_appended(appended, f"{name!r} is a host's name", as_json=target.json)


@verb(server=True)
def remove(target: LedgerTarget, name: Name, *, note: Note = None, agent: EventAgent = None) -> None:
    """State that a name is not a host's, but a model's.

    Withdraws a declaration, or takes a name of the default list out.

    Example: tallystick model wrapper remove amp
    """
    import asyncio

    from api.cli.render.model_inventory import print_appended

    appended = asyncio.run(_state(target, name, note, agent, is_wrapper=False))
    print_appended(appended, f"{name!r} is not a host's name", as_json=target.json)


async def _state(
    target: LedgerTarget, name: str, note: str | None, agent: str | None, *, is_wrapper: bool
) -> "AppendResult":
    from api.cli.open_ledger import open_store
    from api.service.model_registry import add_wrapper, check_host_name, remove_wrapper

    check_host_name(name)
    async with open_store(target) as store:
        return await (add_wrapper if is_wrapper else remove_wrapper)(store, name, note=note, agent=agent)


@verb(server=True, reads=True)
def list_names(target: LedgerTarget, as_of: AsOf = None) -> None:
    """List the names of hosts: yours, and the default list.

    Example: tallystick model wrapper list
    """
    from api.cli.open_ledger import ask, show
    from api.cli.render.wrappers import print_wrappers
    from api.service.wrappers import get_wrappers
    from projections.shared_params import NoParams

    show(target, ask(target, get_wrappers, NoParams(), as_of), print_wrappers)

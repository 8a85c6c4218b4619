"""model wrapper: state which names are hosts' own (wrappers), not models'."""

from typing import TYPE_CHECKING, Annotated

from api.cli.commands.model import EventAgent
from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, show, use_store
from api.cli.options import AsOf, argument, option

if TYPE_CHECKING:
    pass

Name = Annotated[str, argument("The name, as answers claim it; case and punctuation are ignored.", "NAME")]
Note = Annotated[str | None, option("A remark.")]


@verb(server=True)
def add(target: LedgerTarget, name: Name, *, note: Note = None, agent: EventAgent = None) -> None:
    """Declare that a name is a host's, not a model's.

    Answers that claim it, also earlier ones, are then listed among the hosts of the inventory, and a run that gets one
    ends as with any host.

    Example: tallystick model wrapper add "Acme Gateway" --note "our gateway"
    """
    _state(target, name, note, agent, "is a host's name", is_wrapper=True)


@verb(server=True)
def remove(target: LedgerTarget, name: Name, *, note: Note = None, agent: EventAgent = None) -> None:
    """State that a name is not a host's, but a model's.

    Withdraws a declaration, or takes a name of the default list out.

    Example: tallystick model wrapper remove amp
    """
    _state(target, name, note, agent, "is not a host's name", is_wrapper=False)


def _state(
    target: LedgerTarget, name: str, note: str | None, agent: str | None, message: str, *, is_wrapper: bool
) -> None:
    from api.cli.render.model_inventory import print_appended
    from api.service.model_registry import add_wrapper, check_host_name, remove_wrapper

    check_host_name(name)
    write = add_wrapper if is_wrapper else remove_wrapper
    appended = use_store(target, lambda store: write(store, name, note=note, agent=agent))
    print_appended(target, appended, f"{name!r} {message}")


@verb(server=True, reads=True)
def list_names(target: LedgerTarget, as_of: AsOf = None) -> None:
    """List the names of hosts: yours, and the default list.

    Example: tallystick model wrapper list
    """
    from api.cli.render.wrappers import print_wrappers
    from api.service.wrappers import get_wrappers
    from projections.shared_params import NoParams

    show(target, ask(target, get_wrappers, NoParams(), as_of), print_wrappers)

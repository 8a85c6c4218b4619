"""status: show what a ledger contains, which process writes it, and its state."""

from functools import partial

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, show


@verb(server=True, reads=True)
def status(target: LedgerTarget) -> None:
    """Show what a ledger contains, which process writes it, and its state.

    Exit code 1: the newest checkpoint is not valid. `tallystick verify` then says more.

    Example: tallystick status
    """
    from api.cli.render.status import print_status
    from api.service.status import get_status
    from projections.shared_params import NoParams

    state = ask(target, get_status, NoParams())
    shared = target.url is None and target.place.database is not None
    print_state = partial(print_status, name=target.url or str(target.place), shared=shared)
    show(target, state, print_state, code=int(state.checkpoint is not None and not state.checkpoint.valid))

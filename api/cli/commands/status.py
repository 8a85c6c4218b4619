"""status: show what a ledger contains, which process writes it, and its state."""

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask
from api.cli.output import print_json


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
    if target.json:
        print_json(state)
    else:
        shared = target.url is None and target.place.database is not None
        print_status(state, target.url or str(target.place), shared=shared)
    if state.checkpoint is not None and not state.checkpoint.valid:
        raise typer.Exit(1)

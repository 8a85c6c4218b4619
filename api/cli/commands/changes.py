"""changes: show the outcomes of recorded changes."""

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, show
from api.cli.options import AsOf
from api.service.changes import ChangesQuery


@verb(server=True, reads=True)
def changes(target: LedgerTarget, params: ChangesQuery, as_of: AsOf = None) -> None:
    """Show the outcomes of recorded changes of repositories, by agent.

    `tallystick adopt git --record` records them.

    Example: tallystick changes --since 2026-01-01
    """
    from api.cli.render.adopt import print_recorded_changes
    from api.service.changes import get_changes

    show(target, ask(target, get_changes, params, as_of), print_recorded_changes)

"""sessions: show what recorded sessions of coding agents did."""

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, show
from api.cli.options import AsOf
from api.service.sessions import SessionsQuery


@verb(server=True, reads=True)
def sessions(target: LedgerTarget, params: SessionsQuery, as_of: AsOf = None) -> None:
    """Show what the recorded sessions of coding agents did.

    `tallystick adopt sessions --record` records them.

    Example: tallystick sessions --since 2026-11-01
    """
    from api.cli.render.sessions import print_recorded
    from api.service.sessions import get_sessions

    show(target, ask(target, get_sessions, params, as_of), print_recorded)

"""decisions and decision: list decisions, and show one with its history."""

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, show
from api.cli.options import AsOf
from api.service.decision_params import DecisionListParams, OneDecisionParams


@verb(server=True, reads=True)
def decisions(target: LedgerTarget, params: DecisionListParams, as_of: AsOf = None) -> None:
    """List decisions.

    The newest comes first; with --retrieval-mode the best match of --search. The meaning is compared by a server with
    an embeddings endpoint, or with --embedding.

    Example: tallystick decisions --agent claude --status pending --stakes high
    """
    from api.cli.render.decisions import print_decisions
    from api.service.decision_search import get_decisions

    show(target, ask(target, get_decisions, params, as_of), print_decisions)


@verb(server=True, reads=True)
def decision(target: LedgerTarget, params: OneDecisionParams, as_of: AsOf = None) -> None:
    """Show one decision with its history.

    Example: tallystick decision 3f2a9c1e
    """
    from api.cli.render.decisions import print_decision
    from api.service.decisions import get_decision

    show(target, ask(target, get_decision, params, as_of), print_decision)

"""related: show all that happened under one correlation id."""

from typing import Annotated

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, show
from api.cli.options import AsOf, argument, option


@verb(server=True, reads=True)
def related(
    target: LedgerTarget,
    correlationid: Annotated[str, argument("The correlation id.", "ID")],
    *,
    after: Annotated[int, option("Only events after this position.", "POSITION", min=0)] = 0,
    as_of: AsOf = None,
) -> None:
    """Show what happened under a correlation id.

    Lists the events, the decisions with their outcomes, and the scores of evaluations and of probes.

    Example: tallystick related order-66
    """
    from api.cli.render.related import print_related
    from api.service.related_events import RelatedQuery, get_related
    from events.limits import PAGE_EVENTS_MAX

    query = RelatedQuery(correlationid=correlationid, after=after, limit=PAGE_EVENTS_MAX)
    show(target, ask(target, get_related, query, as_of), print_related)

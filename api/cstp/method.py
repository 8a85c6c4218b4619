"""What the table of methods holds for each."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

from api.principal import Principal, Scope
from api.service.ledger import LedgerService

Load = Literal["heavy", "quick", "appends"]
"""What a call costs: `heavy` computes a view for so long that a token may run one at a time, within the time limit of
a query; `quick` only reads, beside others, within that limit; `appends` waits until its event is on disk."""


class Method(NamedTuple):
    """The scope that a method needs, the function that answers a call, and what that costs."""

    scope: Scope
    answer: Callable[[LedgerService, Principal, dict[str, Any]], Awaitable[object]]
    load: Load = "appends"

"""The page about the server: its health, limits and views, and what its operator has configured."""

from collections.abc import Awaitable, Mapping, Sequence
from importlib.metadata import version
from typing import NamedTuple

from api.http.metrics import LimitUse, Metrics
from api.http.pages.content import Content
from api.http.pages.page import page
from api.http.readiness import read_readiness
from api.http.request import Call
from api.service.breakers import get_breakers
from api.service.guardrails.rule_params import GuardrailsQuery
from api.service.guardrails.rule_set import get_guardrails
from api.service.operator_lists import TokenRow, list_tokens, list_webhooks
from api.service.projections import get_projections
from api.service.status import get_status
from events.errors import TallystickError
from projections.shared_params import NoParams

ROWS_MAX = 200
"""The most rows of a list. The command line has all."""

LIMITS: Mapping[str, str] = {
    "connections": "open connections",
    "connections-per-client": "open connections of one address",
    "connections-per-token": "requests of one token at once",
    "feeds": "open event feeds",
    "feeds-per-token": "open event feeds of one token",
    "body-bytes": "bytes of large request bodies in memory",
    "body-bytes-per-token": "the same, of one token",
    "queries": "queries of views computed at once",
    "refusals-per-client": "recent refusals of one address",
}
"""What each limit bounds."""


class Listed(NamedTuple):
    """Rows of a list, how many more there are, or why they cannot be read."""

    rows: Sequence[object]
    more: int = 0
    fault: str | None = None


class LimitRow(NamedTuple):
    """A limit, its present use, and what it bounds. `share` is the use in percent of the limit; None: no limit."""

    use: LimitUse
    text: str
    share: float | None


@page("operate/operate", heavy=True)
async def show_operate(call: Call) -> Content:
    """Show how the server is, and what its operator has configured."""
    ledger, state = call.ledger, call.request.app.state
    metrics: Metrics = state.metrics
    is_operator = call.caller.scopes & {"admin"}
    rules = await get_guardrails(ledger, GuardrailsQuery())
    return Content(
        "Operate",
        {
            "readiness": await read_readiness(call.request),
            "status": await get_status(ledger, NoParams()),
            "limits": [_limit(use) for use in metrics.limit_uses()],
            "refusals": sorted(metrics.refusals.items()),
            "projections": (await get_projections(ledger, NoParams())).projections,
            "rules": rules,
            "shown_rules": _cut(rules.guardrails),
            "breakers": _cut((await get_breakers(ledger, NoParams())).breakers),
            "tokens": await _read(_tokens(call)) if is_operator else None,
            "webhooks": await _read(list_webhooks(ledger, call.caller)) if is_operator else None,
            "now": ledger.clock(),
            "started": state.started,
            "version": version("tallystick"),
        },
        json="/status",
        live="",
    )


def _limit(use: LimitUse) -> LimitRow:
    share = 100 * min(1.0, use.use / use.limit) if use.limit else None
    return LimitRow(use, LIMITS.get(use.name, use.name), share)


async def _tokens(call: Call) -> Sequence[TokenRow]:
    return list_tokens(call.ledger, call.caller)


async def _read(rows: Awaitable[Sequence[object]]) -> Listed:
    """Return a list that is in a file of its own, or what is wrong with the file."""
    try:
        return _cut(await rows)
    except TallystickError as error:
        return Listed((), fault=str(error))


def _cut(rows: Sequence[object]) -> Listed:
    return Listed(rows[:ROWS_MAX], max(0, len(rows) - ROWS_MAX))

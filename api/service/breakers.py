"""Use cases of circuit breakers: configure them, show their states, reset them, and find those that block an action."""

from collections.abc import Sequence
from typing import Any

import msgspec

from api.principal import Principal
from api.service.ledger import LedgerService, View
from api.service.operation import operation
from api.service.store import EventStore
from events.breaker import BreakerReset, BreakerRule, BreakersConfigured
from events.envelope import source_of
from events.registry import VOCABULARY
from ledger.errors import InvalidQuery, NotFound
from projections.breaker_states import BreakerStates, BreakerView, State
from projections.shared_params import NoParams
from tallystick.shapes.appended import AppendResult
from tallystick.shapes.parts import AsOf

FILE_BYTES_MAX = 1024 * 1024
"""Bytes of a configuration: far more than the breakers of an installation need."""

DEFAULTS = {"failure_threshold": 5, "window_ms": 3_600_000, "cooldown_ms": 1_800_000}
"""CSTP's values for what a configuration leaves out."""

IGNORED = "notify"
"""A key of CSTP's configuration that this ledger does not keep."""


class BreakerList(msgspec.Struct, frozen=True):
    """The circuit breakers as of a position, in the order of their scopes."""

    breakers: list[BreakerView]
    as_of: AsOf


class ResetBreaker(msgspec.Struct, frozen=True, kw_only=True):
    """A reset in the log, at `position`: the state before it and the state after it."""

    scope: str
    previous: State
    state: State
    position: int


def parse_breakers(body: bytes) -> tuple[BreakerRule, ...]:
    """Read a configuration in CSTP's format: YAML with a list `circuit_breakers`. Errors: InvalidQuery."""
    from instruments.evals.suite.json_yaml_reader import yaml_value  # noqa: PLC0415 - loads yaml; most commands need none
    from instruments.yaml_reader import UnreadableFile  # noqa: PLC0415 - as above

    try:
        value = yaml_value(body)
    except UnreadableFile as error:
        raise InvalidQuery("file", f"{error}.", error.advice) from None
    listed: Any = value.get("circuit_breakers") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise InvalidQuery("file", "has no list circuit_breakers.", "Write circuit_breakers: [] for none.")
    rules = []
    for index, item in enumerate(listed):
        fields = {name: one for name, one in item.items() if name != IGNORED} if isinstance(item, dict) else item
        try:
            rules.append(msgspec.convert({**DEFAULTS, **fields} if isinstance(fields, dict) else fields, BreakerRule))
        except msgspec.ValidationError as error:
            advice = "A breaker has scope, failure_threshold, window_ms and cooldown_ms."
            raise InvalidQuery(f"circuit_breakers[{index}]", f"{error}.", advice, written=False) from None
    scopes = [rule.scope for rule in rules]
    if repeated := sorted({scope for scope in scopes if scopes.count(scope) > 1}):
        raise InvalidQuery("circuit_breakers", f"{repeated[0]} occurs twice.", "Keep one.", written=False)
    return tuple(rules)


async def configure_breakers(
    store: EventStore, rules: Sequence[BreakerRule], *, agent: str | None = None
) -> AppendResult:
    """Replace every circuit breaker; one whose scope stays keeps its state. Errors: those of `EventStore.append`."""
    source = None if agent is None else source_of(agent)
    return await store.append([VOCABULARY.draft_of(BreakersConfigured(breakers=tuple(rules)), source=source)])


@operation("/breakers", "projections")
async def get_breakers(view: View, params: NoParams) -> BreakerList:
    """List the circuit breakers with their states."""
    projection, position = await view.at(BreakerStates)
    return BreakerList(projection.view(view.clock()), await view.dated(position))


async def find_breaker(view: View, scope: str) -> BreakerView:
    """Return one circuit breaker. Errors: NotFound, InvalidQuery."""
    for breaker in (await get_breakers(view, NoParams())).breakers:
        if breaker.scope == scope:
            return breaker
    raise NotFound(f"No circuit breaker found for scope: {scope}", "See cstp.listBreakers.")


async def reset_breaker(
    ledger: LedgerService, caller: Principal, scope: str, *, probe_first: bool = False, reason: str | None = None
) -> ResetBreaker:
    """Close a circuit breaker that is not closed; with `probe_first`, let one decision through before.

    Errors: NotFound; InvalidQuery, if it is closed; those of `LedgerService.record`.
    """
    caller.require("append")
    before = await find_breaker(ledger, scope)
    if before.state == "closed":
        detail = "Can only reset OPEN breakers, current state: closed"
        raise InvalidQuery("scope", detail, "It lets every action through.", written=False)
    state: State = "half_open" if probe_first else "closed"
    data = BreakerReset(scope=scope, state="half_open" if probe_first else "closed", reason=reason)
    (placed,) = await ledger.record([VOCABULARY.draft_of(data, time=ledger.clock())], caller)
    return ResetBreaker(scope=scope, previous=before.state, state=state, position=placed.position)

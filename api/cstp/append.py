"""From a payload to an appended event, with the moment that the answer names."""

from datetime import datetime
from typing import NamedTuple

from api.auth import Principal
from api.cstp.params import ParameterError, refusal
from api.service.ledger import LedgerService
from events.payload import Payload
from events.registry import VOCABULARY
from ledger import AppendedEvent

_drafts = {kind.payload: kind.draft for kind in VOCABULARY.kinds.values()}


class Appended(NamedTuple):
    """Where the event stands, and when it happened; for a retry, when its first post did."""

    placed: AppendedEvent
    moment: datetime

    @property
    def decision_id(self) -> str:
        return self.placed.subject.removeprefix("decision/")


def check_key(key: str | None, name: str) -> None:
    """Errors: RpcError, for a key that does not print, under the name it was given."""
    if key is not None and not key.isprintable():
        raise refusal([ParameterError(name, "must be 1..128 printable characters")])


async def post(ledger: LedgerService, caller: Principal, payload: Payload, key: str | None, now: datetime) -> Appended:
    """Append one event. `key`, where the client gives one, is the event's id, so that a retry duplicates nothing.

    Errors: those of `LedgerService.record`.
    """
    (placed,) = await ledger.record([_drafts[type(payload)](data=payload, id=key, time=now)], caller)
    if not placed.duplicate:
        return Appended(placed, now)
    return Appended(placed, VOCABULARY.event(await ledger.event(placed.position)).moment)

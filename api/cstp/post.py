"""From a payload to an appended event, with the moment that the answer names."""

from datetime import datetime
from typing import NamedTuple

from api.access import Speaker
from api.cstp.shape import Wrong, refusal
from api.operations import House
from events.payload import Payload
from events.registry import VOCABULARY
from ledger import Placed

_drafts = {kind.payload: kind.draft for kind in VOCABULARY.kinds.values()}


class Posted(NamedTuple):
    """Where the event stands, and when it happened; for a retry, when its first post did."""

    placed: Placed
    moment: datetime

    @property
    def decision_id(self) -> str:
        return self.placed.subject.removeprefix("decision/")


def check_key(key: str | None, name: str) -> None:
    """Errors: RpcError, for a key that does not print, under the name it was given."""
    if key is not None and not key.isprintable():
        raise refusal([Wrong(name, "must be 1..128 printable characters")])


async def post(house: House, speaker: Speaker, payload: Payload, key: str | None, now: datetime) -> Posted:
    """Append one event. `key`, where the client gives one, is the event's id, so that a retry duplicates nothing.

    Errors: those of `House.record`.
    """
    (placed,) = await house.record([_drafts[type(payload)](data=payload, id=key, time=now)], speaker)
    if not placed.duplicate:
        return Posted(placed, now)
    return Posted(placed, VOCABULARY.event(await house.event(placed.position)).moment)

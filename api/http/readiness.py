"""Whether the server is ready: what `/readyz` answers and the page about the server shows."""

import asyncio
from typing import Literal, NamedTuple

import msgspec
from starlette.requests import Request

from api.http.request import ledger_of
from api.service.ledger import LedgerService
from ledger.errors import LedgerUnavailable
from ledger.place import Durability

DATABASE_S = 0.8
"""Seconds in which a database must tell the head. Kubernetes waits a second for the answer of a probe."""


class Readiness(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether the ledger accepts events, the newest position, and the position up to which the views are folded.

    `reason` says why the ledger does not accept events. `unsigned` says why checkpoints are not signed; the ledger
    accepts events nevertheless. `durability` is what was promised about a confirmed commit in a database; absent for a
    ledger file. If the database does not answer, `head` is the newest position that this server knows.
    """

    status: Literal["ready", "not ready"]
    head: int
    folded: int
    reason: str | None = None
    unsigned: str | None = None
    durability: Durability | None = None


class _Head(NamedTuple):
    """The newest position, and why the ledger cannot be read, if so."""

    position: int
    reason: str | None = None


async def read_readiness(request: Request) -> Readiness:
    """Return whether the ledger accepts events. It may be ready before views are folded; their reads then wait."""
    ledger = ledger_of(request)
    head = await _read_head(ledger)
    reason = head.reason
    if ledger.log is not None and ledger.log.broken is not None:
        reason = str(ledger.log.broken)
    elif request.app.state.stopping.is_set():
        reason = "stopping"
    elif ledger.tokens.required() and ledger.tokens.unreadable:
        tokens = "file of the tokens" if ledger.place.database is None else "list of tokens in the database"
        reason = f"the {tokens} cannot be read: every caller is refused"
    refusal = ledger.proving.refusal
    return Readiness(
        status="ready" if reason is None else "not ready",
        head=head.position,
        folded=ledger.engine.position,
        reason=reason,
        unsigned=str(refusal) if refusal is not None else None,
        durability=ledger.place.durability if ledger.place.database is not None else None,
    )


async def _read_head(ledger: LedgerService) -> _Head:
    """Return the newest position. A read waits long for a database that is away: here only DATABASE_S."""
    if ledger.place.database is None or ledger.log is None:
        return _Head((await ledger.reader.head()).position)
    try:
        async with asyncio.timeout(DATABASE_S):
            return _Head((await ledger.reader.head()).position)
    except TimeoutError:
        reason = f"{ledger.place} does not answer within {DATABASE_S} s"
    except LedgerUnavailable as error:
        reason = str(error)
    return _Head(ledger.log.newest.position, reason)

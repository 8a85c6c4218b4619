"""A ledger as of one position: each use case that reads it gives the answer that it would have given then."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

from msgspec import structs

from api.service.ledger import LedgerService
from ledger import LogPage, Query
from projections.engine import Engine
from projections.projection import Projection

P = TypeVar("P", bound=Projection)


class PositionedLedger(LedgerService):
    """A ledger as of a position, or with None as it is now. `used` are the positions that its views were read at.

    As of a position, the clock shows the time of that position, so that the same question has the same answer
    whenever it is asked.
    """

    def __init__(self, ledger: LedgerService, position: int | None, moment: datetime | None) -> None:
        self.__dict__.update(ledger.__dict__)
        self.used: set[int] = set()
        self._position = position
        self.engine = cast("Engine", _PositionedEngine(ledger.engine, position, self.used))
        if position is not None:
            now = moment or ledger.clock()
            self.clock = lambda: now

    async def scan(self, query: Query) -> AsyncIterator[LogPage]:
        """Yield every selected event up to the position, page by page."""
        end = await self.head_position() if self._position is None else self._position
        self.used.add(end)
        query = structs.replace(query, before=min(query.before or end + 1, end + 1))
        async for page in super().scan(query):
            yield page


class _PositionedEngine:
    """The engine of a ledger, at a position unless a caller names another."""

    def __init__(self, engine: Engine, position: int | None, used: set[int]) -> None:
        self._engine = engine
        self._position = position
        self._used = used

    async def at(
        self, kind: type[P], position: int | None = None, *, also: Sequence[type[Projection]] = ()
    ) -> tuple[P, int]:
        if also and self._position is not None:
            await self._engine.catch_up(kinds=also)
        state, used = await self._engine.at(kind, self._position if position is None else position, also=also)
        self._used.add(used)
        return state, used

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the engine has
        return getattr(self._engine, name)

"""A search in windows finds every event once, in both orders, however often its time is up."""

from math import inf
from pathlib import Path

import pytest
from msgspec import structs

from api.principal import OWNER
from api.service import event_search
from api.service.event_search import search_events
from api.service.ledger import LedgerService
from ledger.log import Query
from tests.api.service.ledgers import within
from tests.support.drafts import recorded

EVENTS = 90
QUERIES = [
    Query(source="/agents/rare", limit=4),
    Query(source="/agents/tester", limit=7),
    Query(source="/agents/tester", limit=7, after=20, before=70),
    Query(source="/agents/nobody", limit=3),
    Query(subjects=("decision/d4", "decision/d80"), limit=1),
    Query(limit=10),
    Query(limit=10, after=EVENTS),
    Query(limit=10, before=1),
]


@pytest.fixture(autouse=True)
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_search, "FIRST_WINDOW_EVENTS", 6)


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("search_s", [-1.0, inf])
def test_every_event_is_found_once(tmp_path: Path, order: str, search_s: float) -> None:
    @within(tmp_path / "t.db")
    async def _scenario(service: LedgerService) -> None:
        sources = ["/agents/tester" if number % 30 else "/agents/rare" for number in range(EVENTS)]
        await service.record([recorded(f"d{n}", source=source) for n, source in enumerate(sources)], OWNER)
        for query in QUERIES:
            ordered = structs.replace(query, order=order)
            whole = await service.read(structs.replace(ordered, limit=1000))
            found: list[int] = []
            steps, bounded = 0, ordered
            while True:
                steps += 1
                part = await search_events(service, bounded, search_s)
                assert len(part.lines) == len(part.positions) <= query.limit
                assert len(part.positions) == query.limit or not part.more
                found += part.positions
                if part.next is None:
                    break
                assert part.more or search_s < 0, "with time enough, only a full page ends a search"
                bound = {"before": part.next} if order == "desc" else {"after": part.next}
                bounded = structs.replace(bounded, **bound)
            assert found == list(whole.positions), query
            assert steps <= EVENTS

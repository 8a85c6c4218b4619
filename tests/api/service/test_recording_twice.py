"""A decision that a client sends several times at once is recorded once, with its question and its links."""

import asyncio
from collections import Counter
from pathlib import Path

from api.principal import OWNER
from api.service.decision_writer import DecisionRequest, record_request
from api.service.ledger import LedgerService
from api.service.link_target import LinkTarget
from events.decision import DecisionRecorded
from events.registry import VOCABULARY
from ledger.log import Query
from ledger.place import Place


def test_what_comes_with_a_decision_is_recorded_once(tmp_path: Path) -> None:
    async def main() -> Counter[str]:
        ledger = await LedgerService.open(Place.of(tmp_path / "t.db"), writable=True, views=False)
        try:
            request = DecisionRequest(
                decision=DecisionRecorded(decision_id="d1", decision="Use a queue"),
                question="which queue",
                related=(LinkTarget("d0", 0.5, None), LinkTarget("d2", 0.5, None)),
            )
            posts = [record_request(ledger, OWNER, request) for _ in range(3)]
            recorded = await asyncio.gather(*posts)
            again = await record_request(ledger, OWNER, request)
            assert {each.decision_id for each in (*recorded, again)} == {"d1"}
            assert sorted(each.placed.duplicate for each in (*recorded, again)) == [False, True, True, True]
            page = await ledger.reader.read(Query())
            return Counter(type(event.data).__name__ for event in VOCABULARY.events(page.ndjson))
        finally:
            await ledger.close()

    assert asyncio.run(main()) == {"DecisionRecorded": 1, "DecisionAsked": 1, "DecisionLinked": 2}

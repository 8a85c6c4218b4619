"""Views: a ledger as of a position answers as it did then, by the clock of then."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from api.principal import OWNER
from api.service.calibration import get_calibration
from api.service.calibration_params import CalibrationParams
from api.service.ledger import LedgerService
from ledger.errors import InvalidQuery
from ledger.log import Query
from projections.decisions.decision_index import DecisionIndex
from tests.support.drafts import recorded
from tests.support.event_loop import run

START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = START + timedelta(days=100)


def test_a_view_of_then_has_the_states_the_events_and_the_time_of_then(tmp_path: Path) -> None:
    async def scenario() -> None:
        now = [START]
        ledger = await LedgerService.open(tmp_path / "t.db", writable=True, clock=lambda: now[0])
        try:
            await ledger.record([recorded("a")], OWNER)
            now[0] = LATER
            await ledger.record([recorded("b")], OWNER)
            first = await ledger.past(1)
            assert first.clock() == START
            assert (await first.at(DecisionIndex))[1] == 1
            assert [list(page.positions) async for page in first.scan(Query())] == [[1]]
            assert await first.head_position() == 1
            assert first.used == {1}

            by_time = await ledger.as_of("2026-02-01")
            assert by_time.position == 1
            assert by_time.clock() == datetime(2026, 2, 1, 23, 59, 59, 999_999, tzinfo=UTC)
            assert (await ledger.as_of(None)).position is None
            with pytest.raises(InvalidQuery, match="then: 3 is beyond the head"):
                await ledger.as_of("3", "then")

            month = CalibrationParams(window="30d")
            assert (await get_calibration(first, month)).coverage.total == 1, "a window ends at the time of the view"
            assert (await get_calibration(ledger, month)).coverage.total == 1
            assert (await get_calibration(ledger, CalibrationParams())).coverage.total == 2
        finally:
            await ledger.close()

    run(scenario())

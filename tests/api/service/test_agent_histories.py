"""The histories of agents are the figures of calibration, each agent for itself."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from api.principal import OWNER
from api.service import agent_histories
from api.service.agent_histories import AgentHistories, AgentHistoryQuery, find_agent_histories
from api.service.calibration import compute_calibration
from api.service.calibration_params import CalibrationParams
from api.service.kept_answers import KeptAnswers
from api.service.ledger import LedgerService
from events.decision import DecisionRecorded, DecisionReviewed
from events.envelope import source_of
from projections.calibration.calibration_filter import CalibrationFilter
from projections.time_range import TimeRange
from tallystick.shapes.decisions import Outcome
from tests.api.service.ledgers import within
from tests.support.drafts import draft_of

START = datetime(2026, 1, 1, tzinfo=UTC)


async def record(ledger: LedgerService, agent: str, decisions: int) -> None:
    """Record reviewed decisions, one a day, the second half of them much worse."""
    random, drafts = Random(agent), []
    for number in range(decisions):
        name, time = f"{agent}-{number}", START + timedelta(days=number)
        chance = 0.9 if number < decisions / 2 else 0.3
        outcome: Outcome = "success" if random.random() < chance else "failure"
        data = DecisionRecorded(decision_id=name, decision="ship it", confidence=0.8, category="tooling")
        for payload in (data, DecisionReviewed(decision_id=name, outcome=outcome)):
            draft = draft_of(payload, source=source_of(agent))
            draft.time = time
            drafts.append(draft)
    await ledger.record(drafts, OWNER)


async def finished(ledger: LedgerService, query: AgentHistoryQuery) -> AgentHistories:
    """Return the histories, however long they take."""
    kept = KeptAnswers(1)
    while (answer := (await find_agent_histories(ledger, kept, query, "period", 60.0)).answer) is None:
        pass
    return answer


@pytest.mark.slow
def test_each_figure_is_that_of_the_agent_alone(tmp_path: Path) -> None:
    @within(tmp_path / "ledger.db")
    async def done(ledger: LedgerService) -> bool:
        await record(ledger, "ada", 120)
        await record(ledger, "bo", 30)
        when = TimeRange(START + timedelta(days=3), None)
        asked = AgentHistoryQuery(filter=CalibrationFilter(range=when), agents=("ada", "bo", "nobody"), trend_days=20)
        found = await finished(ledger, asked)
        assert found.range == when
        assert found.as_of.position == await ledger.head_position()
        for agent in ("ada", "bo"):
            alone = CalibrationParams(agent=agent, since=when.since, include=("trend", "drift"), trend_days=20)
            expected = (await compute_calibration(ledger, alone)).answer
            assert found.trends[agent] == expected.trend
            if agent == "ada":
                assert found.drift_by_agent == {"ada": expected.drift}
                assert found.drift_by_agent["ada"].alarm
        assert found.trends["nobody"].windows == ()
        whole = CalibrationParams(since=when.since, include=("drift",))
        assert found.drift == (await compute_calibration(ledger, whole)).answer.drift
        return True

    assert done


def test_with_very_many_reviews_single_agents_are_not_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_histories, "SINGLE_REVIEWS_MAX", 100)

    @within(tmp_path / "ledger.db")
    async def done(ledger: LedgerService) -> bool:
        await record(ledger, "ada", 120)
        found = await finished(ledger, AgentHistoryQuery(agents=("ada",)))
        assert found.drift_by_agent is None
        assert found.drift.alarm
        return True

    assert done

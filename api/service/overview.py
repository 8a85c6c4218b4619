"""Use case: what an owner of agents needs to know at a glance. It is made of the answers of other use cases."""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

import msgspec
from msgspec import structs

from api.service.action_items import STALE_AFTER, TIME_RESOLUTION, ActionItem, ActionItemQuery, list_action_items
from api.service.agent_histories import AgentHistories, AgentHistoryQuery, find_agent_histories
from api.service.calibration import compute_calibration
from api.service.calibration_params import CalibrationParams
from api.service.decisions import DecisionQuery, select_decisions
from api.service.discovery.queries import RunPage, get_runs
from api.service.evaluation.queries import EvaluationPage, get_evaluations
from api.service.kept_answers import Found, KeptAnswers
from api.service.ledger import LedgerService
from api.service.run_params import EvaluationQuery, RunQuery
from api.service.status import CheckpointStatus, DecisionTotals, count_by_agent, read_checkpoint_status
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.words import TREND_DAYS
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from projections.decisions.decision_state import DecisionState
from projections.time_range import TimeRange
from tallystick.shapes.calibration import CalibrationAnswer
from tallystick.shapes.parts import AsOf

AGENTS_SHOWN = 20
"""Agents on the overview: those with the most decisions."""

ITEMS_SHOWN = 5
EVALUATIONS_SHOWN = 5

WINDOWS_PER_PERIOD = 6
"""A window of the trend is a sixth of a period, and at most TREND_DAYS days."""


class OverviewQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Of which decisions the calibration is. `period` names the range, which moves if it ends now.

    The overview waits at most `wait_s` for its parts that take long.
    """

    range: TimeRange = TimeRange()
    period: str = ""
    wait_s: float = 0.0


class WaitingReviews(NamedTuple):
    """Decisions without an outcome: how many, the oldest one, and how many of them wait for long.

    `stale` ones are older than 30 days, `overdue` ones past the date that they state. `urgent` are the most urgent.
    """

    total: int
    oldest: DecisionState | None
    stale: int
    overdue: int
    urgent: Sequence[ActionItem]


class Overview(NamedTuple):
    """The overview of a ledger, as of `head`.

    `agents` has the calibration of AGENTS_SHOWN agents and of all decisions. It and `histories` may be of an earlier
    position, or not there, while they are computed.
    """

    head: AsOf
    totals: DecisionTotals
    agents: Found[CalibrationAnswer]
    histories: Found[AgentHistories]
    waiting: WaitingReviews
    evaluations: EvaluationPage
    runs: RunPage
    checkpoint: CheckpointStatus | None


async def read_overview(ledger: LedgerService, kept: KeptAnswers, query: OverviewQuery) -> Overview:
    """Return the overview. `kept` has the histories that were computed before. Errors: LedgerUnusable, BadNote."""
    until_s = time.monotonic() + query.wait_s
    agents = await _find_agents(ledger, kept, query)
    histories: Found[AgentHistories] = Found(None, current=False)
    if agents.answer is not None:
        asked = AgentHistoryQuery(
            filter=CalibrationFilter(range=query.range),
            agents=tuple(sorted(group.group for group in agents.answer.groups if group.group is not None)),
            trend_days=trend_days(ledger, query.range),
        )
        wait_s = until_s - time.monotonic()
        histories = await find_agent_histories(ledger, kept, asked, query.period, wait_s)
    index, position = await ledger.at(DecisionIndex)
    totals = count_by_agent(index)
    return Overview(
        head=await ledger.dated(position),
        totals=totals,
        agents=agents,
        histories=histories,
        waiting=await _read_waiting(ledger),
        evaluations=await get_evaluations(ledger, EvaluationQuery(limit=EVALUATIONS_SHOWN)),
        runs=await get_runs(ledger, RunQuery(limit=1)),
        checkpoint=await read_checkpoint_status(ledger),
    )


async def _find_agents(ledger: LedgerService, kept: KeptAnswers, query: OverviewQuery) -> Found[CalibrationAnswer]:
    """Return the calibration of the agents with the most decisions."""
    position = await ledger.engine.catch_up()
    asked = CalibrationParams(
        since=query.range.since,
        until=query.range.until,
        group_by="agent",
        limit=AGENTS_SHOWN,
        group_sort="decisions",
    )

    async def compute() -> CalibrationAnswer:
        return (await compute_calibration(ledger, asked)).answer

    key = "agents", query.period
    version = position, query.range
    return await kept.find(key, version, compute, query.wait_s)


def trend_days(ledger: LedgerService, when: TimeRange) -> int:
    """Return the days of a window of the trends in a range of time."""
    if when.since is None:
        return TREND_DAYS
    period = (when.until or ledger.clock()) - when.since
    return max(1, min(TREND_DAYS, round(period / timedelta(days=WINDOWS_PER_PERIOD))))


async def _read_waiting(ledger: LedgerService) -> WaitingReviews:
    now, pending = ledger.clock(), DecisionSelection(status="pending")
    first = await select_decisions(ledger, DecisionQuery(selection=pending, descending=False, limit=1))
    urgent = ActionItemQuery(kinds=("review_outcome", "stale_pending"), limit=ITEMS_SHOWN)
    items = await list_action_items(ledger, urgent)
    index, _ = await ledger.at(DecisionIndex)
    before = TimeRange(None, now - STALE_AFTER - TIME_RESOLUTION)
    return WaitingReviews(
        total=first.total,
        oldest=first.decisions[0] if first.decisions else None,
        stale=index.total(structs.replace(pending, range=before)),
        overdue=index.total(structs.replace(pending, due_before=now)),
        urgent=items.actions,
    )

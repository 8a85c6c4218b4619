"""The overview: what is recorded, the agents at a glance, and what needs attention."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from api.http.pages.content import Content, address_of
from api.http.pages.page import page
from api.http.pages.page_answer import PARTS_WAIT_S, wait_s
from api.http.request import Call
from api.parameters import SINCE, UNTIL, WINDOW, parse_time_range
from api.reports.agent_text import VerdictText, describe_look, describe_row
from api.reports.calibration_text import describe_verdict
from api.reports.plots.sparkline import SparkScale, draw_sparkline
from api.service.agent_histories import AgentHistories
from api.service.overview import AGENTS_SHOWN, Overview, OverviewQuery, read_overview
from projections.calibration.words import MIN_DECISIONS
from projections.time_range import TimeRange
from tallystick.shapes.calibration import CalibrationAnswer, CalibrationGroup
from tallystick.shapes.history import Drift

PERIODS: Mapping[str | None, str] = {None: "all time", "90d": "90 days", "60d": "60 days", "30d": "30 days"}
"""The periods to choose from, by the value of `window`."""


AGENTS_QUERY: Mapping[str, object] = {"group_by": "agent", "group_sort": "decisions", "limit": AGENTS_SHOWN}


class AgentRow(NamedTuple):
    """An agent: its figures, the verdict in words, and its trend as a drawing."""

    group: CalibrationGroup
    verdict: VerdictText
    trend: str | None


class DriftFinding(NamedTuple):
    """What a look found, of an agent or of all (None)."""

    agent: str | None
    text: str
    alarm: bool


@page("overview/overview", query=(WINDOW, SINCE, UNTIL))
async def show_overview(call: Call) -> Content:
    """Show what the ledger has, how well calibrated its agents are, and what is to be done."""
    parameters = call.parameters
    # A window begins at a full minute, so that what was computed for it serves the next request.
    when = parse_time_range(parameters, call.ledger.clock().replace(second=0, microsecond=0))
    wait = wait_s(call.request, PARTS_WAIT_S)
    query = OverviewQuery(range=when, period=address_of("", parameters), wait_s=wait)
    overview = await read_overview(call.ledger, call.request.app.state.kept, query)
    agents, histories = overview.agents.answer, overview.histories.answer
    return Content(
        "Overview",
        {
            "overview": overview,
            "periods": PERIODS,
            "agents": agents,
            "histories": histories,
            "rows": _rows(agents, histories),
            "all_agents": _verdict_on_all(agents),
            "agents_more": max(0, _agents_total(agents) - AGENTS_SHOWN),
            "calibration_json": _json_address(overview, agents, when, **AGENTS_QUERY),
            "drift_json": _json_address(
                overview, histories, when if histories is None else histories.range, include="drift"
            ),
            "findings": _findings(histories),
            "quiet": _quiet(histories),
            "agents_late": not overview.agents.current,
            "histories_late": not overview.histories.current,
            "now": call.ledger.clock(),
            "address": str(call.request.base_url),
            "token_required": call.ledger.tokens.required(),
        },
        json="/status",
        live="",
    )


def _explicit(when: TimeRange) -> Mapping[str, str]:
    """Return the parameters of a range of time, without a window, which would move."""
    ends: Mapping[str, datetime | None] = {"since": when.since, "until": when.until}
    return {name: end.isoformat().replace("+00:00", "Z") for name, end in ends.items() if end is not None}


def _rows(agents: CalibrationAnswer | None, histories: AgentHistories | None) -> list[AgentRow]:
    if agents is None:
        return []
    trends = histories.trends if histories is not None else {}
    known = {agent: trend for agent, trend in trends.items() if any(one.gap is not None for one in trend.windows)}
    scale = SparkScale.of([trend.windows for trend in known.values()])
    rows = []
    for number, group in enumerate(agents.groups, 1):
        name = group.group or ""
        drawn = None
        if scale is not None and name in known:
            drawn = draw_sparkline(known[name].windows, scale, name, f"trend-{number}")
        verdict = describe_row(group, group.reviewed, MIN_DECISIONS)
        rows.append(AgentRow(group, verdict, drawn))
    return rows


def _verdict_on_all(agents: CalibrationAnswer | None) -> str | None:
    return None if agents is None or agents.overall is None else describe_verdict(agents, agents.overall)


def _agents_total(agents: CalibrationAnswer | None) -> int:
    return 0 if agents is None else agents.groups_total or len(agents.groups)


def _json_address(
    overview: Overview, answer: CalibrationAnswer | AgentHistories | None, when: TimeRange, **query: object
) -> str:
    """Return the address of an answer's figures as JSON, as of its position if that is an earlier one."""
    earlier = answer is not None and answer.as_of.position < overview.head.position
    as_of = answer.as_of.position if answer is not None and earlier else None
    return address_of("/calibration", _explicit(when), **query, as_of=as_of)


def _findings(histories: AgentHistories | None) -> list[DriftFinding]:
    """Return what was found in all decisions, and the agents whose gap changed."""
    if histories is None:
        return []
    changed = {agent: drift for agent, drift in (histories.drift_by_agent or {}).items() if drift.alarm}
    looks: list[tuple[str | None, Drift]] = [(None, histories.drift), *sorted(changed.items())]
    return [DriftFinding(agent, describe_look(drift), drift.alarm) for agent, drift in looks]


def _quiet(histories: AgentHistories | None) -> int | None:
    """Return the number of agents in whose reviews no drift was found; None if single agents were not examined."""
    if histories is None or histories.drift_by_agent is None:
        return None
    return sum(not drift.alarm for drift in histories.drift_by_agent.values())

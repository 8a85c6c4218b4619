"""cstp.getSessionContext: return the context for an agent that starts a session."""

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from api.cstp.agent_context import SimilarDecisions, own_agent, scores_json, similar_decisions
from api.cstp.answer_names import named, rounded
from api.cstp.compaction import WISDOM_DECISIONS_MIN, wisdom_json
from api.cstp.guardrails import guardrail_rows
from api.cstp.params_schema import ParamsSchema
from api.cstp.session_markdown import markdown
from api.principal import Principal
from api.service.action_items import ActionItemQuery, ActionItems, list_action_items
from api.service.calibration import compute_calibration
from api.service.calibration_params import CalibrationParams
from api.service.compaction import list_wisdom
from api.service.decisions import DecisionQuery, count_decisions, select_decisions
from api.service.ledger import View
from api.service.shared_patterns import SharedPatterns, find_shared_patterns
from api.service.supplied_vector import read_embedding
from events.payload import Label
from events.vector import Numbers
from projections.calibration.calibration_view import CalibrationGroup
from projections.calibration.words import MIN_DECISIONS
from projections.decisions.decision_selection import DecisionSelection

Section = Literal["decisions", "guardrails", "calibration", "ready", "patterns", "wisdom"]
DEFAULT_SECTIONS: tuple[Section, ...] = ("decisions", "guardrails", "calibration", "ready", "patterns")

DECISIONS_LIMIT, DECISIONS_LIMIT_MAX = 10, 50
READY_LIMIT, READY_LIMIT_MAX = 5, 20
PATTERNS_MAX = 50
MOST_DECISIONS = 50
"""The categories of the answer: those with the most decisions."""

REVIEWS_MIN = 3
"""Reviewed decisions that the strongest and the weakest category must have."""

_REASONS = {"review_outcome": "overdue_review", "stale_pending": "stale_pending"}
"""The reason in the answer for each kind of action."""


class _SessionParams(msgspec.Struct, frozen=True, kw_only=True):
    task_description: str | None = None
    agent: str | None = None
    include: tuple[Section, ...] = DEFAULT_SECTIONS
    decisions_limit: int = DECISIONS_LIMIT
    ready_limit: int = READY_LIMIT
    format: Literal["json", "markdown"] = "json"
    embedding: Numbers | None = None
    embedding_model: Label | None = None


_schema: ParamsSchema[_SessionParams] = ParamsSchema(
    _SessionParams, aliases={"agent": ("agent", "agentId", "agent_id")}, reads=True
)


async def get_session_context(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """Return profile and calibration of an agent, open actions, decisions similar to the task, and shared patterns.

    The agent is `agent`, by default the agent of the token; without both, all agents. `wisdom` is added
    if `include` names it, as in getWisdom. Unknown words in `include` and `format` are ignored.
    """
    start_s = perf_counter()
    request = _schema.decode(params)
    agent = request.agent or own_agent(caller)
    groups, cut, profile = await _profile(view, agent)
    relevant = await _relevant(view, request, params)
    answer: dict[str, Any] = {
        "agentProfile": profile,
        "relevantDecisions": relevant.rows,
        "activeGuardrails": await guardrail_rows(view) if "guardrails" in request.include else [],
        "calibrationByCategory": _by_category(groups) if "calibration" in request.include else {},
        "readyQueue": _queue(await _open_actions(view, request)) if "ready" in request.include else [],
        "confirmedPatterns": [],
        **relevant.notes,
    }
    if cut and "calibration" in request.include:
        answer["cut"] = {"calibrationByCategory": cut}
    if "patterns" in request.include:
        shared = await find_shared_patterns(view, PATTERNS_MAX)
        answer |= {"confirmedPatterns": _patterns(shared), "confirmedPatternsTotal": shared.total}
    if "wisdom" in request.include:
        answer["wisdom"] = [wisdom_json(row) for row in await list_wisdom(view, None, WISDOM_DECISIONS_MIN)]
    elapsed_ms = round((perf_counter() - start_s) * 1000)
    if request.format == "markdown":
        return {"markdown": markdown(answer, agent), "queryTimeMs": elapsed_ms}
    return {**answer, "queryTimeMs": elapsed_ms}


async def _relevant(view: View, request: _SessionParams, params: Mapping[str, Any]) -> SimilarDecisions:
    names = _schema.spelling("embedding", params), _schema.spelling("embedding_model", params)
    embedding = read_embedding(request.embedding, request.embedding_model, names=names)
    if "decisions" not in request.include:
        return SimilarDecisions([])
    limit = min(max(request.decisions_limit, 1), DECISIONS_LIMIT_MAX)
    field = _schema.spelling("task_description", params)
    return await similar_decisions(view, request.task_description or "", field, limit=limit, embedding=embedding)


async def _open_actions(view: View, request: _SessionParams) -> ActionItems:
    limit = min(max(request.ready_limit, 1), READY_LIMIT_MAX)
    return await list_action_items(view, ActionItemQuery(kinds=("review_outcome", "stale_pending"), limit=limit))


async def _profile(view: View, agent: str | None) -> tuple[list[CalibrationGroup], int, dict[str, object]]:
    """Return the figures of the largest categories, the number of others, and the profile.

    A tendency needs MIN_DECISIONS reviewed decisions.
    """
    selection = DecisionSelection(agent=agent)
    counts = await count_decisions(view, selection)
    query = CalibrationParams(
        agent=agent, group_by="category", min_decisions=1, limit=MOST_DECISIONS, group_sort="decisions"
    )
    calibration = (await compute_calibration(view, query)).answer
    profile: dict[str, object] = {"totalDecisions": counts.total, "reviewed": counts.by_status.get("reviewed", 0)}
    if agent is not None:
        profile["agent"] = agent
    if (overall := calibration.overall) is not None:
        profile |= {"overallAccuracy": rounded(overall.accuracy), "brierScore": rounded(overall.brier_score)}
        if overall.reviewed >= MIN_DECISIONS:
            profile |= {"tendency": overall.interpretation, "tendencySupported": overall.supported}
    ranked = [group for group in calibration.groups if group.group is not None and group.reviewed >= REVIEWS_MIN]
    if len(ranked) > 1:
        ranked.sort(key=lambda group: group.accuracy or 0.0)
        profile |= {"strongestCategory": ranked[-1].group, "weakestCategory": ranked[0].group}
    oldest = await select_decisions(view, DecisionQuery(selection=selection, descending=False, limit=1))
    for state in oldest.decisions:
        profile["activeSince"] = state.recorded_at.date().isoformat()
    total = len(calibration.groups) if calibration.groups_total is UNSET else calibration.groups_total
    return calibration.groups, total - len(calibration.groups), profile


def _by_category(groups: Sequence[CalibrationGroup]) -> dict[str, Mapping[str, object]]:
    """Return the scores of those categories that have MIN_DECISIONS reviewed decisions."""
    return {
        group.group: {**scores_json(group), "totalDecisions": group.total, "reviewedDecisions": group.reviewed}
        for group in sorted(groups, key=lambda group: group.group or "")
        if group.group is not None and group.reviewed >= MIN_DECISIONS
    }


def _queue(items: ActionItems) -> list[dict[str, object]]:
    fields, names = ("decision_id", "title", "type", "date", "detail"), {"decision_id": "id", "type": "reason"}
    return [{**named(action, fields, names), "reason": _REASONS[action.type]} for action in items.actions]


def _patterns(shared: SharedPatterns) -> list[dict[str, object]]:
    fields = ("pattern", "count", "categories", "examples")
    return [named(row, fields, {"examples": "exampleIds"}) for row in shared.patterns]

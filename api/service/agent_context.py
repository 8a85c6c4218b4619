"""The context for an agent that starts a session or plans an action: its profile, and similar earlier decisions."""

from typing import Literal

import msgspec

from api.principal import Principal
from api.service.action_items import ActionItem, ActionItemQuery, list_action_items
from api.service.calibration import compute_calibration
from api.service.calibration_params import CalibrationParams
from api.service.compaction import WISDOM_DECISIONS_MIN, Wisdom, list_wisdom
from api.service.decisions import (
    DecisionQuery,
    count_decisions,
    decision_states,
    parse_search_words,
    select_decisions,
)
from api.service.guardrails.action_check import rules_in_force
from api.service.ledger import View
from api.service.ranked_search import RankedQuery, RankedResult, ranked_search
from api.service.retrieval import Ranking, SuppliedEmbedding
from events.envelope import ANONYMOUS
from events.guardrail import GuardrailSet
from projections.calibration.words import MIN_DECISIONS
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from tallystick.shapes.calibration import CalibrationGroup, Verdict

Section = Literal["decisions", "guardrails", "calibration", "ready", "patterns", "wisdom"]
DEFAULT_SECTIONS: tuple[Section, ...] = ("decisions", "guardrails", "calibration", "ready", "patterns")

DECISIONS_LIMIT, DECISIONS_LIMIT_MAX = 10, 50
READY_LIMIT, READY_LIMIT_MAX = 5, 20
PATTERNS_MAX = 50
EXAMPLES_MAX = 5
"""Decisions that a shared pattern names."""

MOST_DECISIONS = 50
"""The categories of the context: those with the most decisions."""

REVIEWS_MIN = 3
"""Reviewed decisions that the strongest and the weakest category must have."""


class SessionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The task of a session, the agent, by default the caller, and which sections its context has."""

    task_description: str | None = None
    agent: str | None = None
    include: tuple[Section, ...] = DEFAULT_SECTIONS
    decisions_limit: int = DECISIONS_LIMIT
    ready_limit: int = READY_LIMIT


class SharedPattern(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, the number of decisions that name it, their categories, and the ids of the oldest of them."""

    pattern: str
    count: int
    categories: list[str]
    examples: list[str]


class SharedPatterns(msgspec.Struct, frozen=True, kw_only=True):
    """The most named rules; `total` is the number of rules that more than one decision names."""

    patterns: list[SharedPattern]
    total: int


class AgentProfile(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of an agent, of all agents without one. The tendency needs MIN_DECISIONS reviewed decisions."""

    total_decisions: int
    reviewed: int
    agent: str | None = None
    overall_accuracy: float | None = None
    brier_score: float | None = None
    tendency: Verdict | None = None
    tendency_supported: bool | None = None
    strongest_category: str | None = None
    weakest_category: str | None = None
    active_since: str | None = None


class SessionContext(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent should know before a session. A section that is not included is empty, or None.

    `categories` have MIN_DECISIONS reviewed decisions; `categories_cut` is the number of those left out.
    """

    profile: AgentProfile
    relevant: RankedResult | None
    guardrails: list[GuardrailSet]
    categories: list[CalibrationGroup]
    categories_cut: int
    ready: list[ActionItem]
    patterns: SharedPatterns | None
    wisdom: list[Wisdom] | None


def own_agent(caller: Principal) -> str | None:
    """Return the agent whose figures the caller sees; None, for all agents, if neither token nor header names it."""
    return None if caller.agent == ANONYMOUS else caller.agent


async def find_similar_decisions(
    view: View,
    text: str,
    field: str,
    *,
    limit: int,
    category: str | None = None,
    embedding: SuppliedEmbedding | None = None,
) -> RankedResult | None:
    """Search earlier decisions that match a text, by meaning and words, or by words alone; None for an empty text.

    Errors: InvalidQuery, naming the field, for too many words, and for a vector that cannot be compared.
    """
    if not parse_search_words(text, field):
        return None
    by_meaning = embedding is not None or await view.indexes.vectors.model() is not None
    query = RankedQuery(
        query=text,
        ranking=Ranking(mode="hybrid" if by_meaning else "keyword", embedding=embedding),
        selection=DecisionSelection(category=category, status=("pending", "reviewed")),
        limit=limit,
    )
    return await ranked_search(view, query)


async def find_session_context(
    view: View, params: SessionQuery, agent: str | None, embedding: SuppliedEmbedding | None, field: str
) -> SessionContext:
    """Return the context of a session of an agent. Errors: as `find_similar_decisions`; `field` has the task."""
    include = params.include
    profile, groups, cut = await _find_profile(view, agent)
    relevant, ready = None, list[ActionItem]()
    if "decisions" in include:
        limit = min(max(params.decisions_limit, 1), DECISIONS_LIMIT_MAX)
        task = params.task_description or ""
        relevant = await find_similar_decisions(view, task, field, limit=limit, embedding=embedding)
    if "ready" in include:
        limit = min(max(params.ready_limit, 1), READY_LIMIT_MAX)
        query = ActionItemQuery(kinds=("review_outcome", "stale_pending"), limit=limit)
        ready = (await list_action_items(view, query)).actions
    judged = [group for group in groups if group.reviewed >= MIN_DECISIONS]
    return SessionContext(
        profile=profile,
        relevant=relevant,
        guardrails=await rules_in_force(view) if "guardrails" in include else [],
        categories=sorted(judged, key=lambda group: group.group or "") if "calibration" in include else [],
        categories_cut=cut if "calibration" in include else 0,
        ready=ready,
        patterns=await find_shared_patterns(view, PATTERNS_MAX) if "patterns" in include else None,
        wisdom=await list_wisdom(view, None, WISDOM_DECISIONS_MIN) if "wisdom" in include else None,
    )


async def _find_profile(view: View, agent: str | None) -> tuple[AgentProfile, list[CalibrationGroup], int]:
    """Return the profile, the figures of the largest named categories, and the number of categories left out."""
    selection = DecisionSelection(agent=agent)
    counts = await count_decisions(view, selection)
    query = CalibrationParams(
        agent=agent, group_by="category", min_decisions=1, limit=MOST_DECISIONS, group_sort="decisions"
    )
    scored = (await compute_calibration(view, query)).answer
    overall, groups = scored.overall, [group for group in scored.groups if group.group is not None]
    judged = overall is not None and overall.reviewed >= MIN_DECISIONS
    ranked = [group for group in groups if group.reviewed >= REVIEWS_MIN]
    ranked.sort(key=lambda group: group.accuracy or 0.0)
    oldest = await select_decisions(view, DecisionQuery(selection=selection, descending=False, limit=1))
    profile = AgentProfile(
        total_decisions=counts.total,
        reviewed=counts.by_status.get("reviewed", 0),
        agent=agent,
        overall_accuracy=None if overall is None else overall.accuracy,
        brier_score=None if overall is None else overall.brier_score,
        tendency=overall.interpretation if overall is not None and judged else None,
        tendency_supported=overall.supported if overall is not None and judged else None,
        strongest_category=ranked[-1].group if len(ranked) > 1 else None,
        weakest_category=ranked[0].group if len(ranked) > 1 else None,
        active_since=next((state.recorded_at.date().isoformat() for state in oldest.decisions), None),
    )
    cut = 0 if scored.groups_total is None else scored.groups_total - len(scored.groups)
    return profile, groups, cut


async def find_shared_patterns(view: View, limit: int) -> SharedPatterns:
    """List the rules that more than one decision names, the most named first, at most `limit`."""
    projection, position = await view.at(DecisionIndex)
    total, groups = projection.shared_patterns(projection.find(DecisionSelection()), limit)
    summaries = [
        (projection.positions(group[:EXAMPLES_MAX]), len(group), projection.categories(group)) for group in groups
    ]
    examples = await view.engine.names.grouped([positions for positions, _, _ in summaries])
    states = await decision_states(view, [subjects[0] for subjects in examples], position)
    rows = zip(states, examples, summaries, strict=True)
    patterns = [
        SharedPattern(
            pattern=state.decision.pattern or "",
            count=count,
            categories=categories,
            examples=[subject.removeprefix("decision/") for subject in subjects],
        )
        for state, subjects, (_, count, categories) in rows
    ]
    return SharedPatterns(patterns=patterns, total=total)

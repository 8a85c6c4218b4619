"""The context for an agent that starts a session, as CSTP names its fields."""

from time import perf_counter
from typing import Any, Literal

from api.principal import Principal
from api.service.agent_calls.answer_names import named, without_none
from api.service.agent_calls.guardrails import rule_row
from api.service.agent_calls.query_decisions import scores_json, similar_notes, similar_rows
from api.service.agent_context import AgentProfile, SessionQuery, find_session_context, own_agent
from api.service.compaction import Wisdom
from api.service.ledger import View
from api.service.session_markdown import markdown
from api.service.supplied_vector import read_embedding
from events.payload import Label
from events.vector import Numbers

_REASONS = {"review_outcome": "overdue_review", "stale_pending": "stale_pending"}
"""The reason in the answer for each kind of action."""

_ACTION = {"decision_id": "id", "title": "title", "type": "reason", "date": "date", "detail": "detail"}
_PATTERN = {"pattern": "pattern", "count": "count", "categories": "categories", "examples": "exampleIds"}
_WISDOM = {
    "category": "category", "decisions": "decisions", "success_rate": "successRate", "principles": "keyPrinciples",
    "common_failure": "commonFailureMode", "mean_confidence": "avgConfidence", "brier_score": "brierScore",
}  # fmt: skip
_PRINCIPLE = {"text": "text", "confirmations": "confirmations", "examples": "exampleIds"}
"""The protocol's names of our fields, in the order of a row."""

BRIER_DIGITS = 4


class SessionParams(SessionQuery, frozen=True, kw_only=True):
    """What to tell an agent that starts a session."""

    format: Literal["json", "markdown"] = "json"
    embedding: Numbers | None = None
    embedding_model: Label | None = None


async def get_session_context(
    view: View,
    caller: Principal,
    request: SessionParams,
    names: tuple[str, str, str] = ("task_description", "embedding", "embedding_model"),
) -> dict[str, object]:
    """Return profile and calibration of an agent, open actions, decisions similar to the task, and shared patterns.

    The agent is `agent`, by default the agent of the token; without both, all agents. `wisdom` is added
    if `include` names it, as in getWisdom. `names` are the fields' names in errors. Errors: InvalidQuery.
    """
    start_s = perf_counter()
    agent = request.agent or own_agent(caller)
    embedding = read_embedding(request.embedding, request.embedding_model, names=names[1:])
    context = await find_session_context(view, request, agent, embedding, names[0])
    if request.format == "markdown":
        return {"markdown": markdown(context, agent), "queryTimeMs": _elapsed_ms(start_s)}
    answer: dict[str, Any] = {
        "agentProfile": without_none(named(context.profile, AgentProfile.__struct_fields__)),
        "relevantDecisions": similar_rows(context.relevant, view.clock()),
        "activeGuardrails": list(map(rule_row, context.guardrails)),
        "calibrationByCategory": {
            group.group: {**scores_json(group), "totalDecisions": group.total, "reviewedDecisions": group.reviewed}
            for group in context.categories
        },
        "readyQueue": [{**named(it, _ACTION, _ACTION), "reason": _REASONS[it.type]} for it in context.ready],
        "confirmedPatterns": [],
        **similar_notes(context.relevant),
    }
    if context.categories_cut:
        answer["cut"] = {"calibrationByCategory": context.categories_cut}
    if context.patterns is not None:
        patterns = [named(row, _PATTERN, _PATTERN) for row in context.patterns.patterns]
        answer |= {"confirmedPatterns": patterns, "confirmedPatternsTotal": context.patterns.total}
    if context.wisdom is not None:
        answer["wisdom"] = list(map(wisdom_json, context.wisdom))
    return {**answer, "queryTimeMs": _elapsed_ms(start_s)}


def _elapsed_ms(start_s: float) -> int:
    return round((perf_counter() - start_s) * 1000)


def wisdom_json(wisdom: Wisdom) -> dict[str, object]:
    """Return the wisdom of a category as the protocol has it: what it lacks is left out."""
    principles = [named(one, _PRINCIPLE, _PRINCIPLE) for one in wisdom.principles]
    row = named(wisdom, _WISDOM, _WISDOM, {"brierScore": BRIER_DIGITS})
    return without_none({**row, "keyPrinciples": principles or None})

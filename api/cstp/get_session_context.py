"""cstp.getSessionContext: return the context for an agent that starts a session."""

from time import perf_counter
from typing import Any, Literal

from api.cstp.answer_names import named, without_none
from api.cstp.compaction import wisdom_json
from api.cstp.guardrails import rule_row
from api.cstp.params_schema import ParamsSchema
from api.cstp.query_decisions import scores_json, similar_notes, similar_rows
from api.principal import Principal
from api.service.agent_context import AgentProfile, SessionQuery, find_session_context, own_agent
from api.service.ledger import View
from api.service.session_markdown import markdown
from api.service.supplied_vector import read_embedding
from events.payload import Label
from events.vector import Numbers

_REASONS = {"review_outcome": "overdue_review", "stale_pending": "stale_pending"}
"""The reason in the answer for each kind of action."""

_ACTION = {"decision_id": "id", "title": "title", "type": "reason", "date": "date", "detail": "detail"}
_PATTERN = {"pattern": "pattern", "count": "count", "categories": "categories", "examples": "exampleIds"}
"""The protocol's names of our fields, in the order of a row."""


class _SessionParams(SessionQuery, frozen=True, kw_only=True):
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
    names = _schema.spelling("embedding", params), _schema.spelling("embedding_model", params)
    embedding = read_embedding(request.embedding, request.embedding_model, names=names)
    field = _schema.spelling("task_description", params)
    context = await find_session_context(view, request, agent, embedding, field)
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

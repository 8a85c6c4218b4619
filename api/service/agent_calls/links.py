"""Link two decisions, and name decisions and links as CSTP does."""

from api.principal import Principal
from api.service.agent_calls.answer_names import named, without_none
from api.service.agent_calls.decision_json import with_defaults
from api.service.decision_links import DecisionLink, LinkedDecision, link_decisions, list_related
from api.service.ledger import LedgerService, View
from events.link import DecisionLinked
from projections.decisions.link_graph import UNSTATED_WEIGHT

NEIGHBORS_MAX = 100

_NODE = (
    "decision_id", "category", "stakes", "recorded_at", "in_degree", "out_degree", "summary", "confidence", "outcome",
    "tags", "pattern", "superseded_by", "retracted",
)  # fmt: skip
_EDGE = ("source_id", "target_id", "edge_type", "weight", "created_at", "created_by", "context")


async def link(ledger: LedgerService, caller: Principal, linked: DecisionLinked, key: str | None) -> dict[str, object]:
    """Link two decisions. A later link of the same type between them replaces it.

    As in the protocol, a decision need not be in the ledger; `unknown` then names it. `key` is the idempotency key.
    """
    recorded = await link_decisions(ledger, caller, linked, event_id=key)
    edge = DecisionLink(
        source_id=recorded.source_id,
        target_id=recorded.target_id,
        edge_type=linked.edge_type,
        created_at=recorded.time,
        created_by=caller.agent,
        position=recorded.position,
        weight=linked.weight,
        context=linked.context,
    )
    unknown = {"unknown": recorded.unknown} if recorded.unknown else {}
    return {"success": True, "edge": edge_json(edge), **unknown}


async def related_decisions(view: View, decision_id: str) -> list[dict[str, object]]:
    """Return the decisions to which one is linked as related, the nearest first, as in CSTP's decision files."""
    return [
        {
            "id": one.decision.decision_id,
            "summary": one.decision.summary or one.link.context or "",
            "distance": round(1 - (UNSTATED_WEIGHT if one.link.weight is None else one.link.weight), 3),
        }
        for one in await list_related(view, decision_id, NEIGHBORS_MAX)
    ]


def node_json(decision: LinkedDecision) -> dict[str, object]:
    """Return a node. Of a decision that is not in the ledger, the required fields are empty, as in the protocol."""
    node = named(decision, _NODE, {"decision_id": "id", "recorded_at": "date"})
    day = "" if decision.recorded_at is None else decision.recorded_at.date().isoformat()
    node |= {"category": decision.category or "", "stakes": decision.stakes or "", "date": day}
    node |= {name: node[name] or None for name in ("tags", "supersededBy", "retracted")}
    return without_none(node if decision.recorded_at is None else with_defaults(node))


def edge_json(link: DecisionLink) -> dict[str, object]:
    """Return a link as CSTP names its fields."""
    weight = UNSTATED_WEIGHT if link.weight is None else link.weight
    return without_none({**named(link, _EDGE), "weight": weight})

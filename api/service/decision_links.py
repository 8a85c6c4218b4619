"""Use cases of links between decisions: link two, list the neighbours of one, and walk the graph around it."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import structs

from api.principal import Principal
from api.service.decision_ids import has_decision, ids_starting_with, position_of_views
from api.service.decision_params import DEPTH_MAX, LinkGraphParams, NeighborParams
from api.service.decision_writer import act_as, append_payload, decision_exists
from api.service.decisions import decision_states
from api.service.id_prefix import id_not_found
from api.service.ledger import LedgerService, View
from api.service.operation import operation
from api.service.shared_fields import shared_fields
from events.decision import Stakes
from events.errors import InvalidEvent
from events.limits import ITEMS_MAX
from events.link import DecisionLinked, LinkType
from events.registry import VOCABULARY
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_state import DecisionState
from projections.decisions.link_graph import GraphLink, LinkGraph, LinkSelection
from tallystick.shapes.decisions import Outcome, RecordedLink
from tallystick.shapes.parts import AsOf

SUMMARY_CHARS = 120


class DecisionLink(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A link in force. `created_by` is the agent that made it, or the name that the link states."""

    source_id: str
    target_id: str
    edge_type: LinkType
    created_at: datetime
    created_by: str
    position: int
    weight: float | None = None
    context: str | None = None


class LinkedDecision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A decision in the graph, with the numbers of links to it and from it.

    Of a decision that is not in the ledger, nothing else is known. `summary` is the beginning of its text.
    """

    decision_id: str
    in_degree: int
    out_degree: int
    recorded_at: datetime | None = None
    agent: str | None = None
    summary: str | None = None
    category: str | None = None
    stakes: Stakes | None = None
    confidence: float | None = None
    outcome: Outcome | None = None
    tags: tuple[str, ...] = ()
    pattern: str | None = None
    superseded_by: tuple[str, ...] = ()
    retracted: bool = False


class Neighbor(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that is linked to another one, and the link."""

    decision: LinkedDecision
    link: DecisionLink


class NeighborList(msgspec.Struct, frozen=True, kw_only=True):
    """The strongest links of a decision, with the decisions at their other ends. `total` counts all of its links."""

    decision_id: str
    neighbors: list[Neighbor]
    total: int
    as_of: AsOf


class DecisionGraph(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions and links around one, the nearest first. `total` counts all links within reach."""

    decision_id: str
    depth: int
    decisions: list[LinkedDecision]
    links: list[DecisionLink]
    total: int
    as_of: AsOf


class _Node(NamedTuple):
    """What the graph says of a decision."""

    degrees: tuple[int, int]
    superseded_by: tuple[str, ...]


async def link_decisions(
    ledger: LedgerService,
    caller: Principal,
    link: DecisionLinked,
    *,
    event_id: str | None = None,
    source: str | None = None,
    prefix: bool = False,
) -> RecordedLink:
    """Link two decisions. A later link of the same type between them replaces it.

    A decision need not be in the ledger: `unknown` names those that are not. With `prefix`, a decision may be named by
    a unique beginning of its id; that needs the scope `read`. The same link with the same `event_id` is a retry.
    Errors: NotFound, for a beginning of several ids; Forbidden, and those of `LedgerService.record`; nothing was
    written.
    """
    agent = act_as(caller, source)
    ids, unknown = [], []
    for given in (link.source_id, link.target_id):
        name, known = await find_named(ledger, caller, given, prefix=prefix)
        ids.append(name)
        unknown += [] if known else [name]
    try:
        link = structs.replace(link, source_id=ids[0], target_id=ids[1])
    except ValueError as error:
        raise InvalidEvent(f"{error}.", "Name another one.", field="data.target_id") from None
    appended = await append_payload(ledger, agent, link, event_id, ledger.clock())
    return RecordedLink(
        link_id=appended.placed.subject.removeprefix("link/"),
        source_id=link.source_id,
        target_id=link.target_id,
        position=appended.placed.position,
        event_id=appended.placed.id,
        time=appended.moment,
        duplicate=appended.placed.duplicate,
        unknown=tuple(unknown),
    )


async def find_named(ledger: LedgerService, caller: Principal, given: str, *, prefix: bool) -> tuple[str, bool]:
    """Return the id of a decision, and whether the ledger has the decision.

    With `prefix`, it may be given by a unique beginning. Errors: NotFound, for a beginning of several ids; Forbidden.
    """
    if await decision_exists(ledger, given):
        return given, True
    if not prefix:
        return given, False
    caller.require("read")
    _, position = await ledger.at(DecisionIndex)
    matches = await ids_starting_with(ledger, given, position)
    if len(matches) > 1:
        raise id_not_found(given, "decision", ambiguous=True)
    return (matches[0], True) if matches else (given, False)


@operation("/decisions/{decision_id}/neighbors", "links", errors=(404,))
async def get_neighbors(view: View, params: NeighborParams) -> NeighborList:
    """List the links of a decision with the decisions at their other ends, the strongest first."""
    decision_id, graph, position = await _enter(view, params.decision_id, prefix=params.prefix)
    selection = LinkSelection(params.direction, params.edge_type)
    neighbors, total = await _read_neighbors(view, graph, decision_id, selection, params.limit, position)
    return NeighborList(decision_id=decision_id, neighbors=neighbors, total=total, as_of=await view.dated(position))


@operation("/decisions/{decision_id}/graph", "links", heavy=True, errors=(404,))
async def get_graph(view: View, params: LinkGraphParams) -> DecisionGraph:
    """Follow links from a decision, up to 5 steps.

    The nearest come first, and each link is there once. `limit` is the largest number of links.
    """
    assert 1 <= params.depth <= DEPTH_MAX, "the interface checks the depth"
    decision_id, graph, position = await _enter(view, params.decision_id, prefix=params.prefix)
    selection = LinkSelection(params.direction, params.edge_type)
    found = graph.walk(decision_id, params.depth, selection, params.limit)
    decisions, links = await _read(view, graph, found.decisions, found.links, position)
    return DecisionGraph(
        decision_id=decision_id,
        depth=params.depth,
        decisions=list(decisions.values()),
        links=links,
        total=found.total,
        as_of=await view.dated(position),
    )


async def list_related(view: View, decision_id: str, limit: int) -> list[Neighbor]:
    """List the decisions to which one is linked as related, the strongest link first."""
    graph, position = await view.at(LinkGraph)
    selection = LinkSelection("outgoing", ("relates_to",))
    neighbors, _ = await _read_neighbors(view, graph, decision_id, selection, limit, position)
    return neighbors


async def _read_neighbors(
    view: View, graph: LinkGraph, decision_id: str, selection: LinkSelection, limit: int, position: int
) -> tuple[list[Neighbor], int]:
    """Return the first `limit` links of a decision, with the decisions at their other ends; and how many it has."""
    links = graph.links_of(decision_id, selection)
    shown = links[:limit]
    ends = [link.target_id if link.source_id == decision_id else link.source_id for link in shown]
    decisions, read = await _read(view, graph, ends, shown, position)
    return [Neighbor(decision=decisions[end], link=link) for end, link in zip(ends, read, strict=True)], len(links)


async def _enter(view: View, given: str, *, prefix: bool) -> tuple[str, LinkGraph, int]:
    """Return the full id of a decision, the graph and its position. The id may be one that only links name.

    Errors: NotFound.
    """
    position = await position_of_views(view)
    recorded = await has_decision(view, given, position)
    matches = await ids_starting_with(view, given, position) if prefix and given and not recorded else []
    graph, latest = await (view if view.position is None else view.ledger).at(LinkGraph)
    if view.position is None:
        position = latest
    elif any(graph.has(name) for name in (given, *matches)):
        graph, _ = await view.at(LinkGraph)  # a decision that has no link now had none before
    if recorded or graph.has(given):
        return given, graph, position
    if len(matches) == 1:
        return matches[0], graph, position
    raise id_not_found(given, "decision", ambiguous=bool(matches))


async def _read(
    view: View, graph: LinkGraph, ids: Sequence[str], links: Sequence[GraphLink], position: int
) -> tuple[dict[str, LinkedDecision], list[DecisionLink]]:
    """Read decisions and links of the graph. The graph may be live: it is used before the first `await`."""
    nodes = {name: _Node(graph.degrees(name), graph.superseded_by(name, position)) for name in ids}
    states: dict[str, DecisionState] = {}
    names = list(nodes)
    for start in range(0, len(names), ITEMS_MAX):
        subjects = [f"decision/{name}" for name in names[start : start + ITEMS_MAX]]
        for state in await decision_states(view, subjects, position):
            states[state.decision_id] = state
    decisions = {name: _linked_decision(name, node, states.get(name)) for name, node in nodes.items()}
    return decisions, [await _read_link(view, link) for link in links]


def _linked_decision(name: str, node: _Node, state: DecisionState | None) -> LinkedDecision:
    in_degree, out_degree = node.degrees
    linked = LinkedDecision(
        decision_id=name, in_degree=in_degree, out_degree=out_degree, superseded_by=node.superseded_by
    )
    if state is None:
        return linked
    return structs.replace(
        linked,
        **{**shared_fields(state.decision, LinkedDecision), "decision_id": name},
        recorded_at=state.recorded_at,
        agent=state.agent,
        summary=state.decision.decision[:SUMMARY_CHARS],
        outcome=state.review.outcome if state.review is not None else None,
        retracted=state.retracted is not None,
    )


async def _read_link(view: View, link: GraphLink) -> DecisionLink:
    event = VOCABULARY.event(await view.event(link.position))
    data = event.data
    assert isinstance(data, DecisionLinked), "the graph names the position of a link"
    return DecisionLink(
        **link._asdict(),
        created_at=event.moment,
        created_by=data.created_by or event.agent,
        context=data.context,
    )

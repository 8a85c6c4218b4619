"""The links of a decision: a drawing, and the same as a list."""

from collections.abc import Sequence
from typing import NamedTuple

from starlette.responses import Response

from api.http.pages.content import Content, address_of
from api.http.pages.page import page
from api.http.pages.page_figure import PageFigure, drawing_response
from api.http.request import Call
from api.http.routes.decisions import DECISION_ID
from api.reports.plots.link_figure import DrawnLink, draw_links
from api.service.decision_links import DecisionGraph, DecisionLink, LinkedDecision, get_graph
from api.service.decision_params import LinkGraphParams
from api.service.event_params import AS_OF

LINKS_LISTED, LINKS_DRAWN = 20, 8

FIGURE = "links"


class LinkRow(NamedTuple):
    """A link of the shown decision, and the decision at its other end."""

    link: DecisionLink
    other: LinkedDecision
    outgoing: bool

    @property
    def relation(self) -> str:
        """What the first decision does to the second."""
        return self.link.edge_type.replace("_", " ")


class ShownLinks(NamedTuple):
    """The first links of a decision, how many there are in all, a drawing of them, and their address as JSON."""

    rows: Sequence[LinkRow]
    total: int
    figure: PageFigure | None
    json: str


async def read_links(call: Call, decision_id: str) -> ShownLinks:
    """Return the links of a decision that is in the ledger."""
    graph = await _read_graph(call, decision_id)
    as_of = {name: value for name, value in call.parameters.items() if name == AS_OF.name}
    json = address_of(f"/decisions/{decision_id}/graph", as_of, limit=LINKS_LISTED)
    rows = _rows(graph)
    if not rows:
        return ShownLinks(rows, graph.total, None, json)
    address = address_of(f"/ui/decisions/{decision_id}/figures/{FIGURE}.svg", as_of)
    figure = PageFigure(FIGURE, "How it is linked", "", _draw(graph, rows), address, None)
    return ShownLinks(rows, graph.total, figure, json)


@page(query=(AS_OF,))
async def get_links_drawing(call: Call) -> Content | Response:
    """Return the drawing of a decision's links as a file."""
    graph = await _read_graph(call, call.path(DECISION_ID))
    return drawing_response(_draw(graph, _rows(graph)))


async def _read_graph(call: Call, decision_id: str) -> DecisionGraph:
    return await get_graph(await call.view(), LinkGraphParams(decision_id=decision_id, limit=LINKS_LISTED))


def _rows(graph: DecisionGraph) -> list[LinkRow]:
    decisions = {decision.decision_id: decision for decision in graph.decisions}
    rows = []
    for link in graph.links:
        outgoing = link.source_id == graph.decision_id
        other = decisions[link.target_id if outgoing else link.source_id]
        rows.append(LinkRow(link, other, outgoing))
    return rows


def _draw(graph: DecisionGraph, rows: Sequence[LinkRow]) -> str:
    subject = next(decision for decision in graph.decisions if decision.decision_id == graph.decision_id)
    drawn = [
        DrawnLink(row.relation, row.outgoing, row.other.summary or row.other.decision_id, _fact(row.other))
        for row in rows[:LINKS_DRAWN]
    ]
    return draw_links(subject.summary or subject.decision_id, _fact(subject), drawn, graph.total)


def _fact(decision: LinkedDecision) -> str:
    """Say how a decision turned out."""
    if decision.agent is None:
        return "not in this ledger"
    if decision.retracted:
        return "retracted"
    confidence = "" if decision.confidence is None else f"{decision.confidence:g}, "
    return f"{confidence}{decision.outcome or 'pending'}"

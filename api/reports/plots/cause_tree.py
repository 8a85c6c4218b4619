"""Draw events as a tree: each event is below its cause, indented, and events without one are below the whole."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from api.reports.escape import cut, escape_html, one_line
from api.reports.plots.svg import MARGIN, WIDTH, draw_page, draw_position, draw_text

DRAWN_MAX = 40
"""Events in one drawing."""

DEPTH_MAX = 8
"""Steps of indentation; deeper events are as far right as those of this depth."""

TOP, ROW, STEP = 84, 30, 26
CHARACTER = 8.7
"""The mean width of a character of 18 px, in SVG units."""


class TreeEvent(NamedTuple):
    """An event of the tree: its position, that of its cause, its type and its stream."""

    position: int
    cause: int | None
    type: str
    subject: str


class _Node(NamedTuple):
    event: TreeEvent
    depth: int
    row: int
    parent_row: int


def draw_causes(correlationid: str, events: Sequence[TreeEvent], position: int) -> str:
    """Return the drawing of the events of a correlation id, as of a position. A missing cause counts as none."""
    nodes = list(_place(events))
    count = len(nodes)
    caused = sum(node.parent_row >= 0 for node in nodes)
    description = f"{count} events; {caused} of them name one of the others as their cause."
    title = f"Causes and effects of {correlationid}"
    lines = [
        f"<desc>{escape_html(description)}</desc>",
        draw_text(MARGIN, 40, one_line(correlationid, 52), "ink", "start"),
        draw_text(MARGIN, 64, description, "", "start"),
        *(line for node in nodes for line in _draw_node(node)),
        draw_position(position, TOP + ROW * count + 34),
    ]
    return draw_page(TOP + ROW * count + 34, title, lines)


def _place(events: Sequence[TreeEvent]) -> Iterator[_Node]:
    """Yield the events in the order of the rows: each before its effects, which are in the order of the log."""
    known = {event.position for event in events}
    effects: dict[int | None, list[TreeEvent]] = {}
    for event in events:
        effects.setdefault(event.cause if event.cause in known else None, []).append(event)
    rows: dict[int, int] = {}
    waiting = [(event, 0) for event in reversed(effects.get(None, []))]
    while waiting:
        event, depth = waiting.pop()
        parent = -1 if depth == 0 else rows[_cause(event)]
        rows[event.position] = len(rows)
        yield _Node(event, depth, rows[event.position], parent)
        waiting += [(effect, depth + 1) for effect in reversed(effects.get(event.position, []))]


def _cause(event: TreeEvent) -> int:
    assert event.cause is not None, event
    return event.cause


def _draw_node(node: _Node) -> Iterator[str]:
    """Draw an event: the line from its cause, a dot, its position and type, and its stream as far as it fits."""
    x, y = MARGIN + STEP * min(node.depth, DEPTH_MAX), TOP + ROW * node.row + ROW / 2
    if node.depth:
        start = MARGIN + STEP * min(node.depth - 1, DEPTH_MAX)
        above = TOP + ROW * node.parent_row + ROW / 2 + 6
        yield f'<path class="grid" fill="none" stroke-width="2" d="M{start + 6:.1f} {above:.1f}V{y:.1f}H{x + 6:.1f}"/>'
    yield f'<circle class="{"count" if node.depth else "dot"}" cx="{x + 6:.1f}" cy="{y:.1f}" r="5"/>'
    label = f"{node.event.position:,} {node.event.type}"
    yield draw_text(x + 20, y + 6, label, "ink", "start")
    characters = int((WIDTH - MARGIN - x - 20) / CHARACTER) - len(label) - 2
    if characters > 6:
        yield draw_text(WIDTH - MARGIN, y + 6, cut(one_line(node.event.subject), characters), "", "end")

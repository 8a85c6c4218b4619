"""A drawing of a decision and the decisions that are linked to it."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from api.reports.escape import cut, escape_html, one_line
from api.reports.plots.svg import MARGIN, WIDTH, draw_page, draw_text
from api.text_format import pluralize

TRUNK, ENDS = 218.0, 330.0
"""Where the line to which all links join is, and where the boxes of linked decisions begin."""

SUBJECT_WIDTH = TRUNK - 2 * MARGIN + 10
SUBJECT_CHARS, SUBJECT_LINES = 16, 5
END_CHARS = 27

ROW, BOX, TOP = 74.0, 60.0, 24.0
LINE = 24.0
"""Heights: of a row, of the box in it, of the margin above, and of a line of text."""

_CLASSES = {"relates to": "perfect", "supersedes": "best", "depends on": "curve"}
"""The class of a line for each kind of link. The kind is also written beside the line."""


class DrawnLink(NamedTuple):
    """A link to draw: its kind in words, its direction, and the decision at its other end with a fact about it."""

    relation: str
    outgoing: bool
    label: str
    fact: str


def draw_links(subject: str, fact: str, links: Sequence[DrawnLink], total: int) -> str:
    """Return a drawing of a decision at the left with its links to the right. `total` counts also those left out."""
    below = total > len(links)
    height = TOP + ROW * max(len(links), 2) + (LINE if below else 0) + TOP / 2
    title = f"{pluralize(total, 'link')} of the decision {one_line(subject, 60)}"
    return draw_page(height, title, _lines(subject, fact, links, total - len(links), height))


def _lines(subject: str, fact: str, links: Sequence[DrawnLink], hidden: int, height: float) -> Iterator[str]:
    sentences = (
        f"It {link.relation} {link.label}" if link.outgoing else f"{link.label} {link.relation} it" for link in links
    )
    yield f"<desc>{escape_html('; '.join(one_line(each, 90) for each in sentences))}.</desc>"
    middles = [TOP + ROW * row + BOX / 2 for row in range(len(links))]
    center = (middles[0] + middles[-1]) / 2 if middles else height / 2
    if middles:
        yield f'<path class="grid" d="M{TRUNK:.1f} {middles[0]:.1f}V{middles[-1]:.1f}"/>'
    yield from _draw_subject(subject, fact, max(center, TOP + 72))
    for link, y in zip(links, middles, strict=True):
        yield from _draw_link(link, y)
    if hidden > 0:
        yield draw_text(ENDS, height - 16, f"and {hidden:,} more", "", "start")


def _draw_subject(subject: str, fact: str, y: float) -> Iterator[str]:
    lines = textwrap.wrap(one_line(subject, 400), SUBJECT_CHARS, max_lines=SUBJECT_LINES, placeholder="\u2026") or ["-"]
    high = LINE * (len(lines) + 1) + 20
    yield _draw_box(MARGIN - 16, y - high / 2, SUBJECT_WIDTH + 16, high)
    yield f'<path class="grid" d="M{MARGIN + SUBJECT_WIDTH:.1f} {y:.1f}H{TRUNK:.1f}"/>'
    for number, line in enumerate(lines):
        yield draw_text(MARGIN - 4, y - high / 2 + 26 + LINE * number, line, "ink", "start")
    yield draw_text(MARGIN - 4, y + high / 2 - 12, cut(fact, SUBJECT_CHARS + 2), "", "start")


def _draw_link(link: DrawnLink, y: float) -> Iterator[str]:
    yield f'<path class="{_CLASSES[link.relation]}" d="M{TRUNK:.1f} {y:.1f}H{ENDS:.1f}"/>'
    tip, back = (ENDS - 1, ENDS - 12) if link.outgoing else (TRUNK, TRUNK + 11)
    yield f'<path class="ink" d="M{tip:.1f} {y:.1f}L{back:.1f} {y - 6:.1f}V{y + 6:.1f}Z"/>'
    yield draw_text((TRUNK + ENDS) / 2, y - 9, link.relation, "", "middle")
    yield _draw_box(ENDS, y - BOX / 2, WIDTH - MARGIN / 2 - ENDS, BOX)
    yield draw_text(ENDS + 12, y - 4, one_line(link.label, END_CHARS), "ink", "start")
    yield draw_text(ENDS + 12, y + 19, cut(link.fact, END_CHARS), "", "start")


def _draw_box(x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="paper" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="8"/>'

"""The page of a drawing: its style, its texts and its heading. Self-contained SVG images for light and dark pages."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from api.reports.escape import escape_html, one_line

STYLE = """
text { font: 18px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: #57606a }
.paper { fill: #ffffff; stroke: #d8dee4 } .ink { fill: #1c2128 } .subject { font-size: 26px; font-weight: 700 }
.grid { stroke: #d8dee4 } .edge { stroke: #d8dee4; stroke-dasharray: 2 4 }
.perfect { stroke: #57606a; stroke-width: 2; stroke-dasharray: 7 6 } .band { fill: #57606a; opacity: .22 }
.whole { fill: #57606a; opacity: .12 }
.base { fill: none; stroke: #57606a; stroke-width: 2.5; stroke-dasharray: 7 6; stroke-linejoin: round }
.best { fill: none; stroke: #b3430b; stroke-width: 2.5; stroke-linejoin: round }
.curve { fill: none; stroke: #0b62c4; stroke-width: 4; stroke-linejoin: round; stroke-linecap: round }
.near { fill: #0b62c4; opacity: .2 }
.mark { fill: none; stroke: #b3430b; stroke-width: 2.5; stroke-dasharray: 2 5 } .span { fill: #b3430b; opacity: .18 }
.whisker { stroke: #b3430b; stroke-width: 2.5 } .dot { fill: #b3430b } .count { fill: #0b62c4; opacity: .55 }
.open { fill: #ffffff; stroke: #b3430b; stroke-width: 2.5 } .outline { fill: none; stroke: #b3430b; stroke-width: 2.5 }
@media (prefers-color-scheme: dark) {
text { fill: #a3adb8 } .paper { fill: #11151a; stroke: #2f3842 } .ink { fill: #e4e8ec }
.grid, .edge { stroke: #2f3842 } .perfect { stroke: #a3adb8 } .band, .whole { fill: #a3adb8 }
.base { stroke: #a3adb8 } .best { stroke: #ff9d5c }
.mark, .outline { stroke: #ff9d5c } .span { fill: #ff9d5c } .open { fill: #11151a; stroke: #ff9d5c }
.curve { stroke: #6cb2ff } .near { fill: #6cb2ff }
.whisker { stroke: #ff9d5c } .dot { fill: #ff9d5c } .count { fill: #6cb2ff }
}"""

WIDTH = 640
MARGIN = 28
"""The width of a drawing and the margin of its texts, in SVG units."""

SUBJECT_CHARS_MAX = 38


class Heading(NamedTuple):
    """The texts at the top of a drawing: whom it is about, what came out, and what it shows."""

    subject: str
    result: str
    explanation: str


class Chart(NamedTuple):
    """What a figure shows: its height, its title, the texts at its top, and the SVG elements below them."""

    height: float
    title: str
    heading: Heading
    lines: Sequence[str]


def draw_figure(chart: Chart, reading: str, position: int) -> str:
    """Return the drawing of a chart as of a position. Its description is the heading and how to read the drawing."""
    described = f"{chart.heading.result}. {chart.heading.explanation}. {reading}"
    lines = [*draw_heading(*chart.heading), *chart.lines, draw_position(position, chart.height)]
    return draw_page(chart.height, chart.title, lines, described)


def draw_page(height: float, title: str, lines: Iterable[str], description: str = "") -> str:
    """Return a drawing of the given height, with a title and a description. The lines are SVG elements."""
    box = f'viewBox="0 0 {WIDTH} {height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-labelledby="t">',
            f'<title id="t">{escape_html(one_line(title))}</title>',
            *([f"<desc>{escape_html(one_line(description))}</desc>"] if description else []),
            f"<style>{STYLE}</style>",
            f'<rect class="paper" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1:.0f}" rx="10"/>',
            *lines,
            "</svg>\n",
        ]
    )


def draw_heading(subject: str, result: str, explanation: str) -> Iterator[str]:
    """Draw whom a drawing is about, what came out, and what it shows: three lines at the top, 100 units high."""
    yield draw_text(MARGIN, 44, one_line(subject, SUBJECT_CHARS_MAX), "ink subject", "start")
    yield draw_text(MARGIN, 74, result, "ink", "start")
    yield draw_text(MARGIN, 100, explanation, "", "start")


def draw_position(position: int, height: float) -> str:
    """Draw at the bottom which events a drawing includes."""
    return draw_text(WIDTH - MARGIN, height - 12, f"as of position {position:,}", "", "end")


def draw_text(x: float, y: float, text: str, css_class: str, anchor: str) -> str:
    """Return a text element; `anchor` is start, middle or end."""
    attribute = f' class="{css_class}"' if css_class else ""
    return f'<text{attribute} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape_html(text)}</text>'

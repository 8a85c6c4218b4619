"""The style and the texts of drawings: self-contained SVG images for light and dark pages."""

from api.reports.escape import escape_html

STYLE = """
text { font: 18px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: #57606a }
.paper { fill: #ffffff; stroke: #d8dee4 } .ink { fill: #1c2128 } .subject { font-size: 26px; font-weight: 700 }
.grid { stroke: #d8dee4 } .edge { stroke: #d8dee4; stroke-dasharray: 2 4 }
.perfect { stroke: #57606a; stroke-width: 2; stroke-dasharray: 7 6 } .band { fill: #57606a; opacity: .22 }
.whole { fill: #57606a; opacity: .12 }
.base { fill: none; stroke: #57606a; stroke-width: 2.5; stroke-dasharray: 7 6; stroke-linejoin: round }
.best { fill: none; stroke: #b3430b; stroke-width: 2.5; stroke-linejoin: round }
.curve { fill: none; stroke: #0b62c4; stroke-width: 4; stroke-linejoin: round; stroke-linecap: round }
.whisker { stroke: #b3430b; stroke-width: 2.5 } .dot { fill: #b3430b } .count { fill: #0b62c4; opacity: .55 }
@media (prefers-color-scheme: dark) {
text { fill: #a3adb8 } .paper { fill: #11151a; stroke: #2f3842 } .ink { fill: #e4e8ec }
.grid, .edge { stroke: #2f3842 } .perfect { stroke: #a3adb8 } .band, .whole { fill: #a3adb8 }
.base { stroke: #a3adb8 } .best { stroke: #ff9d5c }
.curve { stroke: #6cb2ff } .whisker { stroke: #ff9d5c } .dot { fill: #ff9d5c } .count { fill: #6cb2ff }
}"""


def draw_text(x: float, y: float, text: str, css_class: str, anchor: str) -> str:
    """Return a text element; `anchor` is start, middle or end."""
    attribute = f' class="{css_class}"' if css_class else ""
    return f'<text{attribute} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape_html(text)}</text>'


def format_percent(rate: float) -> str:
    """Return a share of 1 in per cent, with one decimal."""
    return f"{100 * rate:.1f}%"

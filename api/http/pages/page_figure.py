"""Drawings: on pages, without a style of their own and with their numbers in a table; and as files of their own."""

import re
from base64 import b64encode
from hashlib import sha256
from typing import NamedTuple

from starlette.responses import Response

from api.http.media_types import SVG
from api.reports.plots.figure_source import FigureTable
from api.reports.plots.svg import STYLE

_style = re.compile("<style>(.*?)</style>", re.DOTALL)
_box = re.compile(r'<svg (?![^>]*\bwidth=)([^>]*viewBox="0 0 ([0-9.]+) ([0-9.]+)")')


class PageFigure(NamedTuple):
    """A drawing of a page. `id` is unique on the page, `address` is that of the drawing as a file."""

    id: str
    title: str
    description: str
    svg: str
    address: str
    table: FigureTable | None = None

    @property
    def embedded(self) -> str:
        """The drawing as part of a page, whose style sheet has the drawing's style; its ids are unique."""
        bare = self.svg.replace(f"<style>{STYLE}</style>\n", "", 1)
        named = bare.replace('aria-labelledby="t"', f'aria-labelledby="{self.id}-t"')
        return named.replace('<title id="t">', f'<title id="{self.id}-t">')


def drawing_response(svg: str) -> Response:
    """Return a drawing as a file. Its policy allows exactly the drawing's style, and nothing else.

    A file has a size, that of its view box: without one, a browser would save it as a small PNG.
    """
    sized = _box.sub(r'<svg width="\2" height="\3" \1', svg, count=1)
    hashes = [f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" for style in _style.findall(svg)]
    styles = " ".join(hashes) or "'none'"
    policy = f"default-src 'none'; style-src {styles}; frame-ancestors 'none'; sandbox"
    return Response(sized, headers={"content-security-policy": policy, "cache-control": "no-store"}, media_type=SVG)

"""Drawings on pages: without a style of their own, with the numbers in a table, and saved as a file of their own."""

from typing import NamedTuple

from api.reports.plots.figure_source import FigureTable
from api.reports.plots.svg import STYLE

__all__ = ["FigureTable", "PageFigure", "embed"]


class PageFigure(NamedTuple):
    """A drawing of a page. `id` is unique on the page, `address` is that of the drawing as a file."""

    id: str
    title: str
    description: str
    svg: str
    address: str
    table: FigureTable | None


def embed(svg: str, figure_id: str) -> str:
    """Return a drawing to be part of a page, whose style sheet has the drawing's style; its ids become unique."""
    bare = svg.replace(f"<style>{STYLE}</style>\n", "", 1)
    return bare.replace('aria-labelledby="t"', f'aria-labelledby="{figure_id}-t"').replace(
        '<title id="t">', f'<title id="{figure_id}-t">'
    )

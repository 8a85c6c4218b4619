"""The drawings of the calibration pages, on a page and as files."""

from collections.abc import Mapping
from typing import NamedTuple

from starlette.responses import Response

from api.errors import NoRoute
from api.http.pages.calibration.parts import FIGURE_PART, PAGE, PARTS, QUERY, PartAnswer, read_answer
from api.http.pages.content import address_of
from api.http.pages.page import page
from api.http.pages.page_figure import PageFigure, drawing_response
from api.http.request import Call
from api.reports.plots.figure_source import FigureMissing, FigureSource
from api.reports.plots.figures import FIGURES
from api.service.calibration_figures import figure_source
from ledger.errors import NotFound


class MissingFigure(NamedTuple):
    """A figure that cannot be drawn: its title, why, and what would help."""

    id: str
    title: str
    cause: str
    advice: str


def draw_part(name: str, shown: PartAnswer, parameters: Mapping[str, str]) -> dict[str, PageFigure | MissingFigure]:
    """Return the drawings of a part by name. `parameters` are those of the page."""
    source = figure_source(shown.answer, shown.parameters)
    return {
        figure: _draw(figure, source, address_of(f"{PAGE}/figures/{figure}.svg", {**parameters, "part": name}))
        for figure in PARTS[name].figures
    }


def _draw(name: str, source: FigureSource, address: str) -> PageFigure | MissingFigure:
    figure = FIGURES[name]
    try:
        svg = figure.draw(source)
    except FigureMissing as missing:
        return MissingFigure(name, figure.title, _sentence(missing.cause), missing.advice)
    return PageFigure(name, figure.title, figure.reading, svg, address, figure.tabulate(source))


def _sentence(cause: str) -> str:
    """Return why a figure is missing as a sentence of its own."""
    return cause[:1].upper() + cause[1:]


@page(query=(*QUERY, FIGURE_PART), heavy=True)
async def get_calibration_figure(call: Call) -> Response:
    """Return a drawing as a file."""
    name = call.request.path_params["name"]
    if name not in FIGURES:
        raise NoRoute(f"No drawing is at {call.request.url.path}.", f"Drawings: {', '.join(FIGURES)}.")
    part = FIGURE_PART.find(call.parameters) or next(key for key, part in PARTS.items() if name in part.figures)
    if name not in PARTS[part].figures:
        raise NoRoute(f"No drawing {name} is in the part {part}.", f"There: {', '.join(PARTS[part].figures)}.")
    shown = await read_answer(call, part)
    try:
        return drawing_response(FIGURES[name].draw(figure_source(shown.answer, shown.parameters)))
    except FigureMissing as missing:
        raise NotFound(f"There is no such drawing: {missing.cause}", missing.advice) from None

"""Probe scores by model: what each probe shows, its drawing, and the drawing as a file."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from msgspec import UNSET
from starlette.responses import Response

from api.http.pages.content import Content
from api.http.pages.models.list_links import ROWS, list_links
from api.http.pages.page import address_of, page, query_of
from api.http.pages.page_figure import PageFigure, drawing_response
from api.http.request import Call
from api.reports.plots.figure_source import FigureTable
from api.reports.plots.probe_scores import (
    MODELS_DRAWN,
    can_draw,
    draw_probe_scores,
    probe_name,
    row_name,
    scorer_name,
)
from api.service.model_queries import get_probes
from api.service.stored_model_names import NAME_EVENTS
from events.probe import ProbeScored
from events.registry import VOCABULARY
from ledger.errors import NotFound
from projections.discovery.probe_score_tables import ProbeScores
from projections.discovery.query_params import ProbeScoreQuery

PATH = "/ui/models/probes"
FIGURE_PATH = f"{PATH}/figures/scores.svg"

ROWS_SHOWN = 60
"""Rows of all tables together that the page shows, from the first table on; others are listed with a link to each."""

NEWS = f"type={','.join((*VOCABULARY.names_of(ProbeScored), *NAME_EVENTS))}"
"""The events that change the scores."""


@page("models/probes", query=query_of(ProbeScoreQuery), heavy=True)
async def show_probes(call: Call) -> Content:
    """Show the scores of each probe by model, and whether the probe tells models apart."""
    parameters = call.parameters
    limit = ROWS.read(parameters)
    query = call.asked(ProbeScoreQuery, limit=limit)
    answer = await get_probes(await call.view(), query)
    tables = [table for table in answer.probes if table.models or query.model is None]
    page = None
    if len(tables) == 1 and tables[0].rows is not UNSET:
        page = list_links(
            PATH, parameters, offset=query.offset, limit=limit, shown=len(tables[0].models), total=tables[0].rows
        )
    variables: dict[str, object] = {
        "answer": answer,
        "tables": [(table, *_names(table), _address(table, parameters)) for table in tables],
        "shown": [
            (table, *_names(table), _address(table, parameters), _figure(number, table, answer.as_of.position, call))
            for number, table in enumerate(_shown(tables), 1)
        ],
        "row_name": row_name,
        "page": page,
        "without_as_of": address_of(PATH, parameters, as_of=None),
    }
    json = address_of("/probes", {**parameters, "limit": str(limit)})
    return Content("Probe scores", variables, json=json, live=None if "as_of" in parameters else NEWS)


@page(query=query_of(ProbeScoreQuery), heavy=True)
async def get_scores_drawing(call: Call) -> Response:
    """Return the drawing of one probe's scores as a file."""
    query = call.asked(ProbeScoreQuery, limit=MODELS_DRAWN)
    answer = await get_probes(await call.view(), query)
    tables = [table for table in answer.probes if can_draw(table)]
    exact = [table for table in tables if _names(table) == (query.probe, query.scorer)] or tables
    if not exact:
        raise NotFound("No score has this probe, scorer and model.", f"{PATH} lists the probes with scores.")
    return drawing_response(draw_probe_scores(exact[0], answer.as_of.position))


def _shown(tables: Sequence[ProbeScores]) -> Sequence[ProbeScores]:
    """Return the tables that the page shows with their rows: the only one, or the first that fit."""
    sizes = accumulate(len(table.models) for table in tables)
    return [table for table, size in zip(tables, sizes, strict=True) if size <= ROWS_SHOWN or len(tables) == 1]


def _names(table: ProbeScores) -> tuple[str, str]:
    return probe_name(table), scorer_name(table)


def _address(table: ProbeScores, parameters: Mapping[str, str]) -> str:
    """Return the address of one table."""
    return address_of(PATH, {**parameters, **_selection(table)}, offset=None, limit=None)


def _selection(table: ProbeScores) -> dict[str, str]:
    """Return the query parameters that select a table."""
    return dict(zip(("probe", "scorer"), _names(table), strict=True))


def _figure(number: int, table: ProbeScores, position: int, call: Call) -> PageFigure | None:
    """Return the drawing of a table; None if no row has a mean."""
    if not can_draw(table):
        return None
    figure_id = f"scores-{number}"
    stated = {name: call.parameters[name] for name in ("model", "offset") if name in call.parameters}
    address = address_of(FIGURE_PATH, {**stated, **_selection(table), "as_of": str(position)})
    rows = [row for row in table.models if row.counted_mean is not None][:MODELS_DRAWN]
    return PageFigure(
        id=figure_id,
        title=f"Mean score by model: {probe_name(table)} by {scorer_name(table)}",
        description="A dot is the mean of a model's scores, the line its 95% interval.",
        svg=draw_probe_scores(table, position),
        address=address,
        table=FigureTable(
            ("model", "answered", "mean", "from", "to"),
            [
                (
                    row_name(row),
                    f"{row.answered:,} of {row.counted:,}",
                    f"{row.counted_mean:.3f}",
                    "none" if row.counted_interval is None else f"{row.counted_interval.low:.3f}",
                    "none" if row.counted_interval is None else f"{row.counted_interval.high:.3f}",
                )
                for row in rows
            ],
        ),
    )

"""Probe scores by model: what each probe shows, its drawing, and the drawing as a file."""

from collections.abc import Sequence
from itertools import accumulate

from msgspec import UNSET
from starlette.responses import Response

from api.http.pages.content import Content, address_of, list_links
from api.http.pages.page import ROWS, page, query_of
from api.http.pages.page_figure import PageFigure, drawing_response
from api.http.request import Call
from api.reports.plots.probe_scores import (
    MODELS_DRAWN,
    can_draw,
    draw_probe_scores,
    probe_name,
    row_name,
    scorer_name,
)
from api.reports.plots.tables import tabulate
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
    rows_shown = None
    if len(tables) == 1 and tables[0].rows is not UNSET:
        rows_shown = list_links(PATH, parameters, query.offset, limit, len(tables[0].models), tables[0].rows)
    variables: dict[str, object] = {
        "answer": answer,
        "tables": [(table, *_names(table)) for table in tables],
        "shown": [
            (table, *_names(table), _figure(number, table, answer.as_of.position, call))
            for number, table in enumerate(_shown(tables), 1)
        ],
        "row_name": row_name,
        "rows_shown": rows_shown,
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


def _figure(number: int, table: ProbeScores, position: int, call: Call) -> PageFigure | None:
    """Return the drawing of a table; None if no row has a mean."""
    if not can_draw(table):
        return None
    figure_id = f"scores-{number}"
    stated = {name: call.parameters[name] for name in ("model", "offset") if name in call.parameters}
    probe, scorer = _names(table)
    address = address_of(FIGURE_PATH, stated, probe=probe, scorer=scorer, as_of=position)
    return PageFigure(
        id=figure_id,
        title=f"Mean score by model: {probe} by {scorer}",
        description="A dot is the mean of a model's scores, the line its 95% interval.",
        svg=draw_probe_scores(table, position),
        address=address,
        table=tabulate(
            [row for row in table.models if row.counted_mean is not None][:MODELS_DRAWN],
            ("model", row_name),
            ("answered", lambda row: f"{row.answered:,} of {row.counted:,}"),
            ("mean", lambda row: f"{row.counted_mean:.3f}"),
            ("from", lambda row: "none" if row.counted_interval is None else f"{row.counted_interval.low:.3f}"),
            ("to", lambda row: "none" if row.counted_interval is None else f"{row.counted_interval.high:.3f}"),
        ),
    )

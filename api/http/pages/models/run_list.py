"""The list of discovery runs."""

from api.http.pages.content import Content, address_of, list_links
from api.http.pages.page import ROWS, page, query_of
from api.http.request import Call
from api.service.discovery.queries import get_runs, list_run_names
from api.service.run_params import RunQuery
from events.discovery import DiscoveryAttempted, DiscoveryFinished, DiscoverySignalledLate, DiscoveryStarted
from events.registry import VOCABULARY

PATH = "/ui/models/runs"

NEWS = "type=" + ",".join(
    VOCABULARY.names_of(DiscoveryStarted, DiscoveryAttempted, DiscoveryFinished, DiscoverySignalledLate)
)
"""The events that change the list."""


@page("models/runs", query=query_of(RunQuery))
async def show_runs(call: Call) -> Content:
    """Show discovery runs, the last started first."""
    parameters = call.parameters
    limit = ROWS.read(parameters)
    query = call.asked(RunQuery, limit=limit)
    answer = await get_runs(await call.view(), query)
    rows_shown = list_links(PATH, parameters, query.offset, limit, len(answer.runs), answer.total)
    variables: dict[str, object] = {
        "answer": answer,
        "rows_shown": rows_shown,
        "names": await list_run_names(call.ledger),
    }
    json = address_of("/runs", {**parameters, "limit": str(limit)})
    return Content("Discovery runs", variables, json=json, live=None if "as_of" in parameters else NEWS)

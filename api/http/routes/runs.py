"""Routes of discovery runs."""

from starlette.requests import Request
from starlette.responses import Response

from api.http.request import _given, _json, _reader
from api.importers.runs import list_runs, show_run
from api.parameters import parse_choice, split_list
from api.service.query_params import RUNS_PARAMETERS, parse_run_query

RUN_PARAMETERS = ("include", "as_of")


RUN_INCLUSIONS = ("attempts",)


async def get_runs(request: Request) -> Response:
    """Runs in short, the one that began last first."""
    ledger = _reader(request)
    parameters = _given(request, RUNS_PARAMETERS)
    query = parse_run_query(parameters, ledger.clock())
    return _json(await list_runs(ledger, query, await ledger.resolve(parameters.get("as_of"))))


async def get_run(request: Request) -> Response:
    """One run as its report, with every attempt and signal where asked for."""
    ledger = _reader(request)
    parameters = _given(request, RUN_PARAMETERS)
    included = [
        parse_choice("include", one, RUN_INCLUSIONS, "attempts")
        for one in split_list("include", parameters.get("include"))
    ]
    as_of = await ledger.resolve(parameters.get("as_of"))
    shown = await show_run(ledger, request.path_params["run_id"], as_of, attempts="attempts" in included)
    return _json(shown.detail)

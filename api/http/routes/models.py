"""Routes of the model inventory and of probe scores."""

from starlette.requests import Request
from starlette.responses import Response

from api.http.request import _given, _json, _reader
from api.service.models import inventory, probe_scores
from projections.discovery.probe_score_tables import ProbeScoreQuery

INVENTORY_PARAMETERS = ("model", "as_of")


PROBES_PARAMETERS = ("probe", "scorer", "model", "as_of")


async def get_inventory(request: Request) -> Response:
    """Which models are really got."""
    ledger = _reader(request)
    parameters = _given(request, INVENTORY_PARAMETERS)
    return _json(await inventory(ledger, parameters.get("model"), await ledger.resolve(parameters.get("as_of"))))


async def get_probes(request: Request) -> Response:
    """What the answers of each model were worth, and whether the probes tell models apart."""
    ledger = _reader(request)
    parameters = _given(request, PROBES_PARAMETERS)
    wanted = ProbeScoreQuery(
        probe=parameters.get("probe"), scorer=parameters.get("scorer"), model=parameters.get("model")
    )
    return _json(await probe_scores(ledger, wanted, await ledger.resolve(parameters.get("as_of"))))

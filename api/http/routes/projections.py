"""Routes of projections: their list, the state of one, and the circuit breakers."""

from starlette.responses import Response

from api.http.operation import HttpOperation, json_answer
from api.http.request import Call, json_response
from api.parameters import text_parameter
from api.service.breakers import BreakerList, list_breakers
from api.service.event_params import AS_OF
from api.service.operation import Link
from api.service.projections import ProjectionList, ProjectionState, list_projections, show_projection
from projections.registry import PROJECTIONS

NAME = text_parameter("name", "The projection's name.", {"enum": [kind.name for kind in PROJECTIONS]})


@HttpOperation(
    method="GET",
    path="/projections",
    answers={200: json_answer("Every projection, with the position up to which it is folded.", ProjectionList)},
    links={"projection": Link("get_projection", "name", "$response.body#/projections/0/name")},
)
async def get_projections(call: Call) -> Response:
    """List every projection."""
    return json_response(ProjectionList(await list_projections(call.ledger)))


@HttpOperation(
    method="GET",
    path="/projections/{name}",
    heavy=True,
    path_parameters=(NAME,),
    query=(AS_OF,),
    answers={200: json_answer("The projection.", ProjectionState)},
    errors=(404,),
)
async def get_projection(call: Call) -> Response:
    """Return one projection: the digest of its state, and its summary."""
    return json_response(await show_projection(await call.view(), call.path(NAME)))


@HttpOperation(
    method="GET",
    path="/breakers",
    query=(AS_OF,),
    answers={200: json_answer("The circuit breakers.", BreakerList)},
)
async def get_breakers(call: Call) -> Response:
    """List the circuit breakers with their states."""
    return json_response(await list_breakers(await call.view()))

"""Route of the circuit breakers."""

from starlette.responses import Response

from api.http.operation import Operation, json_answer
from api.http.request import Call, json_response
from api.service.breakers import BreakerList, list_breakers
from api.service.query_params import AS_OF


@Operation(
    method="GET",
    path="/breakers",
    query=(AS_OF,),
    answers={200: json_answer("The circuit breakers.", BreakerList)},
)
async def get_breakers(call: Call) -> Response:
    """List the circuit breakers with their states."""
    return json_response(await list_breakers(call.ledger, call.parameters.get("as_of")))

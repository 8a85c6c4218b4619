"""Routes of decisions."""

from starlette.responses import Response

from api.http.operation import Link, Operation, json_answer
from api.http.path_parameters import stream_id_parameter
from api.http.request import Call, json_response
from api.service.decisions import DecisionPage, find_decision, select_decisions
from api.service.query_params import AS_OF, DECISIONS_PARAMETERS, parse_decision_query
from projections.decisions.decision_state import DecisionState

DECISION_ID = stream_id_parameter("decision_id", "The decision's id.")


@Operation(
    method="GET",
    path="/decisions",
    query=DECISIONS_PARAMETERS,
    answers={200: json_answer("A page of decisions.", DecisionPage)},
    links={"decision": Link("get_decision", "decision_id", "$response.body#/decisions/0/decision_id")},
)
async def get_decisions(call: Call) -> Response:
    """List decisions in their current state, newest first."""
    query = parse_decision_query(call.parameters, call.ledger.clock())
    return json_response(await select_decisions(call.ledger, query, await call.as_of()))


@Operation(
    method="GET",
    path="/decisions/{decision_id}",
    path_parameters=(DECISION_ID,),
    query=(AS_OF,),
    answers={200: json_answer("The decision.", DecisionState)},
    errors=(404,),
)
async def get_decision(call: Call) -> Response:
    """Return one decision with its history."""
    return json_response(await find_decision(call.ledger, call.path(DECISION_ID), await call.as_of()))

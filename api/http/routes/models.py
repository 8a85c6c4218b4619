"""Routes of the model inventory and of probe scores."""

from starlette.responses import Response

from api.http.operation import Operation, json_answer
from api.http.request import Call, json_response
from api.parameters import text_parameter
from api.service.model_queries import (
    InventoryAnswer,
    ProbesAnswer,
    compare_probe_scores,
    list_inventory,
)
from api.service.query_params import AS_OF
from projections.discovery.probe_score_tables import ProbeScoreQuery

MODEL = text_parameter("model", "One model, by any of its names.")
PROBE = text_parameter("probe", "One probe, ID or ID@VERSION.")
SCORER = text_parameter("scorer", "Scores by one scorer, ID or ID@VERSION.")


@Operation(
    method="GET",
    path="/inventory",
    heavy=True,
    query=(MODEL, AS_OF),
    answers={200: json_answer("The inventory.", InventoryAnswer)},
)
async def get_inventory(call: Call) -> Response:
    """List the models that answered, each with its evidence.

    The inventory lists host products, and answers that name no model, separately. It compares the name that a model
    claims with the name that the endpoint reports, and finds the same output under several names.
    """
    return json_response(await list_inventory(call.ledger, MODEL.find(call.parameters), await call.as_of()))


@Operation(
    method="GET",
    path="/probes",
    heavy=True,
    query=(PROBE, SCORER, MODEL, AS_OF),
    answers={200: json_answer("A table for each probe and scorer.", ProbesAnswer)},
)
async def get_probes(call: Call) -> Response:
    """Compare the models' scores on each probe, and test whether the probe distinguishes models."""
    query = ProbeScoreQuery(
        probe=PROBE.find(call.parameters), scorer=SCORER.find(call.parameters), model=MODEL.find(call.parameters)
    )
    return json_response(await compare_probe_scores(call.ledger, query, await call.as_of()))

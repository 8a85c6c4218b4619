"""Routes of the model inventory and of probe scores."""

from starlette.responses import Response

from api.http.operation import HttpOperation, json_answer
from api.http.request import Call, json_response
from api.service.event_params import AS_OF
from api.service.model_params import (
    INVENTORY_PARAMETERS,
    MODEL,
    PROBES_PARAMETERS,
    parse_inventory_query,
    parse_probe_query,
)
from api.service.model_profiles import ProfilesAnswer, profile_models
from api.service.model_queries import (
    InventoryAnswer,
    ProbesAnswer,
    compare_probe_scores,
    list_inventory,
)
from api.service.wrappers import WrapperList, list_wrappers


@HttpOperation(
    method="GET",
    path="/inventory",
    heavy=True,
    query=INVENTORY_PARAMETERS,
    answers={200: json_answer("The inventory.", InventoryAnswer)},
)
async def get_inventory(call: Call) -> Response:
    """List the models that answered, each with its evidence.

    The inventory lists host products, and answers that name no model, separately. It compares the name that a model
    claims with the name that the endpoint reports, and finds the same output under several names. With `limit`, each
    list is a page, and `totals` has the number of all rows.
    """
    query = parse_inventory_query(call.parameters)
    return json_response(await list_inventory(await call.view(), query))


@HttpOperation(
    method="GET",
    path="/profiles",
    heavy=True,
    query=(MODEL, AS_OF),
    answers={200: json_answer("The profiles.", ProfilesAnswer)},
)
async def get_profiles(call: Call) -> Response:
    """Show how each model did on every probe, placed among the models of the ledger, and one figure over all."""
    return json_response(await profile_models(await call.view(), MODEL.find(call.parameters)))


@HttpOperation(
    method="GET",
    path="/wrappers",
    heavy=True,
    query=(AS_OF,),
    answers={200: json_answer("The names of hosts.", WrapperList)},
)
async def get_wrappers(call: Call) -> Response:
    """List the names of hosts (wrappers): those that owners stated, and the default list.

    To declare one, post the event `wrapper.declared.v1`; to withdraw it, or to take a name of the default list out,
    post `wrapper.withdrawn.v1`.
    """
    return json_response(await list_wrappers(await call.view()))


@HttpOperation(
    method="GET",
    path="/probes",
    heavy=True,
    query=PROBES_PARAMETERS,
    answers={200: json_answer("A table for each probe and scorer.", ProbesAnswer)},
)
async def get_probes(call: Call) -> Response:
    """Compare the models' scores on each probe, and test whether the probe distinguishes models.

    With `limit`, the models of each table are a page, and `rows` is the number of all.
    """
    query = parse_probe_query(call.parameters)
    return json_response(await compare_probe_scores(await call.view(), query))

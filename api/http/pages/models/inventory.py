"""The inventory of models, and one model with everything that speaks for it and against it."""

from collections.abc import Mapping

from msgspec import UNSET

from api.http.pages.content import Content, address_of, list_links
from api.http.pages.page import ROWS, page, query_of
from api.http.request import Call
from api.parameters import choice_parameter
from api.service.model_profiles import get_profiles
from api.service.model_queries import InventoryAnswer, get_inventory
from api.service.stored_model_names import NAME_EVENTS
from projections.discovery.model_profiles import ModelProfile
from projections.discovery.query_params import InventoryQuery, ProfileQuery

PATH = "/ui/models"

LISTS: Mapping[str, str] = {
    "models": "Models",
    "contradictions": "Claims that the endpoint contradicts",
    "identical": "One output under several names",
    "wrappers": "Hosts that named themselves",
    "unresolved": "Names of no model",
}
"""The lists of an inventory by field name, with their headings."""

LIST = choice_parameter("list", "Show one list alone, page by page.", tuple(LISTS))

FIRST_ROWS = 8
"""The rows of each list but the models, where the page shows all lists."""

NEWS = f"type={','.join(('discovery.attempted.v1', *NAME_EVENTS))}"
"""The events that change an inventory."""


@page("models/inventory", query=(*query_of(InventoryQuery), LIST), heavy=True)
async def show_models(call: Call) -> Content:
    """Show the models that answered, with their conflicts; or one model."""
    parameters = call.parameters
    limit, chosen = ROWS.read(parameters), LIST.find(parameters)
    query = call.asked(InventoryQuery, limit=limit)
    answer = await get_inventory(await call.view(), query)
    assert answer.totals is not UNSET
    stated = {name: value for name, value in parameters.items() if name != LIST.name}
    json = address_of("/inventory", {**stated, "limit": str(limit)} if query.model is None else stated)
    live = None if "as_of" in parameters else NEWS
    shown = chosen or "models"
    rows_shown = list_links(
        PATH,
        parameters,
        query.offset,
        limit,
        len(getattr(answer, shown)),
        getattr(answer.totals, shown),
    )
    variables: dict[str, object] = {
        "answer": answer,
        "rows_shown": rows_shown,
        "headings": LISTS,
        "chosen": chosen,
        "others": [] if chosen else [name for name in LISTS if name != "models" and getattr(answer, name)],
        "first_rows": FIRST_ROWS,
        "most_sightings": max((model.sightings for model in answer.models), default=0),
        "profile": await _profile(call, query.model, answer),
    }
    title = "Models" if query.model is None else query.model
    return Content(title, variables, json=json, live=live)


async def _profile(call: Call, model: str | None, answer: InventoryAnswer) -> ModelProfile | None:
    """Return the profile of the model that the page shows; None without one, or for a list of models."""
    if model is None:
        return None
    profiles = (await get_profiles(await call.ledger.past(answer.as_of.position), ProfileQuery(model=model))).profiles
    return profiles[0] if profiles else None

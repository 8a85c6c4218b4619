"""Query parameters of the model inventory and of probe scores."""

from collections.abc import Mapping

from api.parameters import choice_parameter, integer_parameter, text_parameter
from api.service.event_params import AS_OF, OFFSET, Parameters
from events.limits import PAGE_EVENTS_MAX
from projections.discovery.model_inventory import MODEL_ORDERS, InventoryQuery
from projections.discovery.probe_score_tables import ProbeScoreQuery

MODEL = text_parameter("model", "One model, by any of its names.")
NAME_PART = text_parameter("search", "Names that contain this text, whatever its case.")
KNOWN = choice_parameter("known", "Models that are registered, or that are not.", ("true", "false"))
ROUTER = text_parameter("router", "Only the attempts of one router count.")
MODEL_ORDER = choice_parameter(
    "sort", "The order of models: the most sighted first, the last seen, or by name.", MODEL_ORDERS, default="sightings"
)
PROBE = text_parameter("probe", "One probe, ID or ID@VERSION.")
SCORER = text_parameter("scorer", "Scores by one scorer, ID or ID@VERSION.")
ROWS = integer_parameter("limit", "The largest number of rows in each list; without it, all.", 1, PAGE_EVENTS_MAX)

INVENTORY_PARAMETERS: Parameters = (MODEL, NAME_PART, KNOWN, ROUTER, MODEL_ORDER, ROWS, OFFSET, AS_OF)
PROBES_PARAMETERS: Parameters = (PROBE, SCORER, MODEL, ROWS, OFFSET, AS_OF)


def parse_inventory_query(parameters: Mapping[str, str]) -> InventoryQuery:
    """Return the query for the inventory. Errors: InvalidQuery."""
    known = KNOWN.find(parameters)
    return InventoryQuery(
        model=MODEL.find(parameters),
        search=NAME_PART.find(parameters),
        known=None if known is None else known == "true",
        router=ROUTER.find(parameters),
        sort=MODEL_ORDER.read(parameters),
        limit=ROWS.find(parameters),
        offset=OFFSET.read(parameters),
    )


def parse_probe_query(parameters: Mapping[str, str]) -> ProbeScoreQuery:
    """Return the query for probe scores. Errors: InvalidQuery."""
    return ProbeScoreQuery(
        probe=PROBE.find(parameters),
        scorer=SCORER.find(parameters),
        model=MODEL.find(parameters),
        limit=ROWS.find(parameters),
        offset=OFFSET.read(parameters),
    )

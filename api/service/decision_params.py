"""Query parameters of lists of decisions, and the filters of decisions that other queries share."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from api.parameters import (
    SINCE,
    UNTIL,
    WINDOW,
    Parameter,
    choice_parameter,
    parse_time_range,
    text_list_parameter,
    text_parameter,
)
from api.service.decisions import DecisionQuery
from api.service.event_params import AS_OF, LIMIT, OFFSET, ORDER_DESCENDING, Parameters
from projections.decisions.decision_selection import STAKES as STAKES_CHOICES
from projections.decisions.decision_selection import STATUSES, DecisionSelection, SortField

SORTS: tuple[SortField, ...] = ("created_at", "confidence", "category", "stakes", "status")
OUTCOMES = ("success", "partial", "failure", "abandoned")
AGENT = text_parameter("agent", "One agent, by its name.")
CATEGORY = text_parameter("category", "Decisions of one category.")
STAKES = choice_parameter("stakes", "Decisions with these stakes.", STAKES_CHOICES)
PROJECT = text_parameter("project", "Decisions of one project.")
FEATURE = text_parameter("feature", "Decisions of one feature.")
DECISION_FILTERS = (AGENT, CATEGORY, STAKES, PROJECT, FEATURE)
CLUSTER = text_parameter("cluster", "Decisions of one cluster: a task, a session, a day.")
MODEL = text_parameter("model", "Decisions by one model, by any of its names.")
STATUS = choice_parameter(
    "status",
    "Decisions with or without a review, or those that were retracted. Empty: all but retracted ones.",
    (*STATUSES, ""),
)
OUTCOME = choice_parameter("outcome", "Decisions with this outcome. Empty: all.", (*OUTCOMES, ""))
TAG = text_list_parameter("tag", "Decisions with any of these tags, separated by commas.")
SEARCH = text_parameter("search", "Decisions whose texts contain every one of these words, as whole words.")
SORT = choice_parameter("sort", "What to sort by.", SORTS, default="created_at")
DECISIONS_PARAMETERS: Parameters = (
    *DECISION_FILTERS, CLUSTER, MODEL, STATUS, OUTCOME, TAG, SINCE, UNTIL, WINDOW, SEARCH, SORT, ORDER_DESCENDING,
    LIMIT, OFFSET, AS_OF,
)  # fmt: skip


def parse_decision_query(parameters: Mapping[str, str], now: datetime) -> DecisionQuery:
    """Return the query for a list of decisions. Errors: InvalidQuery."""
    return DecisionQuery(
        selection=DecisionSelection(
            **parse_texts(DECISION_FILTERS, parameters),
            status=STATUS.find(parameters) or None,  # type: ignore[arg-type]
            outcome=OUTCOME.find(parameters) or None,
            tags=TAG.read(parameters),
            cluster=CLUSTER.find(parameters),
            range=parse_time_range(parameters, now),
        ),
        sort=SORT.read(parameters),
        descending=ORDER_DESCENDING.read(parameters) == "desc",
        limit=LIMIT.read(parameters),
        offset=OFFSET.read(parameters),
        search=SEARCH.find(parameters),
        model=MODEL.find(parameters),
    )


def parse_texts(declared: tuple[Parameter[str], ...], parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the texts of some parameters by name, None for absent ones."""
    return {parameter.name: parameter.find(parameters) for parameter in declared}

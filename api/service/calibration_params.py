"""Query parameters of calibration, of advice, and of samples of decisions to review."""

from collections.abc import Mapping
from datetime import datetime

from api.parameters import (
    SINCE,
    UNTIL,
    WINDOW,
    choice_list_parameter,
    choice_parameter,
    integer_parameter,
    number_parameter,
    parse_time_range,
    probability_parameter,
)
from api.service.calibration_query import DETAILS, CalibrationQuery
from api.service.decision_params import AGENT, CATEGORY, DECISION_FILTERS, MODEL, STAKES, parse_texts
from api.service.event_params import AS_OF, Parameters
from api.service.review_sample import SAMPLE_SIZE_DEFAULT, ReviewSampleQuery
from events.limits import PAGE_EVENTS_MAX
from projections.calibration.advice import PlannedDecision
from projections.calibration.calibration import MIN_DECISIONS, CalibrationFilter
from projections.calibration.cell_groups import GROUP_SORTS, GROUPINGS, GroupBy, GroupPage
from projections.calibration.history_view import HISTORY_PARTS
from projections.calibration.trend import TREND_DAYS, TREND_DAYS_MAX
from projections.stats.random_sample import SEED_MAX

THRESHOLD_MAX = 0.999
"""At a threshold of 1 a single failure would outweigh every success."""

_GROUP_BY_ALIASES: dict[str, GroupBy] = {"confidenceBucket": "confidence_bucket"}
CONFIDENCE = probability_parameter(
    "confidence",
    "The planned confidence: only decisions with about the same are used; without it, all.",
)
GROUP_BY = choice_parameter(
    "group_by",
    "What to group by.",
    GROUPINGS,
    default="confidence_bucket",
    aliases=_GROUP_BY_ALIASES,
)
MIN_REVIEWED = integer_parameter(
    "min_decisions", "The fewest reviewed decisions from which figures are computed.", 1, default=MIN_DECISIONS
)
DETAIL = choice_parameter(
    "detail",
    "What to compute: figures, or also curve, bands, recalibration map, AUC and Murphy diagram.",
    DETAILS,
    default="figures",
)
THRESHOLD = number_parameter(
    "threshold",
    "Add what acting only on decisions with at least this confidence would have come to.",
    0,
    THRESHOLD_MAX,
)
INCLUDE = choice_list_parameter(
    "include",
    "What to add, separated by commas: the trend, a test for drift, the comparison of agents, the age of unreviewed "
    "decisions, what drawings show.",
    HISTORY_PARTS,
)
TREND_WINDOW = integer_parameter(
    "trend_days", "The length of the trend's windows, in days.", 1, TREND_DAYS_MAX, default=TREND_DAYS
)
GROUP_LIMIT = integer_parameter("limit", "The largest number of groups.", 1, PAGE_EVENTS_MAX, default=PAGE_EVENTS_MAX)
GROUP_OFFSET = integer_parameter(
    "offset", "How many groups to skip: the `groups_next` of the previous page.", 0, default=0
)
GROUP_SORT = choice_parameter(
    "group_sort", "The order of groups: by their names, or those with the most decisions first.", GROUP_SORTS,
    default="name",
)  # fmt: skip
SAMPLE_SIZE = integer_parameter("size", "How many decisions to name.", 1, PAGE_EVENTS_MAX, default=SAMPLE_SIZE_DEFAULT)
SEED = integer_parameter(
    "seed", "The seed of the sample. The same seed and `drawn_at` name the same decisions. Without it, a new one.",
    0, SEED_MAX,
)  # fmt: skip
DRAWN_AT = integer_parameter(
    "drawn_at", "Draw the sample from the decisions that were unreviewed at this position; by default `as_of`.", 0
)
CALIBRATION_PARAMETERS: Parameters = (
    *DECISION_FILTERS, MODEL, SINCE, UNTIL, WINDOW, GROUP_BY, MIN_REVIEWED, DETAIL, THRESHOLD, INCLUDE, TREND_WINDOW,
    GROUP_LIMIT, GROUP_OFFSET, GROUP_SORT, AS_OF,
)  # fmt: skip
ADVICE_PARAMETERS: Parameters = (AGENT, CATEGORY, STAKES, CONFIDENCE, AS_OF)
REVIEW_SAMPLE_PARAMETERS: Parameters = (*DECISION_FILTERS, SAMPLE_SIZE, SEED, DRAWN_AT, AS_OF)


def parse_planned_decision(parameters: Mapping[str, str], agent: str) -> PlannedDecision:
    """Return the planned decision, by default one of `agent`. Errors: InvalidQuery."""
    return PlannedDecision(
        agent=parameters.get(AGENT.name, agent),
        category=CATEGORY.find(parameters),
        stakes=STAKES.find(parameters),
        confidence=CONFIDENCE.find(parameters),
    )


def parse_calibration_query(parameters: Mapping[str, str], now: datetime) -> CalibrationQuery:
    """Return the query for calibration figures. Errors: InvalidQuery."""
    return CalibrationQuery(
        group_by=GROUP_BY.read(parameters),
        filter=CalibrationFilter(**parse_texts(DECISION_FILTERS, parameters), range=parse_time_range(parameters, now)),
        min_decisions=MIN_REVIEWED.read(parameters),
        detail=DETAIL.read(parameters),
        threshold=THRESHOLD.find(parameters),
        include=INCLUDE.read(parameters),
        trend_days=TREND_WINDOW.read(parameters),
        page=GroupPage(GROUP_LIMIT.read(parameters), GROUP_OFFSET.read(parameters), GROUP_SORT.read(parameters)),
        model=MODEL.find(parameters),
    )


def parse_review_sample_query(parameters: Mapping[str, str]) -> ReviewSampleQuery:
    """Return the query for a random set of unreviewed decisions. Errors: InvalidQuery."""
    return ReviewSampleQuery(
        filter=CalibrationFilter(**parse_texts(DECISION_FILTERS, parameters)),
        size=SAMPLE_SIZE.read(parameters),
        seed=SEED.find(parameters),
        drawn_at=DRAWN_AT.find(parameters),
    )

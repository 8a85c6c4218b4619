"""Query parameters of the use cases: their declarations, and parsers that build the queries.

Each tuple contains the parameters of one use case. A parser gets them by name, as texts, from HTTP or the command line.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from api.parameters import (
    CURSOR_SCHEMA,
    DATE_SCHEMA,
    SINCE,
    TIME_SCHEMA,
    UNTIL,
    WINDOW,
    Parameter,
    choice_list_parameter,
    choice_parameter,
    flag_parameter,
    integer_parameter,
    number_parameter,
    parse_time_range,
    probability_parameter,
    text_list_parameter,
    text_parameter,
)
from api.service.calibration import DETAILS, CalibrationQuery
from api.service.decisions import DecisionQuery
from api.service.discovery.queries import RunQuery
from api.service.evaluation.queries import EvaluationQuery
from api.service.review_sample import SAMPLE_SIZE_DEFAULT, ReviewSampleQuery
from events.limits import PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX
from events.registry import VOCABULARY
from ledger import Query, microseconds
from ledger.errors import InvalidQuery
from projections.calibration.advice import PlannedDecision
from projections.calibration.calibration import MIN_DECISIONS, CalibrationFilter
from projections.calibration.cell_groups import GROUPINGS, GroupBy, GroupPage
from projections.calibration.history_view import HISTORY_PARTS
from projections.calibration.trend import TREND_DAYS, TREND_DAYS_MAX
from projections.decisions.decision_index import STAKES as STAKES_CHOICES
from projections.decisions.decision_index import STATUSES, DecisionSelection, SortField
from projections.discovery.run_index import RunSelection
from projections.evaluation.evaluation_index import EvaluationSelection
from projections.evaluation.scoreboard import ROWS_OF, ScoreboardQuery
from projections.evaluation.scoreboard import VERSIONS_SHOWN as VERSIONS_DEFAULT
from projections.stats.random_sample import SEED_MAX

Parameters = tuple[Parameter[Any], ...]

SORTS: tuple[SortField, ...] = ("created_at", "confidence", "category", "stakes", "status")
OUTCOMES = ("success", "partial", "failure", "abandoned")
ORDERS: tuple[Literal["asc", "desc"], ...] = ("asc", "desc")
THRESHOLD_MAX = 0.999
"""At a threshold of 1 a single failure would outweigh every success."""

VERSIONS_MAX = 1_000
"""The most versions of an agent that a scoreboard shows."""

_GROUP_BY_ALIASES: dict[str, GroupBy] = {"confidenceBucket": "confidence_bucket"}

AFTER = integer_parameter("after", "Events after this position: the `next` of the previous page.", 0, default=0)
BEFORE = integer_parameter("before", "Events before this position.", 1)
LIMIT = integer_parameter("limit", "The largest number of results.", 1, PAGE_EVENTS_MAX, default=PAGE_EVENTS_DEFAULT)
OFFSET = integer_parameter("offset", "How many results to skip: the `next` of the previous page.", 0, default=0)
ORDER_ASCENDING = choice_parameter("order", "Ascending or descending.", ORDERS, default="asc")
ORDER_DESCENDING = choice_parameter("order", "Ascending or descending.", ORDERS, default="desc")
TYPE = choice_list_parameter("type", "Events of these types, separated by commas.", VOCABULARY.type_names)
SUBJECT = text_list_parameter("subject", "Events of these streams, separated by commas.")
SOURCE = text_parameter("source", "Events of one agent: its name, or /agents/NAME.")
CORRELATION_ID = text_parameter("correlationid", "Events with this correlation id.")
AS_OF = text_parameter(
    "as_of",
    "Answer as of a position, a time, or the end of a day.",
    {"anyOf": [CURSOR_SCHEMA, TIME_SCHEMA, DATE_SCHEMA]},
)
PREFIX = flag_parameter("prefix", "Whether an id may be given by an unambiguous beginning of it.")

AGENT = text_parameter("agent", "One agent, by its name.")
CATEGORY = text_parameter("category", "Decisions of one category.")
STAKES = choice_parameter("stakes", "Decisions with these stakes.", STAKES_CHOICES)
PROJECT = text_parameter("project", "Decisions of one project.")
FEATURE = text_parameter("feature", "Decisions of one feature.")

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

SAMPLE_SIZE = integer_parameter("size", "How many decisions to name.", 1, PAGE_EVENTS_MAX, default=SAMPLE_SIZE_DEFAULT)
SEED = integer_parameter(
    "seed", "The seed of the sample. The same seed and `drawn_at` name the same decisions. Without it, a new one.",
    0, SEED_MAX,
)  # fmt: skip
DRAWN_AT = integer_parameter(
    "drawn_at", "Draw the sample from the decisions that were unreviewed at this position; by default `as_of`.", 0
)

STATUS = choice_parameter(
    "status",
    "Decisions with or without a review, or those that were retracted. Empty: all but retracted ones.",
    (*STATUSES, ""),
)
OUTCOME = choice_parameter("outcome", "Decisions with this outcome. Empty: all.", (*OUTCOMES, ""))
TAG = text_list_parameter("tag", "Decisions with any of these tags, separated by commas.")
SEARCH = text_parameter("search", "Decisions whose texts contain every one of these words, as whole words.")
SORT = choice_parameter("sort", "What to sort by.", SORTS, default="created_at")

ROUTER = text_parameter("router", "Runs that asked one router.")
PROBE = text_parameter("probe", "Runs with one probe, by its id.")

SUITE = text_parameter("suite", "One suite, by its name.")
EVALUATED_AGENT = text_parameter("agent", "One agent, by the name under which it is evaluated.")
VERSIONS = integer_parameter(
    "versions",
    "How many versions of each agent to list, newest first by their first run. The trend has all.",
    1,
    VERSIONS_MAX,
    default=VERSIONS_DEFAULT,
)
ROWS = choice_parameter("group_by", "What a row is about: a version of an agent, or a model.", ROWS_OF, default="agent")

_DECISIONS = (AGENT, CATEGORY, STAKES, PROJECT, FEATURE)

CLUSTER = text_parameter("cluster", "Decisions of one cluster: a task, a session, a day.")
MODEL = text_parameter("model", "Decisions by one model, by any of its names.")

EVENT_PARAMETERS: Parameters = (
    AFTER,
    BEFORE,
    LIMIT,
    ORDER_ASCENDING,
    TYPE,
    SUBJECT,
    SOURCE,
    CORRELATION_ID,
    SINCE,
    UNTIL,
)
CALIBRATION_PARAMETERS: Parameters = (
    *_DECISIONS, SINCE, UNTIL, WINDOW, GROUP_BY, MIN_REVIEWED, DETAIL, THRESHOLD, INCLUDE, TREND_WINDOW,
    GROUP_LIMIT, GROUP_OFFSET, AS_OF,
)  # fmt: skip
ADVICE_PARAMETERS: Parameters = (AGENT, CATEGORY, STAKES, CONFIDENCE, AS_OF)
REVIEW_SAMPLE_PARAMETERS: Parameters = (*_DECISIONS, SAMPLE_SIZE, SEED, DRAWN_AT, AS_OF)
DECISIONS_PARAMETERS: Parameters = (
    *_DECISIONS, CLUSTER, MODEL, STATUS, OUTCOME, TAG, SINCE, UNTIL, WINDOW, SEARCH, SORT, ORDER_DESCENDING, LIMIT,
    OFFSET, AS_OF,
)  # fmt: skip
RUNS_PARAMETERS: Parameters = (AGENT, ROUTER, PROBE, SINCE, UNTIL, WINDOW, LIMIT, OFFSET, AS_OF)
SCOREBOARD_PARAMETERS: Parameters = (SUITE, EVALUATED_AGENT, VERSIONS, ROWS, AS_OF)
EVALUATIONS_PARAMETERS: Parameters = (SUITE, EVALUATED_AGENT, SINCE, UNTIL, WINDOW, LIMIT, OFFSET, AS_OF)


def parse_event_query(parameters: Mapping[str, str]) -> Query:
    """Return the query for events. `type` and `subject` may name several, separated by commas. Errors: InvalidQuery."""
    types = TYPE.read(parameters)
    source = SOURCE.find(parameters)
    if source is not None and not source.startswith("/"):
        source = f"/agents/{source}"
    return Query(
        after=AFTER.read(parameters),
        before=BEFORE.find(parameters),
        limit=LIMIT.read(parameters),
        order=ORDER_ASCENDING.read(parameters),
        types=types,
        subjects=SUBJECT.read(parameters),
        source=source,
        correlationid=CORRELATION_ID.find(parameters),
        since_us=_microseconds(SINCE.find(parameters)),
        until_us=_microseconds(UNTIL.find(parameters)),
    )


def check_followable(query: Query) -> None:
    """Refuse a query that a feed cannot answer. Errors: InvalidQuery."""
    if query.order != "asc" or query.before is not None:
        raise InvalidQuery("order", "a feed is in ascending order and does not end.", "Omit order and before.")


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
        filter=CalibrationFilter(**_fields(_DECISIONS, parameters), range=parse_time_range(parameters, now)),
        min_decisions=MIN_REVIEWED.read(parameters),
        detail=DETAIL.read(parameters),
        threshold=THRESHOLD.find(parameters),
        include=INCLUDE.read(parameters),
        trend_days=TREND_WINDOW.read(parameters),
        page=GroupPage(GROUP_LIMIT.read(parameters), GROUP_OFFSET.read(parameters)),
    )


def parse_decision_query(parameters: Mapping[str, str], now: datetime) -> DecisionQuery:
    """Return the query for a list of decisions. Errors: InvalidQuery."""
    return DecisionQuery(
        selection=DecisionSelection(
            **_fields(_DECISIONS, parameters),
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


def parse_review_sample_query(parameters: Mapping[str, str]) -> ReviewSampleQuery:
    """Return the query for a random set of unreviewed decisions. Errors: InvalidQuery."""
    return ReviewSampleQuery(
        filter=CalibrationFilter(**_fields(_DECISIONS, parameters)),
        size=SAMPLE_SIZE.read(parameters),
        seed=SEED.find(parameters),
        drawn_at=DRAWN_AT.find(parameters),
    )


def parse_run_query(parameters: Mapping[str, str], now: datetime) -> RunQuery:
    """Return the query for a list of discovery runs. Errors: InvalidQuery."""
    selection = RunSelection(**_fields((AGENT, ROUTER, PROBE), parameters), range=parse_time_range(parameters, now))
    return RunQuery(selection=selection, limit=LIMIT.read(parameters), offset=OFFSET.read(parameters))


def parse_scoreboard_query(parameters: Mapping[str, str]) -> ScoreboardQuery:
    """Return the query for a scoreboard. Errors: InvalidQuery."""
    return ScoreboardQuery(
        **_fields((SUITE, EVALUATED_AGENT), parameters),
        versions=VERSIONS.read(parameters),
        group_by=ROWS.read(parameters),
    )


def parse_evaluation_query(parameters: Mapping[str, str], now: datetime) -> EvaluationQuery:
    """Return the query for a list of evaluations. Errors: InvalidQuery."""
    selection = EvaluationSelection(
        **_fields((SUITE, EVALUATED_AGENT), parameters), range=parse_time_range(parameters, now)
    )
    return EvaluationQuery(selection=selection, limit=LIMIT.read(parameters), offset=OFFSET.read(parameters))


def _microseconds(moment: datetime | None) -> int | None:
    return None if moment is None else microseconds(moment)


def _fields(declared: tuple[Parameter[str], ...], parameters: Mapping[str, str]) -> dict[str, Any]:
    return {parameter.name: parameter.find(parameters) for parameter in declared}

"""Query parameters: from text to the queries of the use cases."""

from collections.abc import Mapping
from datetime import datetime

from api.parameters import chance, choice, instant, integer, known, several, time_range
from api.service.calibration import DETAILS, CalibrationQuery
from api.service.decisions import DecisionQuery
from api.service.discovery.queries import RunQuery
from api.service.evaluation.queries import EvaluationQuery
from events.limits import PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX
from events.registry import VOCABULARY
from ledger import Query, microseconds
from ledger.errors import InvalidQuery
from projections.calibration.advice import PlannedDecision
from projections.calibration.calibration import GROUPINGS, MIN_DECISIONS, CalibrationFilter, GroupBy
from projections.calibration.history import HISTORY_PARTS
from projections.calibration.trend import TREND_DAYS, TREND_DAYS_MAX
from projections.decisions.decision_index import STAKES, DecisionSelection
from projections.discovery.run_index import RunSelection
from projections.evaluation.evaluation_index import EvaluationSelection
from projections.evaluation.scoreboard import VERSIONS_SHOWN, ScoreboardQuery

PARAMETERS = ("after", "before", "limit", "order", "type", "subject", "source", "since", "until")


def query_of(parameters: Mapping[str, str]) -> Query:
    """The query that parameters ask for. `type` and `subject` may name several, separated by commas.

    Errors: InvalidQuery, naming the parameter.
    """
    known(parameters.keys(), PARAMETERS)
    types = several("type", parameters.get("type"))
    for name in types:
        if name not in VOCABULARY.kinds:
            raise InvalidQuery("type", f"{name!r} is not in the vocabulary.", f"Types: {', '.join(VOCABULARY.types)}.")
    since, until = parameters.get("since"), parameters.get("until")
    source = parameters.get("source")
    if source is not None and not source.startswith("/"):
        source = f"/agents/{source}"
    return Query(
        after=integer("after", parameters.get("after"), 0, 0),
        before=integer("before", parameters["before"], 0, 1) if "before" in parameters else None,
        limit=integer("limit", parameters.get("limit"), PAGE_EVENTS_DEFAULT, 1, PAGE_EVENTS_MAX),
        order=choice("order", parameters.get("order"), ("asc", "desc"), "asc"),
        types=types,
        subjects=several("subject", parameters.get("subject")),
        source=source,
        since_us=microseconds(instant("since", since)) if since is not None else None,
        until_us=microseconds(instant("until", until, end=True)) if until is not None else None,
    )


def forwards(query: Query) -> None:
    """Errors: InvalidQuery, for a query that cannot be followed."""
    if query.order != "asc" or query.before is not None:
        raise InvalidQuery("order", "a feed runs forwards, without an end.", "Leave out order and before.")


ABOUT = ("agent", "category", "stakes", "project", "feature")


CALIBRATION_PARAMETERS = (
    *ABOUT, "since", "until", "window", "group_by", "min_decisions", "detail", "include", "trend_days", "as_of",
)  # fmt: skip


ADVICE_PARAMETERS = ("agent", "category", "stakes", "confidence", "as_of")


DECISIONS_PARAMETERS = (
    *ABOUT, "status", "outcome", "tag", "since", "until", "window", "search", "sort", "order", "limit", "offset",
    "as_of",
)  # fmt: skip


RUNS_PARAMETERS = ("agent", "router", "probe", "since", "until", "window", "limit", "offset", "as_of")


SORTS = ("created_at", "confidence", "category", "stakes", "status")


OUTCOMES = ("success", "partial", "failure", "abandoned")


def plan(parameters: Mapping[str, str], agent: str) -> PlannedDecision:
    """The decision planned that parameters describe; of an agent where they name none. Errors: InvalidQuery."""
    _check_stakes(parameters.get("stakes"))
    return PlannedDecision(
        agent=parameters.get("agent", agent),
        category=parameters.get("category"),
        stakes=parameters.get("stakes"),
        confidence=chance("confidence", parameters.get("confidence")),
    )


def question(parameters: Mapping[str, str], now: datetime) -> CalibrationQuery:
    """The question of calibration that parameters ask. Errors: InvalidQuery."""
    group_by = parameters.get("group_by")
    if group_by == "confidenceBucket":
        group_by = "confidence_bucket"
    chosen: GroupBy = choice("group_by", group_by, GROUPINGS, "confidence_bucket")
    about = {name: parameters.get(name) for name in ABOUT}
    _check_stakes(about["stakes"])
    return CalibrationQuery(
        filter=CalibrationFilter(**about, range=time_range(parameters, now)),
        group_by=chosen,
        min_decisions=integer("min_decisions", parameters.get("min_decisions"), MIN_DECISIONS, 1),
        detail=choice("detail", parameters.get("detail"), DETAILS, "figures"),
        include=tuple(
            choice("include", one, HISTORY_PARTS, "trend") for one in several("include", parameters.get("include"))
        ),
        trend_days=integer("trend_days", parameters.get("trend_days"), TREND_DAYS, 1, TREND_DAYS_MAX),
    )


def decision_query(parameters: Mapping[str, str], now: datetime) -> DecisionQuery:
    """The list of decisions that parameters ask for. Errors: InvalidQuery."""
    about = {name: parameters.get(name) for name in ABOUT}
    _check_stakes(about["stakes"])
    status = choice("status", parameters.get("status"), ("pending", "reviewed", ""), "")
    outcome = choice("outcome", parameters.get("outcome"), (*OUTCOMES, ""), "")
    return DecisionQuery(
        selection=DecisionSelection(
            **about,  # type: ignore[arg-type]
            status=status or None,  # type: ignore[arg-type]
            outcome=outcome or None,
            tags=several("tag", parameters.get("tag")),
            range=time_range(parameters, now),
        ),
        sort=choice("sort", parameters.get("sort"), SORTS, "created_at"),  # type: ignore[arg-type]
        descending=choice("order", parameters.get("order"), ("asc", "desc"), "desc") == "desc",
        limit=integer("limit", parameters.get("limit"), PAGE_EVENTS_DEFAULT, 1, PAGE_EVENTS_MAX),
        offset=integer("offset", parameters.get("offset"), 0, 0),
        search=parameters.get("search"),
    )


def run_query(parameters: Mapping[str, str], now: datetime) -> RunQuery:
    """The list of runs that parameters ask for. Errors: InvalidQuery."""
    return RunQuery(
        selection=RunSelection(
            agent=parameters.get("agent"),
            router=parameters.get("router"),
            probe=parameters.get("probe"),
            range=time_range(parameters, now),
        ),
        limit=integer("limit", parameters.get("limit"), PAGE_EVENTS_DEFAULT, 1, PAGE_EVENTS_MAX),
        offset=integer("offset", parameters.get("offset"), 0, 0),
    )


def _check_stakes(stakes: str | None) -> None:
    if stakes is not None and stakes not in STAKES:
        raise InvalidQuery("stakes", f"{stakes!r} is not one of them.", f"Stakes: {', '.join(STAKES)}.")


SCOREBOARD_PARAMETERS = ("suite", "agent", "versions", "as_of")


VERSIONS_MAX = 1_000


EVALUATIONS_PARAMETERS = ("suite", "agent", "since", "until", "window", "limit", "offset", "as_of")


def board_wanted(parameters: Mapping[str, str]) -> ScoreboardQuery:
    """The board that parameters ask for. Errors: InvalidQuery."""
    return ScoreboardQuery(
        suite=parameters.get("suite"),
        agent=parameters.get("agent"),
        versions=integer("versions", parameters.get("versions"), VERSIONS_SHOWN, 1, VERSIONS_MAX),
    )


def evaluation_query(parameters: Mapping[str, str], now: datetime) -> EvaluationQuery:
    """The list of evaluations that parameters ask for. Errors: InvalidQuery."""
    return EvaluationQuery(
        selection=EvaluationSelection(
            suite=parameters.get("suite"), agent=parameters.get("agent"), range=time_range(parameters, now)
        ),
        limit=integer("limit", parameters.get("limit"), PAGE_EVENTS_DEFAULT, 1, PAGE_EVENTS_MAX),
        offset=integer("offset", parameters.get("offset"), 0, 0),
    )

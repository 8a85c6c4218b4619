"""One readable route for each view."""

from collections.abc import Collection, Mapping
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from api.access import Speaker
from api.answers import DETAILS, DecisionQuery, Question
from api.inventory import inventory, probe_scores
from api.operations import House
from api.parameters import chance, choice, integer, known, several, single, time_range
from api.problems import to_json
from api.runs import RunQuery, list_runs, show_run
from events.limits import PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX
from ledger.errors import InvalidQuery
from projections import (
    GROUPINGS,
    INCLUSIONS,
    MIN_DECISIONS,
    STAKES,
    TREND_DAYS,
    TREND_DAYS_MAX,
    Filter,
    GroupBy,
    Plan,
    RunSelection,
    ScoresWanted,
    Selection,
)

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
RUN_PARAMETERS = ("include", "as_of")
INVENTORY_PARAMETERS = ("model", "as_of")
PROBES_PARAMETERS = ("probe", "scorer", "model", "as_of")
RUN_INCLUSIONS = ("attempts",)
SORTS = ("created_at", "confidence", "category", "stakes", "status")
OUTCOMES = ("success", "partial", "failure", "abandoned")


async def get_projections(request: Request) -> Response:
    """Every projection."""
    house = _reader(request)
    _given(request, ())
    return _json({"projections": await house.projections()})


async def get_projection(request: Request) -> Response:
    """One projection: its digest and its summary, now or as of a position or time."""
    house = _reader(request)
    parameters = _given(request, ("as_of",))
    as_of = await house.resolve(parameters.get("as_of"))
    return _json(await house.projection(request.path_params["name"], as_of))


async def get_decisions(request: Request) -> Response:
    """Decisions as they stand, the newest first."""
    house = _reader(request)
    parameters = _given(request, DECISIONS_PARAMETERS)
    query = decision_query(parameters, house.clock())
    return _json(await house.decisions(query, await house.resolve(parameters.get("as_of"))))


async def get_decision(request: Request) -> Response:
    """One decision with its history."""
    house = _reader(request)
    parameters = _given(request, ("as_of",))
    as_of = await house.resolve(parameters.get("as_of"))
    return _json(await house.decision(request.path_params["decision_id"], as_of))


async def get_calibration(request: Request) -> Response:
    """The figures: is it as good as it thinks it is?"""
    house = _reader(request)
    parameters = _given(request, CALIBRATION_PARAMETERS)
    as_of = await house.resolve(parameters.get("as_of"))
    now = house.clock()
    return _json(await house.calibration(question(parameters, now), as_of))


async def get_advice(request: Request) -> Response:
    """What decisions like the one planned came to; by default those of the agent who asks."""
    house, speaker = _reading(request)
    parameters = _given(request, ADVICE_PARAMETERS)
    as_of = await house.resolve(parameters.get("as_of"))
    return _json(await house.advice(plan(parameters, speaker.agent), as_of))


async def get_runs(request: Request) -> Response:
    """Runs in short, the one that began last first."""
    house = _reader(request)
    parameters = _given(request, RUNS_PARAMETERS)
    query = run_query(parameters, house.clock())
    return _json(await list_runs(house, query, await house.resolve(parameters.get("as_of"))))


async def get_run(request: Request) -> Response:
    """One run as its report, with every attempt and signal where asked for."""
    house = _reader(request)
    parameters = _given(request, RUN_PARAMETERS)
    included = [
        choice("include", one, RUN_INCLUSIONS, "attempts") for one in several("include", parameters.get("include"))
    ]
    as_of = await house.resolve(parameters.get("as_of"))
    shown = await show_run(house, request.path_params["run_id"], as_of, attempts="attempts" in included)
    return _json(shown.detail)


async def get_inventory(request: Request) -> Response:
    """Which models are really got."""
    house = _reader(request)
    parameters = _given(request, INVENTORY_PARAMETERS)
    return _json(await inventory(house, parameters.get("model"), await house.resolve(parameters.get("as_of"))))


async def get_probes(request: Request) -> Response:
    """What the answers of each model were worth, and whether the probes tell models apart."""
    house = _reader(request)
    parameters = _given(request, PROBES_PARAMETERS)
    wanted = ScoresWanted(probe=parameters.get("probe"), scorer=parameters.get("scorer"), model=parameters.get("model"))
    return _json(await probe_scores(house, wanted, await house.resolve(parameters.get("as_of"))))


def plan(parameters: Mapping[str, str], agent: str) -> Plan:
    """The decision planned that parameters describe; of an agent where they name none. Errors: InvalidQuery."""
    _check_stakes(parameters.get("stakes"))
    return Plan(
        agent=parameters.get("agent", agent),
        category=parameters.get("category"),
        stakes=parameters.get("stakes"),
        confidence=chance("confidence", parameters.get("confidence")),
    )


def question(parameters: Mapping[str, str], now: datetime) -> Question:
    """The question of calibration that parameters ask. Errors: InvalidQuery."""
    group_by = parameters.get("group_by")
    if group_by == "confidenceBucket":
        group_by = "confidence_bucket"
    chosen: GroupBy = choice("group_by", group_by, GROUPINGS, "confidence_bucket")
    about = {name: parameters.get(name) for name in ABOUT}
    _check_stakes(about["stakes"])
    return Question(
        filter=Filter(**about, range=time_range(parameters, now)),
        group_by=chosen,
        min_decisions=integer("min_decisions", parameters.get("min_decisions"), MIN_DECISIONS, 1),
        detail=choice("detail", parameters.get("detail"), DETAILS, "figures"),
        include=tuple(
            choice("include", one, INCLUSIONS, "trend") for one in several("include", parameters.get("include"))
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
        selection=Selection(
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


def _reader(request: Request) -> House:
    return _reading(request)[0]


def _reading(request: Request) -> tuple[House, Speaker]:
    """The house, and who reads. Errors: AccessRefused."""
    house: House = request.app.state.house
    speaker = house.tokens.identify(request.headers.get("authorization"))
    speaker.require("read")
    return house, speaker


def _given(request: Request, allowed: Collection[str]) -> Mapping[str, str]:
    parameters = single(request.query_params.multi_items())
    known(parameters.keys(), allowed)
    return parameters


def _json(value: object) -> Response:
    return Response(to_json(value), media_type="application/json")

"""Query parameters of discovery runs, of evaluations and of the scoreboard."""

from collections.abc import Mapping
from datetime import datetime

from api.parameters import SINCE, UNTIL, WINDOW, choice_parameter, integer_parameter, parse_time_range, text_parameter
from api.service.decision_params import AGENT, parse_texts
from api.service.discovery.queries import RunQuery
from api.service.evaluation.queries import EvaluationQuery
from api.service.event_params import AS_OF, LIMIT, OFFSET, Parameters
from projections.discovery.run_index import RunSelection
from projections.evaluation.evaluation_index import EvaluationSelection
from projections.evaluation.scenario_history import ScenarioQuery
from projections.evaluation.scoreboard import ROWS_OF, ScoreboardQuery
from projections.evaluation.scoreboard import VERSIONS_SHOWN as VERSIONS_DEFAULT

VERSIONS_MAX = 1_000
"""The most versions of an agent that a scoreboard shows."""

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
RUNS_PARAMETERS: Parameters = (AGENT, ROUTER, PROBE, SINCE, UNTIL, WINDOW, LIMIT, OFFSET, AS_OF)
SCOREBOARD_PARAMETERS: Parameters = (SUITE, EVALUATED_AGENT, VERSIONS, ROWS, AS_OF)
EVALUATIONS_PARAMETERS: Parameters = (SUITE, EVALUATED_AGENT, SINCE, UNTIL, WINDOW, LIMIT, OFFSET, AS_OF)
SCENARIO_PARAMETERS: Parameters = (SUITE, EVALUATED_AGENT, LIMIT, OFFSET, AS_OF)


def parse_run_query(parameters: Mapping[str, str], now: datetime) -> RunQuery:
    """Return the query for a list of discovery runs. Errors: InvalidQuery."""
    selection = RunSelection(**parse_texts((AGENT, ROUTER, PROBE), parameters), range=parse_time_range(parameters, now))
    return RunQuery(selection=selection, limit=LIMIT.read(parameters), offset=OFFSET.read(parameters))


def parse_scoreboard_query(parameters: Mapping[str, str]) -> ScoreboardQuery:
    """Return the query for a scoreboard. Errors: InvalidQuery."""
    return ScoreboardQuery(
        **parse_texts((SUITE, EVALUATED_AGENT), parameters),
        versions=VERSIONS.read(parameters),
        group_by=ROWS.read(parameters),
    )


def parse_evaluation_query(parameters: Mapping[str, str], now: datetime) -> EvaluationQuery:
    """Return the query for a list of evaluations. Errors: InvalidQuery."""
    selection = EvaluationSelection(
        **parse_texts((SUITE, EVALUATED_AGENT), parameters), range=parse_time_range(parameters, now)
    )
    return EvaluationQuery(selection=selection, limit=LIMIT.read(parameters), offset=OFFSET.read(parameters))


def parse_scenario_query(scenario_id: str, parameters: Mapping[str, str]) -> ScenarioQuery:
    """Return the query for the history of a scenario. Errors: InvalidQuery."""
    return ScenarioQuery(
        scenario_id=scenario_id,
        **parse_texts((SUITE, EVALUATED_AGENT), parameters),
        limit=LIMIT.read(parameters),
        offset=OFFSET.read(parameters),
    )

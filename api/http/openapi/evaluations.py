"""Evaluations in the OpenAPI document."""

from api.http.media import JSON
from api.http.openapi.schemas import PARAMETERS, STREAM_ID, TEXT, Json, answer, parameter, problems, reference
from api.http.routes.evaluations import COMPARE_PARAMETERS, EVALUATION_INCLUSIONS, EVALUATION_PARAMETERS
from api.service.evaluation.queries import LATEST
from api.service.query_params import EVALUATIONS_PARAMETERS, SCOREBOARD_PARAMETERS, VERSIONS_MAX
from events.limits import ITEMS_MAX
from projections.evaluation.scoreboard import VERSIONS_SHOWN

_OWN: dict[str, Json] = {
    made["name"]: made
    for made in (
        parameter("suite", TEXT, "One suite, by its name."),
        parameter("agent", TEXT, "One agent, by the name under which it is evaluated."),
        parameter(
            "versions",
            {"type": "integer", "minimum": 1, "maximum": VERSIONS_MAX, "default": VERSIONS_SHOWN},
            "How many versions of each agent have a row: those that ran first the latest. The trend has all.",
        ),
        parameter(
            "include",
            {"type": "array", "items": {"enum": list(EVALUATION_INCLUSIONS)}, "minItems": 1, "maxItems": ITEMS_MAX},
            "What to add: every answer, also those that are kept as evidence.",
        ),
        parameter(
            "baseline",
            STREAM_ID,
            f"The run to compare with. `{LATEST}`: the newest before the candidate that has ended, of the same suite, "
            "agent and selection.",
        )
        | {"required": True},
        parameter("candidate", STREAM_ID, "The run to compare.") | {"required": True},
    )
}


def evaluations() -> Json:
    """The paths of evaluations."""
    return {
        "/scoreboard": {
            "get": _get(
                "get_scoreboard",
                "What each version of each agent is worth, by suite; baselines beside them.",
                _told("A board for each suite.", "ScoreboardAnswer"),
                _named(SCOREBOARD_PARAMETERS),
            )
        },
        "/evaluations": {
            "get": _get(
                "get_evaluations",
                "Evaluations in short, the one that began last first.",
                _told("A page of evaluations.", "EvaluationPage"),
                _named(EVALUATIONS_PARAMETERS),
            )
        },
        "/evaluations/compare": {
            "get": _get(
                "get_comparison",
                "Two evaluations compared by scenario and attempt, the candidate with the baseline.",
                _told("What became worse, what better, and what does not compare.", "RunComparisonAnswer"),
                _named(COMPARE_PARAMETERS),
                404,
            )
        },
        "/evaluations/{run}": {
            "get": _get(
                "get_evaluation",
                "One evaluation whole: every scenario, every score, and what matched where.",
                _told("The evaluation.", "EvaluationAnswer"),
                [parameter("run", STREAM_ID, "The run's id.", "path"), *_named(EVALUATION_PARAMETERS)],
                404,
            )
        },
    }


def _get(operation: str, summary: str, told: Json, parameters: list[Json], *statuses: int) -> Json:
    """An operation that the read scope allows, with its refusals."""
    return {
        "operationId": operation,
        "summary": summary,
        "parameters": parameters,
        "responses": {"200": told, **problems(400, 401, 403, *statuses, 503)},
    }


def _told(description: str, schema: str) -> Json:
    return answer(description, {JSON: reference(schema)})


def _named(names: tuple[str, ...]) -> list[Json]:
    return [_OWN[name] if name in _OWN else PARAMETERS[name] for name in names]

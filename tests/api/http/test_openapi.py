"""The OpenAPI document matches the application: paths, parameters, schemas."""

import re
from typing import Any

import httpx
import msgspec
import pytest

from api.errors import ERROR_TABLE
from api.http.app import routes
from api.http.openapi.document import ANY_ERRORS, openapi_document
from api.http.operation import HttpOperation
from api.http.route_table import ROWS, operations
from events.limits import HEAD_BYTES_MAX, URL_BYTES_MAX
from events.registry import VOCABULARY
from tests.support.server import Served

METHODS = {"get", "post", "put", "patch", "delete"}

DECISIONS = "agent category stakes project feature"
RANGE = "since until window"

QUERIES = {
    "POST /events": "guardrails",
    "POST /mcp": "tools read_only",
    "GET /events": "after before limit order type subject source correlationid since until",
    "GET /streams/{subject}": "after limit",
    "GET /calibration": f"{DECISIONS} model {RANGE} group_by min_decisions detail threshold include trend_days "
    "limit offset group_sort as_of",
    "GET /breakers": "as_of",
    "GET /calibration/advice": "agent category stakes confidence as_of",
    "GET /decisions": f"{DECISIONS} cluster model {RANGE} status outcome tag search sort order limit offset as_of "
    "retrieval_mode hybrid_weight embedding embedding_model",
    "GET /decisions/{decision_id}": "prefix as_of",
    "GET /decisions/{decision_id}/neighbors": "direction edge_type limit prefix as_of",
    "GET /decisions/{decision_id}/graph": "depth direction edge_type limit prefix as_of",
    "GET /reviews/sample": f"{DECISIONS} size seed drawn_at as_of",
    "GET /projections/{name}": "as_of",
    "GET /related": "correlationid after limit as_of",
    "GET /runs": f"agent router probe {RANGE} limit offset as_of",
    "GET /runs/{run_id}": "include prefix as_of",
    "GET /changes": "since agent as_of",
    "GET /tests": "state rule agent decision_id limit offset as_of",
    "POST /tests/resolve": "dry_run",
    "GET /tests/audit": "rule size seed drawn_at as_of",
    "GET /sessions": "since program as_of",
    "GET /inventory": "model search known router sort limit offset as_of",
    "GET /probes": "probe scorer model limit offset as_of",
    "GET /profiles": "model as_of",
    "GET /wrappers": "as_of",
    "GET /scoreboard": "suite agent versions group_by as_of",
    "GET /evaluations": f"suite agent {RANGE} limit offset as_of",
    "GET /evaluations/compare": "baseline candidate prefix as_of",
    "GET /evaluations/{run}/gate": "baseline suite max_regressions max_errors min_score alpha drop drop_in max_latency "
    "max_latency_p95 max_cost_per_attempt as_of",
    "GET /evaluations/{run}": "include prefix as_of",
    "GET /scenarios/{scenario_id}": "suite agent limit offset as_of",
    "GET /suites": "suite limit offset as_of",
    "GET /suites/compare": "baseline candidate as_of",
    "GET /suites/{version}/scenarios/{scenario_id}": "as_of",
    "GET /suites/{version}/file": "path as_of",
    "GET /suites/{version}": "limit offset as_of",
    "GET /judges": "judge suite as_of",
    "GET /labels/queue": "judge suite limit offset as_of",
    "PUT /evidence": "digest note",
    "GET /evidence": "limit offset as_of",
    "DELETE /evidence/{digest}": "reason",
    "GET /guardrails": "retired as_of",
    "GET /guardrails/{guardrail_id}": "as_of",
    "DELETE /guardrails/{guardrail_id}": "reason",
    "GET /discovery/{run}/signals": "since",
    "GET /proofs/inclusion": "position size",
    "GET /proofs/consistency": "from to",
    "GET /export": "since until type subject agent format gzip evidence",
}
"""The query parameters of every operation that has some."""

LINKS = {
    "post_events": "event:get_event first:get_event receipt:get_receipt stream:get_stream",
    "get_events": "event:get_event stream:get_stream",
    "get_decisions": "decision:get_decision",
    "post_decision": "decision:get_decision",
    "post_review": "decision:get_decision",
    "post_retraction": "decision:get_decision",
    "post_link": "decision:get_decision",
    "get_review_sample": "decision:get_decision",
    "get_projections": "projection:get_projection",
    "get_runs": "run:get_run",
    "get_evaluations": "evaluation:get_evaluation",
    "get_suite_versions": "version:get_suite_version",
    "put_evidence": "bytes:get_evidence erase:delete_evidence event:get_event",
    "list_evidence": "bytes:get_evidence",
    "delete_evidence": "bytes:get_evidence event:get_event",
    "get_guardrails": "guardrail:get_guardrail",
    "post_discovery": "finish:post_finish prompt:get_prompt report:get_run respond:post_response signal:post_signal "
    "signals:get_signals",
}
"""The links of every operation that has some: name and target."""


def described() -> dict[tuple[str, str], dict[str, Any]]:
    """Every operation of the document, by method and path."""
    return {
        (method, path): operation
        for path, item in openapi_document()["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    }


def routed() -> dict[tuple[str, str], str]:
    """Every operation of the application, with its endpoint's name; HEAD is GET without a body."""
    found: dict[tuple[str, str], str] = {}
    for route in routes():
        assert route.methods is not None
        path = re.sub(r":\w+}", "}", route.path)
        found |= {(method.lower(), path): route.endpoint.__name__ for method in route.methods - {"HEAD"}}
    return found


def taken(path: str, place: str = "query", method: str = "get") -> set[str]:
    """The names of the parameters that a method takes at a path."""
    return {made["name"] for made in described()[method, path]["parameters"] if made["in"] == place}


def references(node: object) -> set[str]:
    if isinstance(node, dict):
        here = {node["$ref"]} if "$ref" in node else set()
        return here.union(*(references(value) for value in node.values()))
    if isinstance(node, list):
        return set().union(*(references(value) for value in node))
    return set()


def test_every_route_is_described_and_nothing_else_is() -> None:
    assert {key: operation["operationId"] for key, operation in described().items()} == routed()


def test_the_table_of_routes_has_what_the_operations_declare() -> None:
    declared = [(each.method, each.path, each.name) for each in operations()]
    assert declared == [(row.method, row.path, row.function.partition(":")[2]) for row in ROWS]


def test_operation_ids_are_unique() -> None:
    names = [operation["operationId"] for operation in described().values()]
    assert len(names) == len(set(names))


def test_every_query_parameter_is_described() -> None:
    found = {f"{method.upper()} {path}": taken(path, "query", method) for method, path in described()}
    assert {key: names for key, names in found.items() if names} == {
        key: set(names.split()) for key, names in QUERIES.items()
    }


CHECKED = [
    f"{each.method} {each.template}"
    for each in operations()
    if (not each.public and each.template not in ("/cstp", "/events")) or each.name == "get_events"
]


@pytest.mark.parametrize("operation", CHECKED)
def test_a_parameter_that_is_not_described_is_refused(client: httpx.Client, operation: str) -> None:
    method, path = operation.split()
    response = client.request(method, re.sub(r"{\w+}", "1", path), params={"nosuch": "1"})
    assert (response.status_code, response.json()["field"]) == (400, "nosuch")


@pytest.mark.parametrize("operation", [each for each in operations() if each.query], ids=lambda each: each.name)
def test_a_default_is_within_the_bounds(operation: HttpOperation) -> None:
    for parameter in operation.query:
        if "default" in parameter.schema:
            text = msgspec.json.encode(parameter.default).decode().strip('"')
            assert parameter.parse(text) == parameter.default == parameter.schema["default"]


@pytest.mark.parametrize("path", [path for _, path in described()])
def test_the_parameters_of_a_path_are_named(path: str) -> None:
    named = set(re.findall(r"{(\w+)}", path))
    for method, where in described():
        if where == path and named:
            assert taken(path, "path", method) == named, method


def test_every_parameter_is_explained() -> None:
    for operation in described().values():
        assert operation["summary"]
        for made in operation.get("parameters", ()):
            assert made["description"], made


def test_every_reference_leads_somewhere() -> None:
    found = {reference.removeprefix("#/components/schemas/") for reference in references(openapi_document())}
    assert found <= set(openapi_document()["components"]["schemas"])


def test_every_type_can_be_posted_and_read() -> None:
    schemas = openapi_document()["components"]["schemas"]
    assert tuple(schemas["Event"]["discriminator"]["mapping"]) == VOCABULARY.type_names
    by_routes_of_evidence = {"evidence.stored.v1", "evidence.erased.v1"}
    assert schemas["Draft"]["discriminator"]["mapping"].keys() == set(VOCABULARY.type_names) - by_routes_of_evidence


def test_statuses_are_those_that_errors_have() -> None:
    statuses = {int(status) for operation in described().values() for status in operation["responses"]}
    unrouted, faults, of_the_sdk = {405}, {500}, {202, 406}
    known = {answer.status for answer in ERROR_TABLE.values()}
    assert statuses - {200, 201, 204, 303, 304} - of_the_sdk == known - unrouted - faults


def test_every_operation_lists_the_errors_that_come_before_routing() -> None:
    for key, operation in described().items():
        for status in ANY_ERRORS:
            assert "application/problem+json" in operation["responses"][str(status)]["content"], (key, status)


@pytest.mark.parametrize(
    ("method", "path", "query", "headers", "status"),
    [
        ("get", "/healthz", "", {"host": "ledger.example"}, 421),
        ("post", "/cstp", "", {"host": "ledger.example"}, 421),
        ("post", "/cstp", "", {"origin": "https://page.example"}, 403),
        ("put", "/evidence", "", {"sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_refusals_before_routing_are_described(
    client: httpx.Client, method: str, path: str, query: str, headers: dict[str, str], status: int
) -> None:
    response = client.request(method, f"{path}?{query}", headers=headers)
    check_refusal(response, method, path, status)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "query", "headers", "status"),
    [
        ("/readyz", "x" * URL_BYTES_MAX, {}, 414),
        ("/checkpoint", "", {"x-long": "x" * HEAD_BYTES_MAX}, 431),
    ],
)
def test_refusals_of_a_connection_are_described(
    served_client: httpx.Client, path: str, query: str, headers: dict[str, str], status: int
) -> None:
    check_refusal(served_client.get(f"{path}?{query}", headers=headers), "get", path, status)


def check_refusal(response: httpx.Response, method: str, path: str, status: int) -> None:
    """Check that the description has this answer, with its media type and headers."""
    assert response.status_code == status
    answer = described()[method, path]["responses"][str(status)]
    assert response.headers["content-type"] in answer["content"]
    assert set(answer["headers"]) <= set(response.headers)


def test_every_link_leads_from_what_is_answered_to_what_is_taken() -> None:
    by_id = {operation["operationId"]: operation for operation in described().values()}
    found: dict[str, set[str]] = {}
    for source, operation in by_id.items():
        for status, answer in operation["responses"].items():
            for name, link in answer.get("links", {}).items():
                found.setdefault(source, set()).add(f"{name}:{link['operationId']}")
                path_parameters = {
                    made["name"] for made in by_id[link["operationId"]]["parameters"] if made["in"] == "path"
                }
                assert set(link["parameters"]) == path_parameters, (source, status, name)
    assert found == {source: set(links.split()) for source, links in LINKS.items()}


def test_a_refusal_is_a_problem_openapi_document() -> None:
    for (_, path), operation in described().items():
        for status, answer in operation["responses"].items():
            if int(status) >= 400 and path not in {"/cstp", "/mcp", "/readyz", "/health"}:
                others = ["application/json", "application/x-protobuf"] if path.startswith("/v1/") else []
                assert list(answer["content"]) == ["application/problem+json", *others], (path, status)


def test_it_is_served(server: Served, served_client: httpx.Client) -> None:
    response = served_client.get("/openapi.json")
    assert response.headers["content-type"] == "application/json"
    assert response.json() == msgspec.json.decode(msgspec.json.encode(openapi_document()))

"""The description matches the door: its paths, its parameters, its schemas."""

import re
from typing import Any

import httpx
import msgspec
import pytest
from starlette.routing import Route

from api.errors import TABLE
from api.http.app import routes
from api.http.openapi import common_errors, links
from api.http.openapi.document import document
from api.http.routes import discovery, evaluations, evidence, models, tiles
from api.service import query_params
from events import VOCABULARY
from events.limits import HEAD_BYTES_MAX, URL_BYTES_MAX
from tests.support.server import Served

METHODS = {"get", "post", "put", "patch", "delete"}


def described() -> dict[tuple[str, str], dict[str, Any]]:
    """Every operation of the document, by method and path."""
    return {
        (method, path): operation
        for path, item in document()["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    }


def routed() -> dict[tuple[str, str], str]:
    """Every operation of the application, with its endpoint's name; HEAD is GET without a body."""
    found: dict[tuple[str, str], str] = {}
    for route in routes():
        assert isinstance(route, Route)
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


def test_operation_ids_are_unique() -> None:
    names = [operation["operationId"] for operation in described().values()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/events", query_params.PARAMETERS),
        ("/calibration", query_params.CALIBRATION_PARAMETERS),
        ("/decisions", query_params.DECISIONS_PARAMETERS),
        ("/decisions/{decision_id}", ("as_of",)),
        ("/projections/{name}", ("as_of",)),
        ("/inventory", models.INVENTORY_PARAMETERS),
        ("/probes", models.PROBES_PARAMETERS),
        ("/scoreboard", query_params.SCOREBOARD_PARAMETERS),
        ("/evaluations", query_params.EVALUATIONS_PARAMETERS),
        ("/evaluations/{run}", evaluations.EVALUATION_PARAMETERS),
        ("/evaluations/compare", evaluations.COMPARE_PARAMETERS),
        ("/proofs/inclusion", tiles.INCLUSION_PARAMETERS),
        ("/proofs/consistency", tiles.CONSISTENCY_PARAMETERS),
        ("/tile/{level}/{tile}", ()),
        ("/tile/entries/{tile}", ()),
        ("/projections", ()),
        ("/evidence", evidence.LIST_PARAMETERS),
        ("/discovery/{run}/prompt", ()),
        ("/discovery/{run}/signals", discovery.SIGNALS_PARAMETERS),
    ],
)
def test_the_parameters_are_those_the_route_knows(path: str, parameters: tuple[str, ...]) -> None:
    assert taken(path) == set(parameters)


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
    found = {reference.removeprefix("#/components/schemas/") for reference in references(document())}
    assert found <= set(document()["components"]["schemas"])


def test_every_type_can_be_posted_and_read() -> None:
    schemas = document()["components"]["schemas"]
    for name in ("Draft", "Event"):
        assert tuple(schemas[name]["discriminator"]["mapping"]) == VOCABULARY.types


def test_statuses_are_those_that_errors_have() -> None:
    told = {int(status) for operation in described().values() for status in operation["responses"]}
    unrouted, faults = {405}, {500}
    known = {answer.status for answer in TABLE.values()}
    assert told - {200, 201, 304} == known - unrouted - faults


def test_what_stands_before_every_route_is_told_at_each() -> None:
    for key, operation in described().items():
        for status in common_errors.STATUSES:
            assert "application/problem+json" in operation["responses"][str(status)]["content"], (key, status)


@pytest.mark.parametrize(
    ("method", "path", "query", "headers", "status"),
    [
        ("get", "/healthz", "", {"host": "ledger.example"}, 421),
        ("post", "/cstp", "", {"host": "ledger.example"}, 421),
        ("post", "/cstp", "", {"origin": "https://page.example"}, 403),
        ("put", "/evidence", "", {"sec-fetch-site": "cross-site"}, 403),
        ("get", "/readyz", "x" * URL_BYTES_MAX, {}, 414),
        ("get", "/checkpoint", "", {"x-long": "x" * HEAD_BYTES_MAX}, 431),
    ],
)
def test_what_the_door_refuses_is_described(
    client: httpx.Client, method: str, path: str, query: str, headers: dict[str, str], status: int
) -> None:
    response = client.request(method, f"{path}?{query}", headers=headers)
    assert response.status_code == status
    answer = described()[method, path]["responses"][str(status)]
    assert response.headers["content-type"] in answer["content"]
    assert set(answer["headers"]) <= set(response.headers)


def test_every_link_leads_from_what_is_answered_to_what_is_taken() -> None:
    by_id = {operation["operationId"]: operation for operation in described().values()}
    told: set[tuple[str, str]] = set()
    for source, operation in by_id.items():
        for status, answer in operation["responses"].items():
            for name, link in answer.get("links", {}).items():
                told.add((source, name))
                path_parameters = {
                    made["name"] for made in by_id[link["operationId"]]["parameters"] if made["in"] == "path"
                }
                assert set(link["parameters"]) == path_parameters, (source, status, name)
    assert told == {(link.source, link.name) for link in links.LINKS}


def test_a_refusal_is_a_problem_document() -> None:
    for (_, path), operation in described().items():
        for status, answer in operation["responses"].items():
            if int(status) >= 400 and path not in {"/cstp", "/readyz", "/health"}:
                assert list(answer["content"]) == ["application/problem+json"], (path, status)


def test_it_is_served(server: Served, client: httpx.Client) -> None:
    response = client.get("/openapi.json")
    assert response.headers["content-type"] == "application/json"
    assert response.json() == msgspec.json.decode(msgspec.json.encode(document()))

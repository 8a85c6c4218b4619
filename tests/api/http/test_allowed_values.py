"""Refusals over HTTP say what is allowed: the values of an enumeration, JSON's types, and where an agent belongs."""

import httpx
import pytest

from tests.api.http.posts import Json, recorded
from tests.api.http.test_problems import problem_of, unwritten


@pytest.mark.trial("A13")
@pytest.mark.parametrize(
    ("path", "body", "field", "detail", "advice"),
    [
        (
            "/events", {"type": "decision.reviewed.v1", "data": {"decision_id": "a", "outcome": "won"}},
            "data.outcome", "'won' is not an allowed value", "Use one of: abandoned, failure, partial, success.",
        ),
        (
            "/reviews", {"data": {"decision_id": "a", "outcome": "won"}},
            "data.outcome", "'won' is not an allowed value", "Use one of: abandoned, failure, partial, success.",
        ),
        (
            "/decisions", {"data": {"decision": "x", "stakes": "huge"}},
            "data.stakes", "'huge' is not an allowed value", "Use one of: critical, high, low, medium.",
        ),
        (
            "/decisions", {"data": {"decision": "x", "confidence": "0.8"}},
            "data.confidence", "expected `number | null`, got `string`", "Correct the value.",
        ),
    ],
)  # fmt: skip
def test_allowed_values_and_types_are_named(
    client: httpx.Client, path: str, body: Json, field: str, detail: str, advice: str
) -> None:
    with unwritten(client):
        problem = problem_of(client.post(path, json=body), 422, "invalid-event")
    assert problem["field"] == field
    assert detail in problem["detail"]
    assert advice in problem["advice"]


@pytest.mark.trial("A13")
def test_the_choices_of_a_parameter_have_no_empty_one(client: httpx.Client) -> None:
    problem = problem_of(client.get("/decisions", params={"status": "done"}), 400, "invalid-query")
    assert problem["advice"] == "Choose one of pending, reviewed, retracted."


@pytest.mark.trial("A12")
def test_an_agent_beside_the_type_is_refused_with_the_attribute_for_it(client: httpx.Client) -> None:
    with unwritten(client):
        problem = problem_of(client.post("/events", json={**recorded("a"), "agent": "scout"}), 422, "invalid-event")
    assert problem["field"] == "agent"
    assert "source" in problem["detail"]
    assert '"source": "/agents/NAME"' in problem["advice"]

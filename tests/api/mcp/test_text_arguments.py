"""Arguments that a client writes as text are read as JSON of their type, and refusals name what the caller used."""

from typing import Any

import msgspec
import pytest

from api.mcp.refusal import refusal_of_error, refusal_of_params
from api.mcp.text_arguments import convert_arguments
from api.mcp.toolsets import TOOLS
from api.service.agent_calls.record_decision import Related
from events.decision import Bridge, Deliberation
from ledger.errors import IdentityConflict

PARAMS: dict[str, Any] = {tool.name: tool.params for tool in TOOLS}
SearchParams, PreActionParams = PARAMS["query_decisions"], PARAMS["pre_action"]
RecordParams, CheckParams = PARAMS["record_decision"], PARAMS["check_action"]

D = {"decision": "x"}


@pytest.mark.trial("P3")
@pytest.mark.parametrize(
    ("params", "given", "field", "value"),
    [
        (RecordParams, {**D, "confidence": "0.8"}, "confidence", 0.8),
        (RecordParams, {**D, "tags": '["a", "b"]'}, "tags", ("a", "b")),
        (RecordParams, {**D, "pr": "42"}, "pr", 42),
        (RecordParams, {**D, "pr": 42.0}, "pr", 42),
        (RecordParams, {**D, "pr": "42.0"}, "pr", 42),
        (RecordParams, {**D, "related_to": '[{"id": "d1"}]'}, "related_to", (Related(id="d1"),)),
        (RecordParams, {**D, "bridge": '{"structure": "s"}'}, "bridge", Bridge(structure="s")),
        (RecordParams, {**D, "deliberation": '{"inputs": []}'}, "deliberation", Deliberation()),
        (RecordParams, {**D, "deliberation": "auto"}, "deliberation", "auto"),
        (RecordParams, {**D, "embedding": "[0.5, 1]"}, "embedding", (0.5, 1.0)),
        (RecordParams, {"decision": '{"a": 1}'}, "decision", '{"a": 1}'),
        (RecordParams, {**D, "pattern": "12"}, "pattern", "12"),
        (PreActionParams, {"action": '{"description": "x"}'}, "action", {"description": "x"}),
        (PreActionParams, {"description": "x", "auto_record": "false"}, "auto_record", False),
        (PreActionParams, {"description": "x", "query_limit": "5"}, "query_limit", 5),
        (CheckParams, {"description": "x", "context": '{"owner": "ann"}'}, "context", {"owner": "ann"}),
    ],
)
def test_a_text_that_holds_json_of_the_declared_type_is_taken_as_it(
    params: type[Any], given: dict[str, object], field: str, value: object
) -> None:
    before = msgspec.json.encode(given)
    read, arguments = convert_arguments(given, params)
    assert getattr(read, field) == value
    assert msgspec.convert(arguments, params) == read
    assert msgspec.json.encode(given) == before


def test_texts_in_lists_and_objects_are_read() -> None:
    reasons = '[{"type": "analysis", "text": "t", "strength": "0.5"}]'
    read, _ = convert_arguments({**D, "reasons": reasons}, RecordParams)
    assert read.reasons is not None
    assert read.reasons[0].strength == 0.5
    filters = {"filters": {"stakes": '["high"]', "has_outcome": "true", "pr": "7"}}
    found, _ = convert_arguments(filters, SearchParams)
    assert found.filters is not None
    assert (found.filters.stakes, found.filters.has_outcome, found.filters.pr) == (("high",), True, 7)


@pytest.mark.trial("P3")
@pytest.mark.trial("N7")
@pytest.mark.parametrize(
    ("params", "given", "field", "error"),
    [
        (RecordParams, {**D, "confidence": "85%"}, "confidence", "expected `number | null`, got `string`"),
        (RecordParams, {**D, "confidence": "8"}, "confidence", "expected `float` <= 1.0"),
        (RecordParams, {**D, "confidence": '"0.8"'}, "confidence", "got `string`"),
        (RecordParams, {**D, "confidence": "null"}, "confidence", "got `string`"),
        (RecordParams, {**D, "tags": "queue"}, "tags", "got `string`"),
        (RecordParams, {**D, "tags": "[1]"}, "tags[...]", "got `integer`"),
        (RecordParams, {**D, "pr": 42.5}, "pr", "got `number`"),
        (PreActionParams, {"description": "x", "context": "plain text"}, "context", "expected `object | null`"),
        (CheckParams, {"description": "x", "context": "[1]"}, "context", "got `array`"),
    ],
)
def test_any_other_text_is_refused(params: type[Any], given: dict[str, object], field: str, error: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        convert_arguments(given, params)
    refusal = refusal_of_params(raised.value, params)
    assert (refusal.field or "").partition("[")[0] == field.partition("[")[0]
    assert error.partition("`")[0] in refusal.error


@pytest.mark.trial("N8")
@pytest.mark.parametrize(
    ("given", "error", "advice"),
    [
        ({"filters": {"outcome": "success"}}, "filters.outcome is not a field here.", "Did you mean has_outcome?"),
        ({"filters": {"colour": "red"}}, "filters.colour is not a field here.", "use one of: agent, category, stakes,"),
        ({"querry": "x"}, "querry is not a field here.", "Did you mean query?"),
    ],
)
def test_an_unknown_name_is_answered_with_the_names_of_its_place(
    given: dict[str, Any], error: str, advice: str
) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        convert_arguments(given, SearchParams)
    refusal = refusal_of_params(raised.value, SearchParams)
    assert refusal.error == error
    assert advice in refusal.advice
    if "filters" in given:
        assert "retrieval_mode" not in refusal.advice


@pytest.mark.trial("N8")
def test_a_taken_idempotency_key_is_named_as_the_caller_named_it() -> None:
    error = IdentityConflict("decision/d1", "/agents/ada", "key-1", 3, 0)
    refusal = refusal_of_error(error, RecordParams, {**D, "idempotency_key": "key-1"})
    assert refusal.field == "idempotency_key"

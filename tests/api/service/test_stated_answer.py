"""A router's answer is stated alike over HTTP and MCP."""

from typing import Any

import msgspec
import pytest

from api.http.routes.discovery import ResponseBody
from api.mcp.discovery_tools import ResponseParams
from api.service.discovery.stated_answer import to_router_answer
from events.errors import InvalidEvent

SHAPES = (ResponseBody, ResponseParams)


def stated(shape: type[Any], **fields: object) -> Any:  # noqa: ANN401 - of either shape
    run = {"run_id": "r"} if shape is ResponseParams else {}
    return msgspec.convert(run | fields, shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_duration_may_be_in_milliseconds(shape: type[Any]) -> None:
    assert to_router_answer(stated(shape, response="x", elapsed_ms=12.5)).elapsed_ns == 12_500_000
    assert to_router_answer(stated(shape, failure="timeout", elapsed_ns=7)).elapsed_ns == 7
    with pytest.raises(msgspec.ValidationError):
        stated(shape, response="x", elapsed_ms=1e300)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("fields", "field"),
    [({}, "response"), ({"response": "x", "failure": "timeout"}, "response"),
     ({"response": "x", "elapsed_ns": 1, "elapsed_ms": 1}, "elapsed_ms")],
)  # fmt: skip
def test_fields_that_contradict_each_other_are_refused(shape: type[Any], fields: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidEvent) as error:
        to_router_answer(stated(shape, **fields))
    assert error.value.field == field

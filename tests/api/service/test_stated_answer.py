"""A router's answer, as a client states it."""

import msgspec
import pytest

from api.service.discovery.stated_answer import ResponseBody, to_router_answer
from events.errors import InvalidEvent


def stated(**fields: object) -> ResponseBody:
    return msgspec.convert(fields, ResponseBody)


def test_a_duration_may_be_in_milliseconds() -> None:
    assert to_router_answer(stated(response="x", elapsed_ms=12.5)).elapsed_ns == 12_500_000
    assert to_router_answer(stated(failure="timeout", elapsed_ns=7)).elapsed_ns == 7
    with pytest.raises(msgspec.ValidationError):
        stated(response="x", elapsed_ms=1e300)


@pytest.mark.parametrize(
    ("fields", "field"),
    [({}, "response"), ({"response": "x", "failure": "timeout"}, "response"),
     ({"response": "x", "elapsed_ns": 1, "elapsed_ms": 1}, "elapsed_ms")],
)  # fmt: skip
def test_fields_that_contradict_each_other_are_refused(fields: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidEvent) as error:
        to_router_answer(stated(**fields))
    assert error.value.field == field

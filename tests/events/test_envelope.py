"""From what a client posts to the line that is stored, and back."""

import re
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Line, agent_of, encode_line, source_of, timestamp
from events.payload import Payload
from events.registry import VOCABULARY
from events.vocabulary import EventType
from tests.events.payloads import ZONES, payload_of

REQUIRED = ("specversion", "id", "source", "type", "subject", "time", "recordedtime", "position", "streamversion")
TRACES = ("traceparent", "correlationid", "causationid")

KINDS_AND_PAYLOADS = st.sampled_from(list(VOCABULARY.event_types.values())).flatmap(
    lambda kind: st.tuples(st.just(kind), payload_of(kind.payload))
)
INSTANTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=ZONES)  # noqa: DTZ001 - bounds are naive


def line_of(kind: EventType, data: Payload, traces: dict[str, str], time: str) -> bytes:
    return encode_line(
        Line(
            specversion="1.0",
            id="1",
            source="/agents/a",
            type=kind.name,
            subject=f"{kind.stream}/x",
            time=time,
            recordedtime=time,
            position=1,
            streamversion=1,
            data=data,
            **traces,
        )
    )


@settings(max_examples=200, deadline=None)
@given(
    posted=KINDS_AND_PAYLOADS,
    present=st.sets(st.sampled_from(TRACES)),
    moment=INSTANTS,
)
def test_what_is_posted_is_what_is_stored(
    posted: tuple[EventType, Payload], present: set[str], moment: datetime
) -> None:
    kind, payload = posted
    traces = {name: f"{name}-1" for name in TRACES if name in present}
    body = msgspec.json.encode({"type": kind.name, "time": moment, **traces, "data": payload})
    draft = VOCABULARY.draft(body)
    assert (draft.name, draft.data, draft.time) == (kind.name, payload, moment)

    line = line_of(kind, draft.data, traces, timestamp(moment))
    assert b"\n" not in line
    assert b"\r" not in line
    assert tuple(msgspec.json.decode(line)) == (*REQUIRED, *traces, "data")
    event = VOCABULARY.stored(line)
    assert (event.name, event.data, event.moment) == (kind.name, payload, moment)
    assert {name: getattr(event, name) for name in TRACES} == {name: traces.get(name) for name in TRACES}
    assert line_of(kind, event.data, traces, event.time) == line


@settings(max_examples=200, deadline=None)
@given(one=INSTANTS, other=INSTANTS)
def test_timestamps_as_text_stand_in_the_order_of_time(one: datetime, other: datetime) -> None:
    first, second = timestamp(one), timestamp(other)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", first)
    assert len(first) == 27
    assert (first < second) == (one < other)
    assert datetime.fromisoformat(first) == one


def test_timestamps_show_microseconds_even_when_there_are_none() -> None:
    assert timestamp(datetime(2026, 11, 21, 8, 30, tzinfo=UTC)) == "2026-11-21T08:30:00.000000Z"
    assert timestamp(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("name", ["claude", "a.b-c_d"])
def test_an_agent_and_its_source_name_each_other(name: str) -> None:
    assert source_of(name) == f"/agents/{name}"
    assert agent_of(source_of(name)) == name

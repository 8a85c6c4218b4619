"""Any posted body is stored completely, or refused without a write. It never causes an internal error."""

from typing import Any
from urllib.parse import quote

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from api.cstp.method_table import METHODS
from api.errors import INTERNAL_ERROR
from api.http.media_types import EVENT_MEDIA_TYPES
from tests.events.samples import SAMPLES
from tests.fuzz.in_process import Headers, InProcess
from tests.fuzz.mutated import SCALARS, VALUES, bodies, documents, noise
from tests.support.cstp_installation import WHOLE

EVENTS: list[dict[str, Any]] = [
    {"type": name, "id": f"e-{name}", "source": "/agents/ann", "time": "2026-02-05T10:00:00Z", "data": payload}
    for name, payload in ((name, msgspec.to_builtins(payload)) for name, payload in SAMPLES.items())
]
ONE = bodies(EVENTS)
MANY = bodies([EVENTS[:3], EVENTS[5:9], EVENTS[:1] * 2])
LINES = st.lists(ONE, max_size=3).map(b"\n".join)
TYPES = st.sampled_from(
    [media.encode() for media in EVENT_MEDIA_TYPES] * 3 + [b"", b"text/plain", b"application/json; q=\xff"]
)

CALLS: list[dict[str, Any]] = [
    {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    for method in METHODS
    for params in (
        {},
        {**WHOLE, "filters": {"project": "acme/gateway", "agent": "ann", "category": "tooling"}, "limit": 5},
        {"query": "gateway pool", "filters": {"dateFrom": "2026-02-05", "tags": ["pool"]}, "options": {}},
    )
]


def posted(in_process: InProcess, body: bytes, headers: Headers) -> None:
    """Post events; what is taken is what the head moved by."""
    answer = in_process.post("/events", body, headers)
    reported = msgspec.json.decode(answer.body)
    if answer.status >= 400:
        assert answer.status < 500, reported
        assert answer.moved == 0
        assert reported["detail"]
        return
    new = reported["count"] - reported["duplicates"] if "count" in reported else 1 - reported["duplicate"]
    assert answer.moved == new
    assert answer.status == (201 if new else 200)


@given(ONE | MANY | LINES, TYPES)
def test_events_are_taken_whole_or_refused(in_process: InProcess, body: bytes, media: bytes) -> None:
    posted(in_process, body, [(b"content-type", media)])


@given(MANY)
def test_batches_are_taken_whole_or_refused(in_process: InProcess, body: bytes) -> None:
    posted(in_process, body, [(b"content-type", b"application/cloudevents-batch+json")])


ATTRIBUTES = "type id source time subject specversion expectedversion data position recordedtime partitionkey"
NAMES = st.sampled_from([*ATTRIBUTES.split(), "", "\xe9"])
WRITTEN = SCALARS.map(str) | st.text(max_size=8)
HEADERS = st.dictionaries(NAMES, WRITTEN.map(quote) | st.binary(max_size=8).map(lambda value: value.decode("latin-1")))


@given(st.sampled_from(EVENTS), HEADERS, st.data())
def test_binary_mode_is_taken_whole_or_refused(
    in_process: InProcess, event: dict[str, Any], more: dict[str, str], data: st.DataObject
) -> None:
    body = data.draw(bodies([event["data"]]))
    said = {name: value for name, value in event.items() if name != "data"} | {"specversion": "1.0"} | more
    headers = [(f"ce-{name}".encode("latin-1"), value.encode("latin-1")) for name, value in said.items()]
    posted(in_process, body, headers)


FRAMES = documents(CALLS) | st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(sorted(METHODS)), "params": VALUES},
    optional={"id": SCALARS},
)
CALLED = (FRAMES | st.lists(FRAMES, max_size=3)).map(msgspec.json.encode)


@given(CALLED | noise(CALLED))
def test_a_call_is_answered_or_refused(in_process: InProcess, body: bytes) -> None:
    answer = in_process.post("/cstp", body)
    if answer.status == 204:
        assert answer.body == b""
        return
    assert answer.status == 200, answer.body
    reported = msgspec.json.decode(answer.body)
    for reply in reported if isinstance(reported, list) else [reported]:
        fault = "error" in reply and reply["error"]["code"] == INTERNAL_ERROR
        # the protocol's own code for the review of a decision that does not exist, or is closed
        assert not fault or reply["error"]["data"]["type"] in ("NotFound", "LifecycleViolation"), reply
    if not isinstance(reported, list) and "error" in reported:
        assert answer.moved == 0

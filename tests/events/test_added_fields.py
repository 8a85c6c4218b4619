"""A version that only adds fields: old lines are read as the new shape; what needs no new field is written as old."""

import msgspec
import pytest

from events.call import CallRecorded, CallRecordedV1
from events.decision import DecisionRecorded, DecisionRecordedV1, DecisionReviewed, DecisionReviewedV1
from events.errors import InvalidEvent
from events.evaluation import EvalScored, EvalScoredV1
from events.model import ModelRegistered, ModelRegisteredV1
from events.observation import ObservationRecorded, ObservationRecordedV1
from events.payload import Payload
from events.probe import ProbeScored, ProbeScoredV1
from events.registry import VOCABULARY
from tests.events.samples import SAMPLES, line_of
from tests.golden import path_of

VERSIONS: dict[str, tuple[type[Payload], type[Payload], tuple[str, ...]]] = {
    "call.recorded": (
        CallRecordedV1,
        CallRecorded,
        ("cache_read_tokens", "cache_write_tokens", "switch", "verdict", "denied_by", "basis"),
    ),
    "decision.recorded": (DecisionRecordedV1, DecisionRecorded, ("cluster", "model", "reported_model")),
    "decision.reviewed": (
        DecisionReviewedV1,
        DecisionReviewed,
        ("rule", "rule_version", "basis", "due", "evidence"),
    ),
    "eval.scored": (EvalScoredV1, EvalScored, ("model", "reported_model", "confidence")),
    "model.registered": (ModelRegisteredV1, ModelRegistered, ("version",)),
    "observation.recorded": (ObservationRecordedV1, ObservationRecorded, ("subject", "occurred", "facts")),
    "probe.scored": (ProbeScoredV1, ProbeScored, ("reported_model",)),
}


def plain(payload: Payload) -> object:
    return msgspec.to_builtins(payload)


def read_as(payload: Payload, shape: type[Payload]) -> Payload:
    """The payload of an older version as the current shape."""
    return msgspec.convert(plain(payload), shape)


@pytest.mark.parametrize("name", VERSIONS)
def test_an_old_line_is_read_as_the_new_shape_and_keeps_its_name(name: str) -> None:
    _, current, added = VERSIONS[name]
    line = path_of(f"{name}.v1").read_bytes().strip()
    (fact,) = VOCABULARY.facts(line)
    for event in (VOCABULARY.event(line), fact):
        assert event.name == f"{name}.v1"
        assert event.data.__class__.__name__ == current.__name__
        assert plain(event.data) == plain(SAMPLES[f"{name}.v1"])
        assert [getattr(event.data, field) for field in added] == [None] * len(added)
    assert line_of(f"{name}.v1", VOCABULARY.stored(line).data) == line


@pytest.mark.parametrize("name", VERSIONS)
def test_a_payload_is_written_in_the_oldest_version_that_can_state_it(name: str) -> None:
    old, current, added = VERSIONS[name]
    new = read_as(SAMPLES[f"{name}.v2"], current)
    for field in added:
        kept = {other: None for other in added if other != field}
        draft = VOCABULARY.draft_of(msgspec.structs.replace(new, **kept), id="e")
        assert (draft.name, type(draft.data), draft.id) == (f"{name}.v2", type(SAMPLES[f"{name}.v2"]), "e")
    without = VOCABULARY.draft_of(msgspec.structs.replace(new, **dict.fromkeys(added)))
    assert (without.name, type(without.data)) == (f"{name}.v1", old)
    assert plain(without.data) == plain(SAMPLES[f"{name}.v1"])


def test_what_an_older_version_always_has_is_missing_only_in_the_newer_one() -> None:
    call = CallRecorded(call_id="cc-msg_1", operation="chat")
    assert VOCABULARY.draft_of(call).name == "call.recorded.v2"
    seen = ObservationRecorded(observation_id="o", event_type="git.landed", source="git")
    assert VOCABULARY.draft_of(seen).name == "observation.recorded.v2"
    with pytest.raises(InvalidEvent, match="trace_id"):
        VOCABULARY.draft(b'{"type":"call.recorded.v1","data":{"call_id":"cc-msg_1","operation":"chat"}}')


@pytest.mark.parametrize("change", ["component", "match type", "failure", "verdict", "judge", "embeddings"])
def test_a_score_that_version_2_cannot_state_is_written_as_version_3(change: str) -> None:
    full = SAMPLES["eval.scored.v3"]
    assert isinstance(full, EvalScored)
    older = read_as(SAMPLES["eval.scored.v2"], EvalScored)
    assert isinstance(older, EvalScored)
    (component,) = older.components
    added = full.components[-1]
    changed: dict[str, dict[str, object]] = {
        "component": {"components": (msgspec.structs.replace(component, name="tone"),)},
        "match type": {"components": (msgspec.structs.replace(component, findings=added.findings),)},
        "failure": {"failure": "judge"},
        "verdict": {"components": (msgspec.structs.replace(component, verdict=added.verdict),)},
        "judge": {"judge": full.judge},
        "embeddings": {"embeddings": full.embeddings},
    }
    draft = VOCABULARY.draft_of(msgspec.structs.replace(older, **changed[change]))
    assert draft.name == "eval.scored.v3"
    line = line_of("eval.scored.v3", draft.data)
    assert VOCABULARY.event(line).data == draft.data
    with pytest.raises(InvalidEvent):
        VOCABULARY.draft(msgspec.json.encode({"type": "eval.scored.v2", "data": msgspec.to_builtins(draft.data)}))


def test_a_payload_of_one_version_stays_as_it_is() -> None:
    amended = SAMPLES["decision.amended.v1"]
    assert VOCABULARY.draft_of(amended).data is amended
    old = SAMPLES["decision.recorded.v1"]
    assert VOCABULARY.draft_of(old).data is old


@pytest.mark.parametrize("name", VERSIONS)
def test_the_old_version_does_not_have_the_new_fields(name: str) -> None:
    for field in VERSIONS[name][2]:
        body = {"type": f"{name}.v1", "data": {**msgspec.to_builtins(SAMPLES[f"{name}.v1"]), field: "x"}}
        with pytest.raises(InvalidEvent, match=field):
            VOCABULARY.draft(msgspec.json.encode(body))


def test_every_version_of_a_payload_by_name() -> None:
    assert VOCABULARY.names_of(DecisionRecorded) == ("decision.recorded.v1", "decision.recorded.v2")
    assert VOCABULARY.names_of(ProbeScored, EvalScored) == (
        "probe.scored.v1", "probe.scored.v2", "eval.scored.v1", "eval.scored.v2", "eval.scored.v3",
    )  # fmt: skip

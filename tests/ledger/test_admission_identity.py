"""Ids: retries find the first answer, other content is refused, made ids are UUIDs in order."""

import random
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from events.decision import DecisionAmended, DecisionRecorded, DecisionThought
from events.envelope import Draft
from events.errors import InvalidEvent
from events.limits import BATCH_EVENTS_MAX, LINE_BYTES_MAX
from events.registry import VOCABULARY
from ledger.admission import assign_stream_id, prepare
from ledger.clock import microseconds
from ledger.errors import IdentityConflict, LineTooLong
from tests.ledger.given import NOON, given
from tests.ledger.run_vocabulary import (
    RunStarted,
    draft,
    finish,
    score,
    start,
    step,
)
from tests.support.drafts import draft_of

STARTED, STEPPED = "run.started.v1", "run.stepped.v1"


def test_a_retry_gives_the_first_place_and_writes_nothing() -> None:
    scene = given(start("a", id="1"), step("a", id="2"))
    scene.when(start("a", id="1")).then()
    (placed,) = scene.placed
    assert (placed.position, placed.id, placed.subject, placed.streamversion) == (1, "1", "run/a", 1)
    assert placed.duplicate


def test_a_retry_is_found_though_its_stream_has_closed_or_moved_on() -> None:
    scene = given(start("a", id="1"), step("a", id="2", expectedversion=1), finish("a", id="3"))
    scene.when(step("a", id="2", expectedversion=1), finish("a", id="3")).then()
    assert [placed.position for placed in scene.placed] == [2, 3]


def test_a_retry_without_a_stream_id_finds_the_stream_that_was_made() -> None:
    scene = given(start(note="n", id="1"))
    (first,) = scene.history
    scene.when(start(note="n", id="1")).then()
    (placed,) = scene.placed
    assert (placed.subject, placed.duplicate) == (first.subject, True)


def test_a_retry_may_name_the_stream_that_was_made() -> None:
    scene = given(start(note="n", id="1"))
    name = scene.history[0].subject.removeprefix("run/")
    scene.when(start(name, note="n", id="1")).then()
    assert scene.placed[0].duplicate


def test_a_retry_beside_new_events_writes_only_those() -> None:
    scene = given(start("a", id="1"))
    scene.when(step("a", id="2"), start("a", id="1"), step("a", id="3")).then(
        ("run/a", 2, STEPPED), ("run/a", 3, STEPPED)
    )
    assert [(placed.position, placed.duplicate) for placed in scene.placed] == [(2, False), (1, True), (3, False)]


def test_the_same_id_twice_in_a_batch_is_written_once() -> None:
    scene = given().when(start(note="n", id="1"), start(note="n", id="1"))
    assert len(scene.rows) == 1
    first, second = scene.placed
    assert (first.duplicate, second.duplicate) == (False, True)
    assert (first.position, first.subject) == (second.position, second.subject)


@pytest.mark.parametrize(
    "other",
    [
        start("a", "other", id="1"),
        start("b", id="1"),
        start(note="other", id="1"),
        step("a", id="1"),
        score("a", id="1"),
        score(id="1"),
    ],
    ids=["note", "stream", "made stream", "type", "family", "made family"],
)
def test_an_id_with_other_content_is_a_conflict(other: Draft) -> None:
    error = (
        given(start("a", id="1")).when(other).refused(IdentityConflict, "id '1' of /agents/tester is taken: position 1")
    )
    assert (error.position, error.event_id, error.index, error.field) == (1, "1", 0, "id")


def test_a_conflict_within_a_batch_refuses_all_of_it() -> None:
    error = given().when(start("a", id="1"), step("a", id="1")).refused(IdentityConflict)
    assert error.index == 1


def test_another_source_has_its_own_ids() -> None:
    scene = given(start("a", id="1")).when(start("b", id="1", source="/agents/other"))
    scene.then(("run/b", 1, STARTED))


def test_a_draft_keeps_the_content_it_was_retried_with() -> None:
    recorded = DecisionRecorded(decision="x", confidence=0.1, tags=("t",), review_by=NOON)
    scene = given(draft_of(recorded, id="1"), vocabulary=VOCABULARY)
    scene.when(draft_of(recorded, id="1")).then()
    moved = DecisionRecorded(decision="x", confidence=0.1, tags=("t",), review_by=NOON.astimezone())
    scene.when(draft_of(moved, id="1")).then()
    scene.when(draft_of(DecisionRecorded(decision="x", confidence=0.2), id="1")).refused(IdentityConflict)


@pytest.mark.parametrize("bad", ["a\nb", "\x00", "\ud800", "a\u200bb", "\x7f"])
def test_an_id_is_printable(bad: str) -> None:
    with pytest.raises(InvalidEvent, match="are not printable") as caught:
        prepare(given().vocabulary, start("a", id=bad), 7)
    assert (caught.value.field, caught.value.index) == ("id", 7)


@pytest.mark.parametrize("subject", ["run/b", "probe/a", "a", ""])
def test_a_subject_is_the_payloads_own(subject: str) -> None:
    with pytest.raises(InvalidEvent, match="is not the stream of this payload, run/a") as caught:
        prepare(given().vocabulary, draft(RunStarted(run_id="a"), subject=subject), 0)
    assert caught.value.field == "subject"
    assert prepare(given().vocabulary, draft(RunStarted(run_id="a"), subject="run/a"), 0).subject == "run/a"


def test_a_stream_id_of_another_shape_is_refused_with_its_index() -> None:
    with pytest.raises(InvalidEvent) as caught:
        prepare(given().vocabulary, step("a/b"), 3)
    assert (caught.value.field, caught.value.index) == ("data.run_id", 3)


def test_made_ids_are_uuids_of_version_7_in_the_order_of_the_log() -> None:
    scene = given()
    for tick in range(4):
        scene.at(NOON + timedelta(milliseconds=tick)).when(*(score(f"{tick}-{number}") for number in range(1000)))
    ids = [row.id for row in scene.history]
    assert len(set(ids)) == 4000
    parsed = [uuid.UUID(one) for one in ids]
    assert {(one.version, one.variant) for one in parsed} == {(7, uuid.RFC_4122)}
    assert [str(one) for one in parsed] == ids
    assert [one.int >> 80 for one in parsed] == [row.recordedtime // 1000 for row in scene.history]
    assert sorted(ids) == ids


def test_made_names_grow_with_the_log_and_differ() -> None:
    entry, rng = prepare(given().vocabulary, start(), 0), random.Random(1)
    names = [assign_stream_id(entry, position, rng).subject for position in range(1, 2**16, 256)]
    assert sorted(names) == names
    near = {assign_stream_id(entry, position, rng).subject for position in range(BATCH_EVENTS_MAX)}
    assert len(near) > BATCH_EVENTS_MAX * 0.99


def test_recordedtime_never_decreases_though_the_clock_jumps_back() -> None:
    scene = given(start("a"), now=NOON)
    for hours in (-1, -24, 0, 1, -1):
        scene.at(NOON + timedelta(hours=hours)).when(step("a"))
    recorded = [row.recordedtime for row in scene.history]
    noon, later = microseconds(NOON), microseconds(NOON + timedelta(hours=1))
    assert recorded == [noon, noon, noon, noon, later, later]
    assert [row.time for row in scene.history] == recorded


def test_a_time_that_is_given_is_kept_and_one_that_is_not_is_the_recording() -> None:
    early = datetime(1990, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
    one, other = start("a"), start("b")
    one.time = early
    row, bare = given().when(one, other).rows
    assert (row.time, row.recordedtime) == (microseconds(early), microseconds(NOON))
    assert scene_time(row.line) == ("1990-01-02T03:04:05.000678Z", "2026-11-21T12:00:00.000000Z")
    assert scene_time(bare.line) == ("2026-11-21T12:00:00.000000Z", "2026-11-21T12:00:00.000000Z")


def scene_time(line: bytes) -> tuple[str, str]:
    event = given().vocabulary.stored(line)
    return event.time, event.recordedtime


@pytest.mark.parametrize("body", [b"0001-01-01T00:00:00+05:00", b"9999-12-31T23:59:59-05:00"])
def test_a_time_outside_the_calendar_in_utc_is_refused(body: bytes) -> None:
    late = VOCABULARY.draft(b'{"type":"decision.recorded.v1","time":"' + body + b'","data":{"decision":"x"}}')
    late.source = "/agents/a"
    scene = given(vocabulary=VOCABULARY)
    error = scene.when(draft_of(DecisionRecorded(decision="x")), late).refused(InvalidEvent, "time cannot be stored")
    assert (error.field, error.index) == ("time", 1)


def test_a_text_that_is_no_unicode_is_refused() -> None:
    error = given().when(start("a", "\ud800")).refused(InvalidEvent, "data cannot be stored")
    assert (error.field, error.index) == ("data", 0)


def test_a_line_is_bounded_to_the_byte() -> None:
    scene = given(draft_of(DecisionRecorded(decision_id="d", decision="x")), vocabulary=VOCABULARY)

    def thought(chars: int) -> Draft:
        return draft_of(DecisionThought(decision_id="d", text="é" + "x" * chars), id="1")

    (row,) = scene.when(thought(0)).rows
    scene.history.pop()
    space = LINE_BYTES_MAX - len(row.line)
    error = scene.when(thought(space + 1)).refused(LineTooLong, "is 65,536 bytes as a line; at most 65,535")
    assert (error.field, error.index) == ("data", 0)
    (row,) = scene.when(thought(space)).rows
    assert len(row.line) == LINE_BYTES_MAX


def test_an_amendment_can_be_retried() -> None:
    amended = DecisionAmended(decision_id="d", tags=())
    history = draft_of(DecisionRecorded(decision_id="d", decision="x")), draft_of(amended, id="2")
    scene = given(*history, vocabulary=VOCABULARY)
    scene.when(draft_of(amended, id="2")).then()
    assert scene.placed[0].duplicate

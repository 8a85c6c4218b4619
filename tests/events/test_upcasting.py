"""Old shapes are read as new ones; the stored ones stay as they are."""

import msgspec
import pytest

from events.envelope import Event, Line, encode_line
from events.life import Life
from events.payload import Payload, StreamId
from events.vocabulary import EventType, Vocabulary


class NotedOnce(Payload, frozen=True, kw_only=True):
    """The first shape: one text."""

    note_id: StreamId
    text: str


class NotedTwice(Payload, frozen=True, kw_only=True):
    """The second shape: a title and a body."""

    note_id: StreamId
    title: str
    body: str


class NotedThrice(Payload, frozen=True, kw_only=True):
    """The third shape: the body as paragraphs."""

    note_id: StreamId
    title: str
    paragraphs: tuple[str, ...]


def second(old: NotedOnce) -> NotedTwice:
    title, _, body = old.text.partition(": ")
    return NotedTwice(note_id=old.note_id, title=title, body=body)


def third(old: NotedTwice) -> NotedThrice:
    return NotedThrice(note_id=old.note_id, title=old.title, paragraphs=tuple(old.body.split("|")))


def kind(version: int, payload: type[Payload]) -> EventType:
    return EventType(f"note.made.v{version}", payload, "note", "note_id", Life.SINGLE)


ONE, TWO, THREE = kind(1, NotedOnce), kind(2, NotedTwice), kind(3, NotedThrice)
OLD = NotedOnce(note_id="n", text="Title: one|two")
MIDDLE = NotedTwice(note_id="n", title="Title", body="one|two")
NEW = NotedThrice(note_id="n", title="Title", paragraphs=("one", "two"))
UP_TO_TWO = Vocabulary([ONE, TWO], {"note.made.v1": second})
UP_TO_THREE = Vocabulary([ONE, TWO, THREE], {"note.made.v1": second, "note.made.v2": third})


def line(type_: str, data: Payload) -> bytes:
    return encode_line(
        Line(
            specversion="1.0",
            id="7",
            source="/agents/a",
            type=type_,
            subject="note/n",
            time="2026-01-01T00:00:00.000000Z",
            recordedtime="2026-01-02T00:00:00.000000Z",
            position=9,
            streamversion=1,
            correlationid="c",
            data=data,
        )
    )


def attributes(event: Event) -> dict[str, object]:
    return {name: getattr(event, name) for name in event.__struct_fields__ if name != "data"}


@pytest.mark.parametrize(
    ("vocabulary", "type_", "data", "current", "expected"),
    [
        (UP_TO_TWO, "note.made.v1", OLD, "note.made.v2", MIDDLE),
        (UP_TO_TWO, "note.made.v2", MIDDLE, "note.made.v2", MIDDLE),
        (UP_TO_THREE, "note.made.v1", OLD, "note.made.v3", NEW),
        (UP_TO_THREE, "note.made.v2", MIDDLE, "note.made.v3", NEW),
        (UP_TO_THREE, "note.made.v3", NEW, "note.made.v3", NEW),
    ],
)
def test_reading_gives_the_current_shape(
    vocabulary: Vocabulary, type_: str, data: Payload, current: str, expected: Payload
) -> None:
    stored = line(type_, data)
    one, (many, again) = vocabulary.event(stored), vocabulary.events(stored + b"\n" + stored)
    for event in (one, many, again):
        assert (event.name, event.data) == (current, expected)
        assert attributes(event) == attributes(vocabulary.stored(stored))


def test_stored_gives_the_shape_as_written() -> None:
    event = UP_TO_THREE.stored(line("note.made.v1", OLD))
    assert (event.name, event.data) == ("note.made.v1", OLD)


def test_without_an_upcaster_a_shape_is_current() -> None:
    plain = Vocabulary([ONE, TWO])
    (event,) = plain.events(line("note.made.v1", OLD))
    assert (event.name, event.data) == ("note.made.v1", OLD)


def test_old_shapes_may_still_be_posted() -> None:
    draft = UP_TO_TWO.draft(msgspec.json.encode({"type": "note.made.v1", "data": OLD}))
    assert (draft.name, draft.data) == ("note.made.v1", OLD)


def test_no_lines_are_no_events() -> None:
    assert UP_TO_TWO.events(b"") == []

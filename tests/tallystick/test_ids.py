"""Ids: what the standard says of them, and what the ledger makes of retries by them."""

import threading
import uuid

from hypothesis import given
from hypothesis import strategies as st

from events.limits import EVENT_ID_CHARS_MAX, STREAM_ID_CHARS_MAX
from tallystick.event_drafts import Drafts
from tallystick.ids import EventIds, derived_event_id, new_event_id, new_stream_id

TIMES = st.lists(st.integers(0, 2**47), max_size=50)


@given(TIMES)
def test_event_ids_are_of_version_7_and_increase_whatever_the_clock_does(times: list[int]) -> None:
    ids = EventIds()
    made = [ids.make(ms) for ms in times]
    assert made == sorted(set(made))
    latest = 0
    for ms, text in zip(times, made, strict=True):
        one = uuid.UUID(text)
        latest = max(latest, ms)
        assert (one.version, one.variant, str(one)) == (7, uuid.RFC_4122, text)
        assert 0 <= (one.int >> 80) - latest <= len(times)


def test_more_ids_than_a_millisecond_can_count_still_increase() -> None:
    ids = EventIds()
    made = [ids.make(1_000) for _ in range(10_000)]
    assert made == sorted(set(made))


def test_threads_share_no_id() -> None:
    ids = EventIds()
    made: list[list[str]] = [[] for _ in range(4)]

    def make(own: list[str]) -> None:
        own.extend(ids.make() for _ in range(2_000))

    threads = [threading.Thread(target=make, args=(own,)) for own in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one for own in made for one in own}) == 8_000


@given(st.lists(st.text(max_size=80), min_size=1, max_size=4))
def test_a_derived_id_follows_from_its_parts_alone(parts: list[str]) -> None:
    first = derived_event_id(*parts)
    assert first == derived_event_id(*parts)
    assert len(first) == 36
    assert first != derived_event_id(*parts, "more")


def test_stream_ids_are_short_and_differ() -> None:
    made = {new_stream_id() for _ in range(1_000)}
    assert len(made) == 1_000
    assert {len(one) for one in made} == {20}
    assert new_event_id() != new_event_id()


@given(st.from_regex(rf"[A-Za-z0-9._-]{{1,{STREAM_ID_CHARS_MAX}}}", fullmatch=True), st.lists(st.text(max_size=5)))
def test_a_decision_of_a_given_id_is_the_same_in_every_process(decision_id: str, thoughts: list[str]) -> None:
    first, second = (
        Drafts("scout").record("Decide", {"decision_id": decision_id, "thoughts": thoughts, "question": "q"})
        for _ in range(2)
    )
    assert first == second
    assert len({draft["id"] for draft in first}) == len(first) == 2
    assert all(len(draft["id"]) <= EVENT_ID_CHARS_MAX for draft in first)

"""Stream versions in bounded memory are judged as they are with all of them in memory."""

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.verify import Check
from ledger.verify import stream_versions as module
from ledger.verify.stream_versions import StreamVersionCheck


class Placed(NamedTuple):
    position: int
    subject: str
    streamversion: int
    type: str = "step"


def judged(
    events: list[tuple[int, int]], page: int, *, whole: bool, last: int | None = None, reopens: bool = False
) -> Check:
    """Check events; those with the version `last` close their stream, and those with the next one reopen it."""
    check = Check("stream versions", "streams")
    streams = StreamVersionCheck(check, {"end"}, {"reopen"} if reopens else (), complete=whole)
    types = {} if last is None else {last: "end", last + 1: "reopen" if reopens else "step"}
    placed = [
        Placed(at, f"decision/{stream}", version, types.get(version, "step"))
        for at, (stream, version) in enumerate(events, 1)
    ]
    for start in range(0, len(placed), page):
        some = placed[start : start + page]
        streams.add(some, [one.position for one in some])
    streams.end()
    return check


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Events as (stream, version): right ones, of which some are changed, left out or doubled."""
    heads: dict[int, int] = {}
    events = []
    for stream in draw(st.lists(st.integers(0, 9), max_size=60)):
        heads[stream] = heads.get(stream, 0) + 1
        events.append((stream, heads[stream]))
    for _ in range(draw(st.integers(0, 2)) if events else 0):
        at = draw(st.integers(0, len(events) - 1))
        stream, version = events[at]
        events[at : at + 1] = draw(
            st.sampled_from([[], [(stream, version)] * 2, [(stream, version + 1)], [(stream, 0)]])
        )
        if not events:
            break
    return events


@settings(max_examples=60, deadline=None)
@given(histories(), st.integers(1, 7), st.integers(1, 12), st.booleans(), st.none() | st.integers(1, 5), st.booleans())
def test_runs_on_disk_find_what_memory_finds(
    events: list[tuple[int, int]], page: int, most: int, whole: bool, last: int | None, reopens: bool
) -> None:
    in_memory = judged(events, page, whole=whole, last=last, reopens=reopens)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "STREAMS_MAX", most)
        on_disk = judged(events, page, whole=whole, last=last, reopens=reopens)
    assert on_disk.count == in_memory.count
    assert on_disk.right == in_memory.right
    found = {fault.position for fault in in_memory.faults}
    assert {fault.position for fault in on_disk.faults} <= found
    if found:
        assert min(fault.position or 0 for fault in on_disk.faults) == min(position or 0 for position in found)


@pytest.mark.parametrize(
    ("types", "wrong"),
    [
        (["step", "end", "reopen", "step", "end"], []),
        (["step", "end", "reopen", "end", "reopen"], []),
        (["step", "end", "step"], [3]),
        (["step", "reopen", "step"], [2]),
        (["step", "end", "reopen", "reopen"], [4]),
        (["reopen", "step"], [1]),
    ],
)
@pytest.mark.parametrize("most", [1, 1_000])
def test_only_a_closed_stream_is_reopened(types: list[str], wrong: list[int], most: int) -> None:
    check = Check("stream versions", "streams")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "STREAMS_MAX", most)
        streams = StreamVersionCheck(check, {"end"}, {"reopen"}, complete=True)
        for at, type_ in enumerate(types, 1):
            pair = [Placed(2 * at, "run/a", at, type_), Placed(2 * at + 1, "run/b", at)]
            streams.add(pair, [placed.position for placed in pair])
        streams.end()
    assert [fault.position for fault in check.faults] == [2 * at for at in wrong]

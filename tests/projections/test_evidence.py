"""The evidence view: what was kept, what was erased, and nothing else that moves it."""

from collections.abc import Sequence
from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from events.decision import DecisionRecorded
from events.envelope import Draft, EventFacts
from events.evidence import EvidenceErased, EvidenceStored
from projections.evidence_index import EvidenceIndex
from tests.projections.random_histories import events_of
from tests.support.drafts import draft_of

DIGESTS = [f"{number:064x}" for number in range(6)]


def stored(number: int, size_bytes: int = 10) -> Draft:
    payload = EvidenceStored(
        digest=DIGESTS[number], size_bytes=size_bytes, media_type="text/plain", note=f"piece {number}"
    )
    return draft_of(payload, source="/agents/ada")


def erased(number: int) -> Draft:
    return draft_of(EvidenceErased(digest=DIGESTS[number], reason=f"reason {number}"), source="/agents/bo")


def folded(events: Sequence[EventFacts]) -> EvidenceIndex:
    projection = EvidenceIndex()
    projection.fold(events)
    return projection


@st.composite
def histories(draw: st.DrawFn) -> list[Draft]:
    """Pieces kept and erased, each in its order, with decisions among them."""
    drafts: list[Draft] = []
    kept: list[int] = []
    fresh = draw(st.permutations(range(len(DIGESTS))))
    for verb in draw(st.lists(st.sampled_from(["keep", "erase", "decide"]), max_size=15)):
        if verb == "keep" and fresh:
            kept.append(fresh.pop())
            drafts.append(stored(kept[-1], draw(st.integers(0, 1000))))
        elif verb == "erase" and kept:
            drafts.append(erased(kept.pop(draw(st.integers(0, len(kept) - 1)))))
        elif verb == "decide":
            drafts.append(draft_of(DecisionRecorded(decision_id=f"d{len(drafts)}", decision="x"), source="/agents/ada"))
    return drafts


def test_an_entry_has_its_position_and_its_erasure() -> None:
    events = events_of([stored(1), stored(2, 7), erased(1)])
    projection = folded(events)
    entries = {entry.digest: entry for entry in projection.page(0, 100)}
    assert entries.keys() == {DIGESTS[1], DIGESTS[2]}
    entry = entries[DIGESTS[1]]
    assert (entry.digest, entry.size_bytes, entry.media_type, entry.note) == (
        DIGESTS[1], 10, "text/plain", "piece 1",
    )  # fmt: skip
    assert (entry.position, entry.agent, entry.time) == (1, "ada", events[0].time)
    assert entry.erased is not None
    assert (entry.erased.position, entry.erased.agent, entry.erased.reason) == (3, "bo", "reason 1")
    assert datetime.fromisoformat(entry.erased.time) == events[2].moment
    assert entries[DIGESTS[2]].erased is None
    assert projection.summary() == {"kept": 1, "erased": 1, "kept_bytes": 7}


@given(drafts=histories(), cuts=st.lists(st.integers(0, 15), max_size=3), offset=st.integers(0, 2**63), data=st.data())
@settings(max_examples=150, deadline=None)
def test_it_is_what_a_plain_list_says(drafts: list[Draft], cuts: list[int], offset: int, data: st.DataObject) -> None:
    events = events_of(drafts) if drafts else []
    kept = {e.data.digest: e.data.size_bytes for e in events if isinstance(e.data, EvidenceStored)}
    gone = {e.data.digest for e in events if isinstance(e.data, EvidenceErased)}

    projection = EvidenceIndex()
    edges = sorted({0, *(min(cut, len(events)) for cut in cuts), len(events)})
    for start, end in zip(edges, [*edges[1:], None], strict=True):
        projection.fold(events[start:end])
    assert projection.encode() == folded(events).encode(), "how it is cut into runs makes no difference"
    assert EvidenceIndex.decode(projection.encode()).encode() == projection.encode()

    for one in (projection, EvidenceIndex.decode(projection.encode())):
        assert {entry.digest: entry.size_bytes for entry in one.page(0, 100)} == kept
        assert {entry.digest for entry in one.page(0, 100) if entry.erased is not None} == gone
        assert one.summary() == {
            "kept": len(kept) - len(gone),
            "erased": len(gone),
            "kept_bytes": sum(size for digest, size in kept.items() if digest not in gone),
        }
        limit = data.draw(st.integers(1, 1000))
        assert one.page(offset, limit) == one.page(0, 100)[offset : offset + limit]

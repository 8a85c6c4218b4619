"""Histories of a ledger as programs make them: appends, retries, mistakes, use cases, evidence, reads and exports.

Each step says all that it posts, so that it can be done on any event store: an answer is a value, or a refusal.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st
from msgspec import structs

from api.service.decision_writer import DecisionRequest
from api.service.evidence import Blob
from api.service.store import LINK, RETRACTION, REVIEW, EventStore
from events.decision import DecisionRecorded, DecisionRetracted, DecisionReviewed
from events.envelope import Draft
from events.errors import TallystickError
from events.link import DecisionLinked
from events.registry import VOCABULARY
from ledger.log import Query
from tests.events.samples import SAMPLES
from tests.projections.random_histories import AGENTS, MOMENTS, OUTCOMES, confidences, everything, words

NAMES = ("d0", "d1", "d2", "r0", "t0", "m0", "e0", "model-a", "none")
"""Names of streams: of those that `everything` makes, and one that it does not."""

SOURCES = tuple(f"/agents/{agent}" for agent in AGENTS)
TYPES = tuple(sorted(SAMPLES))
TEXTS = (b"the answer", b"another answer", "caf\u00e9".encode())


class Appends(NamedTuple):
    """Append a batch."""

    drafts: Sequence[Draft]

    async def answer(self, store: EventStore) -> object:
        return await store.append([structs.replace(draft) for draft in self.drafts])


class Records(NamedTuple):
    """Record a decision, and what belongs to it."""

    decision: DecisionRecorded
    event_id: str
    source: str
    question: str | None

    async def answer(self, store: EventStore) -> object:
        request = DecisionRequest(decision=self.decision, event_id=self.event_id, question=self.question)
        return await store.record_decision(request, source=self.source)


class Reviews(NamedTuple):
    """Review a decision."""

    review: DecisionReviewed
    event_id: str
    source: str

    async def answer(self, store: EventStore) -> object:
        return await store.submit(REVIEW, self.review, event_id=self.event_id, source=self.source)


class Retracts(NamedTuple):
    """Retract a decision."""

    retraction: DecisionRetracted
    event_id: str
    source: str

    async def answer(self, store: EventStore) -> object:
        return await store.submit(RETRACTION, self.retraction, event_id=self.event_id, source=self.source)


class Links(NamedTuple):
    """Link two decisions."""

    link: DecisionLinked
    event_id: str
    source: str

    async def answer(self, store: EventStore) -> object:
        return await store.submit(LINK, self.link, event_id=self.event_id, source=self.source)


class Stores(NamedTuple):
    """Store a piece of evidence, read it, and perhaps erase it."""

    data: bytes
    erases: bool

    async def answer(self, store: EventStore) -> object:
        stored = await store.put(Blob(self.data))
        content = await store.evidence(stored.digest)
        erased = await store.erase(stored.digest, "no longer needed") if self.erases else None
        return stored, content, erased


class ReadsStreams(NamedTuple):
    """Read some streams."""

    subjects: tuple[str, ...]
    types: tuple[str, ...]

    async def answer(self, store: EventStore) -> object:
        pages = [page.decode() async for page in store.pages(self.types, self.subjects)]
        return (await store.streams(self.subjects, self.types)).decode(), pages


class Looks(NamedTuple):
    """Read a page of the log. Only the driver of a ledger in this process can do it."""

    query: Query


class Exports(NamedTuple):
    """Export, by the parameters of a request. Only the driver of a ledger in this process can do it."""

    parameters: dict[str, str]


class Reopens(NamedTuple):
    """Close the ledger and open it again. Only the driver of a ledger in this process can do it."""


Step = Appends | Records | Reviews | Retracts | Links | Stores | ReadsStreams | Looks | Exports | Reopens


async def answered(step: Step, store: EventStore) -> object:
    """What a store answers: a value, or the error in its words."""
    assert not isinstance(step, Looks | Exports | Reopens)
    try:
        return await step.answer(store)
    except TallystickError as error:
        return type(error).__name__, error.detail, error.advice


_source = st.sampled_from(SOURCES)
_name = st.sampled_from(NAMES)
_event_id = st.integers(0, 30).map(lambda number: f"own-{number}")
"""Few, so that some are taken: a retry if all else is the same, and otherwise a conflict."""


def misfit(type_: str, name: str, source: str, event_id: str | None, expected: int | None) -> Appends:
    """A sample of any type on any stream: its place in the life of the stream is seldom right."""
    kind = VOCABULARY.event_types[type_]
    payload = SAMPLES[type_]
    payload = structs.replace(payload, **{kind.id_field: name})
    return Appends([kind.draft(data=payload, source=source, id=event_id, expectedversion=expected)])


_queries = st.builds(
    Query,
    after=st.integers(0, 12),
    before=st.none() | st.integers(1, 60),
    limit=st.integers(1, 20),
    order=st.sampled_from(("asc", "desc")),
    types=st.lists(st.sampled_from(TYPES), max_size=3).map(tuple),
    subjects=st.lists(_name.map(lambda name: f"decision/{name}"), max_size=2).map(tuple),
    source=st.none() | _source,
    since_us=st.none() | st.sampled_from([int(moment.timestamp() * 1e6) for moment in MOMENTS if moment is not None]),
    until_us=st.none() | st.sampled_from([int(moment.timestamp() * 1e6) for moment in MOMENTS if moment is not None]),
    correlationid=st.sampled_from((None, None, "task-1")),
    walk=st.booleans(),
    firsts=st.sampled_from(("", "decision")),
)

_selections = st.fixed_dictionaries(
    {},
    optional={
        "type": st.just("decision.recorded.v2,decision.reviewed.v1"),
        "format": st.sampled_from(("ndjson", "csv")),
        "agent": st.sampled_from(AGENTS),
        "gzip": st.just("true"),
        "evidence": st.just("true"),
    },
)

_others: st.SearchStrategy[Step] = st.one_of(
    st.builds(misfit, st.sampled_from(TYPES), _name, _source, st.none() | _event_id, st.none() | st.integers(0, 3)),
    st.builds(
        Records,
        st.builds(DecisionRecorded, decision_id=_name, decision=words, confidence=st.none() | confidences),
        _event_id,
        _source,
        st.sampled_from((None, "q1")),
    ),
    st.builds(
        Reviews, st.builds(DecisionReviewed, decision_id=_name, outcome=st.sampled_from(OUTCOMES)), _event_id, _source
    ),
    st.builds(Retracts, st.builds(DecisionRetracted, decision_id=_name, reason=words), _event_id, _source),
    st.builds(
        Links,
        st.builds(
            lambda names, link: DecisionLinked(
                link_id=f"own-{link}", source_id=names[0], target_id=names[1], edge_type="relates_to"
            ),
            st.permutations(NAMES),
            st.integers(0, 9),
        ),
        _event_id,
        _source,
    ),
    st.builds(Stores, st.sampled_from(TEXTS), st.booleans()),
    st.builds(
        ReadsStreams,
        st.lists(_name.map(lambda name: f"decision/{name}"), min_size=1, max_size=3).map(tuple),
        st.lists(st.sampled_from(TYPES), max_size=2).map(tuple),
    ),
)
_local: st.SearchStrategy[Step] = st.one_of(
    st.builds(Looks, _queries), st.builds(Exports, _selections), st.builds(Reopens)
)


@st.composite
def histories(draw: st.DrawFn, *, local: bool, max_events: int = 40) -> list[Step]:
    """Histories: valid batches, with retries of them and other steps in between. `local` ones may reopen the ledger."""
    drafts = draw(everything(max_events, min_size=max_events // 2))
    for number, draft in enumerate(drafts):
        draft.id = f"e{number}"
        draft.correlationid = "task-1" if number % 5 == 0 else None
    steps: list[Step] = []
    done = 0
    others = _others | _local if local else _others
    while done < len(drafts):
        size = draw(st.integers(1, 6))
        steps.append(Appends(drafts[done : done + size]))
        done += size
        steps += draw(st.lists(others, min_size=1, max_size=3))
        if draw(st.integers(0, 3)) == 0:
            steps.append(_again(draw, [step for step in steps if isinstance(step, Appends)]))
    return steps


def _again(draw: st.DrawFn, before: Sequence[Appends]) -> Appends:
    """A batch again: all of it, a part, two batches in one, or with other content."""
    chosen = draw(st.sampled_from(before))
    way = draw(st.sampled_from(("same", "part", "longer", "other")))
    if way == "part":
        return Appends(chosen.drafts[:1])
    if way == "longer":
        more = draw(st.sampled_from(before))
        return Appends([*itertools.chain(chosen.drafts, more.drafts)])
    if way == "other":
        others = draw(st.sampled_from(before))
        return Appends([structs.replace(others.drafts[0], id=chosen.drafts[0].id)])
    return chosen

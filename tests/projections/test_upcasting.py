"""A fold knows current shapes only: a log of the old shape, upcast, gives the state that one of the new shape gives."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from events.envelope import Draft, EventFacts
from events.life import Life
from events.payload import Payload, StreamId
from events.vocabulary import EventType, Vocabulary
from projections.projection import Projection
from tests.projections.open_ledgers import compare_with_replay, encoded, engine
from tests.support.drafts import draft_of
from tests.support.event_loop import run


class Measured(Payload, frozen=True, kw_only=True):
    """As it was first published: seconds."""

    probe_id: StreamId
    elapsed_s: float


class MeasuredAnew(Payload, frozen=True, kw_only=True):
    """As it is now: milliseconds, whole."""

    probe_id: StreamId
    elapsed_ms: int


def anew(old: Measured) -> MeasuredAnew:
    return MeasuredAnew(probe_id=old.probe_id, elapsed_ms=round(old.elapsed_s * 1000))


FIRST = Vocabulary([EventType("probe.measured.v1", Measured, "probe", "probe_id", Life.SINGLE)])
BOTH = Vocabulary(
    [*FIRST.event_types.values(), EventType("probe.measured.v2", MeasuredAnew, "probe", "probe_id", Life.SINGLE)],
    {"probe.measured.v1": anew},
)


class Slowest(Projection):
    """The longest time of each probe, in the new unit."""

    name: ClassVar[str] = "slowest"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (MeasuredAnew,)

    def __init__(self, slowest: dict[str, int] | None = None) -> None:
        self.slowest = slowest if slowest is not None else {}

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            assert isinstance(event.data, MeasuredAnew), "the fold sees no old shape"
            self.slowest[event.subject] = max(event.data.elapsed_ms, self.slowest.get(event.subject, 0))

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(self.slowest)

    @classmethod
    def decode(cls, state: bytes) -> Self:
        return cls(msgspec.msgpack.decode(state, type=dict[str, int]))

    def summary(self) -> Mapping[str, object]:
        return dict(self.slowest)


def old(number: int) -> Draft:
    return draft_of(Measured(probe_id=f"p{number}", elapsed_s=number / 8), vocabulary=BOTH)


def new(number: int) -> Draft:
    return draft_of(MeasuredAnew(probe_id=f"p{number}", elapsed_ms=number * 125), vocabulary=BOTH)


async def folded(path: Path, drafts: Sequence[Draft]) -> dict[str, tuple[bytes, str]]:
    """Append half, fold, restart, append the rest. Check the state against a replay, at the end and half way."""
    half = len(drafts) // 2
    async with engine(path, (Slowest,), vocabulary=BOTH) as opened:
        await opened.log.append(drafts[:half])
        await opened.engine.catch_up()
        before = encoded(opened.engine)
    async with engine(path, (Slowest,), vocabulary=BOTH) as opened:
        assert encoded(opened.engine) == before
        await opened.log.append(drafts[half:])
        assert all(comparison.same for comparison in await compare_with_replay(opened.engine))
        assert encoded([(await opened.engine.at(Slowest, half))[0]]) == before
        return encoded(opened.engine)


def test_old_shapes_new_shapes_and_both_fold_alike(tmp_path: Path) -> None:
    states = [
        run(folded(tmp_path / "old.db", [old(number) for number in range(20)])),
        run(folded(tmp_path / "new.db", [new(number) for number in range(20)])),
        run(folded(tmp_path / "both.db", [(old if number % 3 else new)(number) for number in range(20)])),
    ]
    assert states[0] == states[1] == states[2]


def test_a_log_written_before_the_new_shape_was_known(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with engine(path, (), vocabulary=FIRST) as opened:
            drafts = [
                draft_of(Measured(probe_id=f"p{number}", elapsed_s=number / 8), vocabulary=FIRST) for number in range(5)
            ]
            await opened.log.append(drafts)
        async with engine(path, (Slowest,), vocabulary=BOTH) as opened:
            state, position = await opened.engine.at(Slowest)
            assert (state.slowest["probe/p4"], position) == (500, 5)

    run(scenario())

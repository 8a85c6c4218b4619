"""Search by vectors: the pieces of the log (`vector_pieces.py`) with the vectors of the file (`vector_file.py`).

A search first folds the new events of the log, and stores the vectors that callers supplied. Vectors of texts come from
an endpoint, which the caller asks: `next_texts` names the texts, and `put` stores their vectors.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from events.thought import ThoughtAdopted
from events.vector import unpack_vector
from ledger.threads import run_on_thread
from projections.arrays import Floats, RowNumbers
from projections.decisions.decision_numbers import DecisionNumbers
from projections.decisions.vector_file import VectorFile
from projections.decisions.vector_pieces import Key, VectorPieces
from projections.engine import Engine
from projections.event_slice import EventSlice

FOLD_EVENTS = 200
"""Events folded before short requests get a turn."""

Rest = Callable[[], Awaitable[None]]
"""Lets short requests go first, between two parts of long work."""


class MissingText(NamedTuple):
    """A text without a vector, with its key."""

    key: Key
    text: str


class VectorCounts(NamedTuple):
    """How many vectors there are, and how many texts have none yet."""

    vectors: int
    missing: int


class VectorSearch:
    """The vectors of one ledger and one model. Concurrent calls run one after another.

    With `texts`, every text of a decision has or needs a vector; without, only supplied vectors count.
    """

    def __init__(self, path: Path, engine: Engine, secret: bytes | None, model: str, *, texts: bool) -> None:
        self.model = model
        self._path = path
        self._engine = engine
        self._secret = secret
        self._texts = texts
        self._pieces = VectorPieces(model, texts=texts)
        self._file: VectorFile | None = None
        self._left_out = 0
        self._turn = asyncio.Lock()

    @property
    def size(self) -> int:
        """Numbers of a vector: that of the first supplied one, else that of the file; 0 while there is none."""
        return self._pieces.size or (self._file.size if self._file is not None else 0)

    async def close(self) -> None:
        """Close the file."""
        async with self._turn:
            file, self._file = self._file, None
            if file is not None:
                await run_on_thread(file.close)

    async def catch_up(self, upto: int, numbers: DecisionNumbers, rest: Rest) -> VectorCounts:
        """Fold the events up to a position. `numbers` has the decisions up to it."""
        async with self._turn:
            file = await self._catch_up(upto, numbers, rest)
            missing = await run_on_thread(self._pieces.count_missing, file.ids) if self._texts else 0
            return VectorCounts(len(file.ids), missing)

    async def find(
        self, vector: Sequence[float], upto: int, numbers: DecisionNumbers, rest: Rest
    ) -> tuple[RowNumbers, Floats, int]:
        """Return the decisions with a vector as of a position, their cosine distances, and how many texts lack one.

        Errors: ValueError, for a vector of another size.
        """
        async with self._turn:
            file = await self._catch_up(upto, numbers, rest)
            if self.size and len(vector) != self.size:
                raise ValueError(
                    f"must have {self.size:,} numbers, as every vector of {self.model}, got {len(vector):,}"
                )
            nearest, missing = await run_on_thread(self._nearest, file, vector, upto, len(numbers))
            found = np.flatnonzero(~np.isnan(nearest))
            return found, nearest[found], missing

    async def next_texts(self, limit: int) -> list[MissingText]:
        """Return texts of folded events that have no vector: those that are valid now first, the newest first."""
        async with self._turn:
            if self._file is None:
                return []
            missing = await run_on_thread(self._pieces.missing, self._file.ids, limit)
            streams = await self._engine.events.read_streams(
                sorted({subject for _, subject, _ in missing}), self._pieces.position
            )
            return [MissingText(key, self._pieces.text_at(streams[subject], at)) for key, subject, at in missing]

    async def put(self, vectors: Mapping[Key, Sequence[float]]) -> None:
        """Store vectors of texts. Errors: ValueError, for another size than the others have; nothing was written."""
        async with self._turn:
            for vector in vectors.values():
                if self.size and len(vector) != self.size:
                    raise ValueError(
                        f"gave {len(vector):,} numbers, where the vectors of {self.model} have {self.size:,}"
                    )
            if self._file is not None:
                await run_on_thread(self._file.put, vectors)

    def _nearest(self, file: VectorFile, vector: Sequence[float], upto: int, count: int) -> tuple[Floats, int]:
        missing = self._pieces.count_missing(file.ids) if self._texts else 0
        return self._pieces.nearest(upto, file.ids, file.distances(vector), count), missing

    async def _catch_up(self, upto: int, numbers: DecisionNumbers, rest: Rest) -> VectorFile:
        file = self._file
        if file is None:
            file = VectorFile(self._path, self.model, self._secret)
            await run_on_thread(file.open)
            self._file = file
        if len(self._engine.left_out) != self._left_out:
            self._left_out = len(self._engine.left_out)
            self._pieces = VectorPieces(self.model, texts=self._texts)
        if self._pieces.position < upto:
            async with aclosing(self._engine.events.read_slices(self._pieces.position, upto)) as slices:
                async for events in slices:
                    for at in range(0, len(events), FOLD_EVENTS):
                        await self._fold(file, events[at : at + FOLD_EVENTS], upto, numbers)
                        await rest()
            self._pieces.position = upto
        return file

    async def _fold(self, file: VectorFile, events: EventSlice, upto: int, numbers: DecisionNumbers) -> None:
        changed = self._pieces.changed_streams(events)
        streams = await self._engine.events.read_streams(changed, events[-1].position)
        adopting = {f"decision/{event.data.decision_id}" for event in events if isinstance(event.data, ThoughtAdopted)}
        recorded = await self._engine.names.first_positions(list(adopting), upto)
        rows = ((subject, numbers.row(position)) for subject, position in recorded.items())
        places = numbers.places(events) | {subject: row for subject, row in rows if row is not None}
        supplied = await run_on_thread(self._pieces.fold, events, streams, places)
        unknown = {key: unpack_vector(vector) for key, vector in supplied.items() if key not in file.ids}
        if unknown:
            await run_on_thread(file.put, unknown)

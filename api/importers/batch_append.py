"""Append events in batches, one after another, and prepare the next batch while one is written."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Self, TypeVar

import msgspec

from api.service.store import EventStore
from events.envelope import Draft
from events.errors import InvalidEvent, TallystickError
from events.limits import BATCH_BYTES_MAX
from ledger.errors import AppendRefused

BATCH_EVENTS = 1000

STREAMS_MAX = 100
"""Streams that are read in one request: so many of the longest names make a request line of 8 KB."""

_encode = msgspec.json.Encoder().encode
_Item = TypeVar("_Item")


class Batch(NamedTuple):
    """Events that are appended together, and the line number of each; `noun` may name another unit than lines."""

    drafts: list[Draft]
    lines: Sequence[int]
    noun: str = "line"


class FileFault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file, or a run of it, that was not imported: the reason, and what to do.

    `conflict`: the ledger has another run with this id, of a run report.
    """

    file: str
    run_id: str | None = None
    field: str | None = None
    detail: str
    advice: str
    conflict: bool = False

    @classmethod
    def of(cls, error: TallystickError, path: str, run_id: str | None = None, advice: str = "") -> Self:
        """Return the fault of a file from an error, with more advice."""
        advice = f"{error.advice} {advice}".strip()
        return cls(file=path, run_id=run_id, field=error.field, detail=error.detail, advice=advice)


class AppendTotals(msgspec.Struct):
    """The events written so far. `first` and `last` are positions, including those of duplicates."""

    appended: int = 0
    duplicates: int = 0
    first: int | None = None
    last: int | None = None


def split_batches(
    items: Iterable[_Item], measure: Callable[[_Item], tuple[int, int]], events_max: int
) -> Iterator[list[_Item]]:
    """Yield items that are appended together, at least one; `measure` returns the events and bytes of one."""
    part: list[_Item] = []
    events = size_bytes = 0
    for item in items:
        item_events, item_bytes = measure(item)
        events, size_bytes = events + item_events, size_bytes + item_bytes
        if part and (events > events_max or size_bytes > BATCH_BYTES_MAX):
            yield part
            part, events, size_bytes = [], item_events, item_bytes
        part.append(item)
    if part:
        yield part


def group_batches(
    groups: Iterable[tuple[int, list[Draft]]], noun: str, events_max: int = BATCH_EVENTS
) -> Iterator[Batch]:
    """Yield batches of whole groups. A group is the number of a line (or `noun`) and its events."""

    def measure(group: tuple[int, list[Draft]]) -> tuple[int, int]:
        return len(group[1]), sum(len(_encode(draft)) for draft in group[1])

    for part in split_batches(groups, measure, events_max):
        yield Batch(
            [draft for _, group in part for draft in group], [line for line, group in part for _ in group], noun
        )


async def append_all(drafts: Sequence[Draft], store: EventStore) -> int:
    """Append events in their order, in as many batches as they need; return how many are new.

    Errors: those of `EventStore.append`.
    """
    new = 0
    for batch in split_batches(drafts, lambda draft: (1, len(_encode(draft))), BATCH_EVENTS):
        answer = await store.append(batch)
        new += answer.count - answer.duplicates
    return new


async def append_batches(
    batches: Iterator[Batch], store: EventStore, totals: AppendTotals, name: str, report: Callable[[Batch], None]
) -> None:
    """Append every batch in order and add to `totals`; call `report` with each written batch.

    Errors: those of making or appending a batch, with file, line and the totals written before.
    """
    pending: tuple[Batch, asyncio.Task[None]] | None = None

    async def finish_pending() -> None:
        if pending is None:
            return
        batch, task = pending
        try:
            await task
        except TallystickError as error:
            raise add_location(error, name, batch, totals) from None
        report(batch)

    async def write(batch: Batch) -> None:
        answer = await store.append(batch.drafts)
        totals.appended += answer.count - answer.duplicates
        totals.duplicates += answer.duplicates
        totals.first = answer.first if totals.first is None else min(answer.first, totals.first)
        totals.last = answer.last if totals.last is None else max(answer.last, totals.last)

    while True:
        try:
            batch = await asyncio.to_thread(next, batches, None)
        except UnreadableLine as unreadable:
            await finish_pending()
            raise add_location(unreadable.error, name, Batch([], unreadable.lines), totals) from None
        except TallystickError as error:
            await finish_pending()
            error.advice = f"{error.advice} {_written(totals)}.".lstrip()
            raise
        await finish_pending()
        if batch is None:
            return
        pending = batch, asyncio.create_task(write(batch))


class UnreadableLine(Exception):
    """Lines that cannot be read as events: the error, and the line numbers."""

    def __init__(self, error: InvalidEvent, lines: Sequence[int]) -> None:
        super().__init__(str(error))
        self.error = error
        self.lines = lines


def _written(totals: AppendTotals) -> str:
    before = f"{totals.appended:,} event{' was' if totals.appended == 1 else 's were'} appended before"
    return f"{before}, and {totals.duplicates:,} were there already" if totals.duplicates else before


def add_location(error: TallystickError, name: str, batch: Batch, totals: AppendTotals) -> TallystickError:
    """Add the line of the input and the totals written before to an error."""
    written, lines, noun = _written(totals), batch.lines, batch.noun
    if isinstance(error, InvalidEvent | AppendRefused):
        index = error.index
        first_to_last = f"{noun}s {lines[0]} to {lines[-1]}"
        location = f"{noun} {lines[index]}" if index is not None and index < len(lines) else first_to_last
        error.detail = f"{name}, {location}: {error.detail}"
        batch_lines = first_to_last if len(lines) > 1 else f"{noun} {lines[0]}"
        error.advice = (
            f"{error.advice} {written}; nothing of its batch ({batch_lines}) was written. "
            "Running it again is safe for events with ids: those are not written twice."
        ).lstrip()
        error.written = None  # the advice says what of the input was
    elif lines:
        error.advice = f"{error.advice} {written} (up to {noun} {lines[0] - 1}).".lstrip()
    return error


def count_lines(report: Callable[[int, int], None], total: int) -> Callable[[Batch], None]:
    """Return a callback for `append_batches` that reports the number of written lines, and the total."""
    lines_done = 0

    def count_batch(batch: Batch) -> None:
        nonlocal lines_done
        lines_done += len(set(batch.lines))
        report(lines_done, total)

    return count_batch

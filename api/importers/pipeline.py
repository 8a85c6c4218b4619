"""From batches to the ledger: one after another, the next made ready while one is written."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from api.service.store import EventStore
from events.envelope import Draft
from events.errors import InvalidEvent, TallystickError
from ledger.errors import AppendRefused


class Batch(NamedTuple):
    """Events that are appended together, and the number of the line (or what `noun` says) each came from."""

    drafts: list[Draft]
    lines: Sequence[int]
    noun: str = "line"


class AppendTotals(msgspec.Struct):
    """What was written so far. `first` and `last` are positions, those of duplicates included."""

    appended: int = 0
    duplicates: int = 0
    first: int | None = None
    last: int | None = None


async def pump(
    batches: Iterator[Batch], store: EventStore, tally: AppendTotals, name: str, report: Callable[[Batch], None]
) -> None:
    """Append every batch in order, counting into `tally`; `report` is told each one that is written.

    Errors: whatever making or appending a batch raises, told with file, line and what was written before.
    """
    pending: tuple[Batch, asyncio.Task[None]] | None = None

    async def settle() -> None:
        if pending is None:
            return
        batch, task = pending
        try:
            await task
        except TallystickError as error:
            raise located(error, name, batch, tally) from None
        report(batch)

    async def write(batch: Batch) -> None:
        answer = await store.append(batch.drafts)
        tally.appended += answer.count - answer.duplicates
        tally.duplicates += answer.duplicates
        tally.first = answer.first if tally.first is None else min(answer.first, tally.first)
        tally.last = answer.last if tally.last is None else max(answer.last, tally.last)

    while True:
        try:
            batch = await asyncio.to_thread(next, batches, None)
        except UnreadableLine as unreadable:
            await settle()
            raise located(unreadable.error, name, Batch([], unreadable.lines), tally) from None
        except TallystickError as error:
            await settle()
            error.advice = f"{error.advice} {_written(tally)}.".lstrip()
            raise
        await settle()
        if batch is None:
            return
        pending = batch, asyncio.create_task(write(batch))


class UnreadableLine(Exception):
    """Lines that make no batch: the error, and the numbers of the lines."""

    def __init__(self, error: InvalidEvent, lines: Sequence[int]) -> None:
        super().__init__(str(error))
        self.error = error
        self.lines = lines


def _written(tally: AppendTotals) -> str:
    before = f"{tally.appended:,} event{' was' if tally.appended == 1 else 's were'} appended before"
    return f"{before}, and {tally.duplicates:,} there already" if tally.duplicates else before


def located(error: TallystickError, name: str, batch: Batch, tally: AppendTotals) -> TallystickError:
    """The same error, saying at which line of the input it came, and what was written before."""
    written, lines, noun = _written(tally), batch.lines, batch.noun
    if isinstance(error, InvalidEvent | AppendRefused):
        index = error.index
        whole = f"{noun}s {lines[0]} to {lines[-1]}"
        at = f"{noun} {lines[index]}" if index is not None and index < len(lines) else whole
        detail = error.detail.replace("; nothing was written", "")
        error.detail = f"{name}, {at}: {detail}"
        advice = error.advice.replace(" Nothing was written.", "")
        batch_lines = whole if len(lines) > 1 else f"{noun} {lines[0]}"
        error.advice = (
            f"{advice} {written}; nothing of its batch ({batch_lines}) was written. "
            "Running it again is safe where events carry ids: those are not written twice."
        ).lstrip()
    elif lines:
        error.advice = f"{error.advice} {written} (up to {noun} {lines[0] - 1}).".lstrip()
    return error


def counting(report: Callable[[int, int], None], total: int) -> Callable[[Batch], None]:
    """What `pump` is to tell each batch, so that `report` is told how many lines of so many are done."""
    done = 0

    def written(batch: Batch) -> None:
        nonlocal done
        done += len(set(batch.lines))
        report(done, total)

    return written

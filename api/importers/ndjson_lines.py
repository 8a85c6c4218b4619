"""Read NDJSON lines from a file or a pipe, in batches. If a pipe pauses, the batch ends early."""

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from api.importers.batch_append import Batch, UnreadableLine
from events.envelope import source_of
from events.errors import InvalidEvent
from events.limits import BATCH_BYTES_MAX
from events.registry import VOCABULARY
from ledger.errors import InvalidQuery
from ledger.regular_file import open_once

CHUNK_BYTES = 1 << 20
PAUSE_S = 0.2
"""Seconds without input after which a batch from a pipe ends."""


class LineBatches:
    """The lines of an open file, a batch at a time."""

    def __init__(self, descriptor: int, name: str, size_bytes: int | None) -> None:
        self.name = name
        self.size_bytes = size_bytes
        self.read_bytes = 0
        self.stopped = False
        self._descriptor = descriptor
        self._number = 0
        self._batch: list[bytes] = []
        self._numbers: list[int] = []
        self._bytes = 0

    @classmethod
    @contextmanager
    def open(cls, path: str) -> Iterator[Self]:
        """Open a file, or standard input as `-`. Errors: InvalidQuery."""
        if path == "-":
            yield cls(sys.stdin.fileno(), "standard input", None)
            return
        try:
            file = open_once(path)
        except OSError as error:
            raise InvalidQuery("FILE", f"{path} cannot be read: {error.strerror}.", "Name another.") from None
        with file:
            yield cls(file.fileno(), path, os.fstat(file.fileno()).st_size)

    def batches(self, events_max: int, agent: str | None) -> Iterator[Batch]:
        """Yield batches of drafts; `agent` is the source of drafts without one. Errors: UnreadableLine."""
        rest = b""
        while (chunk := self._read()) is not None:
            if not chunk:
                yield from self._flush(agent)
                continue
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if self._add(line, events_max):
                    yield from self._flush(agent)
        self._add(rest, events_max)
        yield from self._flush(agent)

    def _read(self) -> bytes | None:
        """Return the next bytes; no bytes if a pipe pauses while lines wait in the batch; None at the end."""
        while not select.select([self._descriptor], [], [], PAUSE_S)[0]:
            if self.stopped:
                return None
            if self._batch:
                return b""
        chunk = os.read(self._descriptor, CHUNK_BYTES)
        self.read_bytes += len(chunk)
        return chunk or None

    def _add(self, line: bytes, events_max: int) -> bool:
        """Add a line to the batch; return whether the batch is full now."""
        self._number += 1
        if line.strip():
            self._batch.append(line)
            self._numbers.append(self._number)
            self._bytes += len(line) + 1
        return len(self._batch) >= events_max or self._bytes >= BATCH_BYTES_MAX

    def _flush(self, agent: str | None) -> Iterator[Batch]:
        if not self._batch:
            return
        lines, numbers = self._batch, self._numbers
        self._batch, self._numbers, self._bytes = [], [], 0
        try:
            drafts = VOCABULARY.draft_lines(b"\n".join(lines))
        except InvalidEvent as error:
            raise UnreadableLine(error, numbers) from None
        if agent is not None:
            for draft in drafts:
                draft.source = draft.source or source_of(agent)
        yield Batch(drafts, numbers)

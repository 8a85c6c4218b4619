"""The records of a history: what each client of a log invoked, and how the log answered.

Each process writes its records to a file of its own, one JSON object a line and one system call a record, so that a
process that is killed loses at most a part of its last line. Times are of CLOCK_MONOTONIC, which all processes of one
machine share. A call is recorded before it is made, and its answer after it came: the interval between both contains
the moment at which the log did it. A call without an answer has an unknown outcome.
"""

import os
import time
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from ledger.log import Order

DIGEST_BYTES = 32
"""Size of a SHA-256."""

RETRIED = ("LedgerBusy", "LedgerFull")
"""Refusals after which a client posts the same batch again."""


class ClientEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event as a client posts it."""

    id: str
    source: str
    type: str
    data: msgspec.Raw
    subject: str = ""
    """Its stream; empty where the log makes the name of a new one."""
    expected: int | None = None
    """The number of events that the client expects in the stream."""
    generated: str = ""
    """The field of the stored data that the log fills in, if there is one."""

    @property
    def key(self) -> tuple[str, str]:
        """Source and id, which are unique together."""
        return self.source, self.id


class EventPlace(msgspec.Struct, frozen=True):
    """The place of an event, as the log answered an append."""

    position: int
    subject: str
    version: int
    duplicate: bool


class Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """What all records have: `call` is the number of the call in its process, `at_ns` the time of the record."""

    process: str
    call: int
    at_ns: int

    @property
    def name(self) -> str:
        """The name of the call, as reports show it."""
        return f"{self.process}#{self.call}"


class AppendInvoked(Record, frozen=True, kw_only=True, tag="append"):
    """A client is about to append a batch. A retry has the same ids and content as an earlier batch."""

    node: str
    client: int
    events: list[ClientEvent]


class AppendOk(Record, frozen=True, kw_only=True, tag="append ok"):
    """The log acknowledged a batch."""

    places: list[EventPlace]


class AppendFailed(Record, frozen=True, kw_only=True, tag="append failed"):
    """The log answered that nothing was written. A conflict names its stream, two versions and the event's index."""

    error: str
    subject: str = ""
    index: int = 0
    expected: int | None = None
    found: int | None = None
    position: int | None = None


class OutcomeUnknown(Record, frozen=True, kw_only=True, tag="unknown"):
    """The log could not say whether it wrote a batch, or could not answer a read.

    `unexpected`: it raised an error that its interface does not name.
    """

    error: str
    unexpected: bool = False


class ReadInvoked(Record, frozen=True, kw_only=True, tag="read"):
    """A client is about to read a page, between two exclusive positions."""

    node: str
    client: int
    after: int
    before: int | None
    limit: int
    order: Order


class HeadInvoked(Record, frozen=True, kw_only=True, tag="head"):
    """A client is about to ask for the newest position."""

    node: str
    client: int


class HeadOk(Record, frozen=True, kw_only=True, tag="head ok"):
    """The log stated its newest position."""

    position: int


class FollowInvoked(Record, frozen=True, kw_only=True, tag="follow"):
    """A client begins to follow the log after a position. Every page of the follower is a `PageOk` of this call."""

    node: str
    client: int
    after: int


class PageOk(Record, frozen=True, kw_only=True, tag="page"):
    """A page of a read or a follower: positions, and the SHA-256 of each line, concatenated."""

    positions: list[int]
    digests: bytes
    more: bool


class CheckpointSeen(Record, frozen=True, kw_only=True, tag="checkpoint"):
    """A node stated that the tree over the first `size` lines has a root."""

    node: str
    size: int
    root: bytes


Invoked = AppendInvoked | ReadInvoked | HeadInvoked | FollowInvoked
AnyRecord = Invoked | AppendOk | AppendFailed | OutcomeUnknown | HeadOk | PageOk | CheckpointSeen

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord)


def digests_of(lines: Iterable[bytes]) -> bytes:
    """The SHA-256 of each line, concatenated."""
    return b"".join(sha256(line).digest() for line in lines)


class HistoryRecorder:
    """Writes the records of one process to a new file, `PROCESS.ndjson` in a folder. FileExistsError if it exists.

    Use a name for one process only: one that was killed and begins again has another name.
    """

    def __init__(self, folder: Path, process: str) -> None:
        self.process = process
        self.path = folder / f"{process}.ndjson"
        self._calls = count(1)
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._file)

    def invoke(self, kind: type[AnyRecord], **fields: Any) -> int:  # noqa: ANN401 - the fields of the kind
        """Record what begins a call; return the number of the call."""
        call = next(self._calls)
        self.answer(call, kind, **fields)
        return call

    def answer(self, call: int, kind: type[AnyRecord], **fields: Any) -> None:  # noqa: ANN401 - the fields of the kind
        """Record the answer of a call."""
        self._write(kind(process=self.process, call=call, at_ns=time.monotonic_ns(), **fields))

    def _write(self, record: AnyRecord) -> None:
        line = _encoder.encode(record) + b"\n"
        assert os.write(self._file, line) == len(line), f"{self.path} could not be written"


def load(path: Path) -> list[AnyRecord]:
    """The records of one file. The last line may be torn; any other damage raises msgspec.DecodeError."""
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    return [_decoder.decode(line) for line in whole.split(b"\n")] if whole else []


def load_folder(folder: Path) -> list[AnyRecord]:
    """The records of all processes, merged by time."""
    return merged(record for path in sorted(folder.glob("*.ndjson")) for record in load(path))


def merged(records: Iterable[AnyRecord]) -> list[AnyRecord]:
    """Records by time; those of one process in their order."""
    return sorted(records, key=lambda record: record.at_ns)


class AppendCall(NamedTuple):
    """An append and its answer; None if the process ended before."""

    invoked: AppendInvoked
    answer: AppendOk | AppendFailed | OutcomeUnknown | None


class PageCall(NamedTuple):
    """A page that was read, and the call that asked for it."""

    invoked: ReadInvoked | FollowInvoked
    page: PageOk


class HeadCall(NamedTuple):
    """A newest position that was stated, and the call that asked for it."""

    invoked: HeadInvoked
    answer: HeadOk


class History(NamedTuple):
    """The calls of a history, each kind by the time of the answer or, of appends, of the invocation."""

    appends: Sequence[AppendCall]
    pages: Sequence[PageCall]
    heads: Sequence[HeadCall]
    checkpoints: Sequence[CheckpointSeen]
    unexpected: Sequence[OutcomeUnknown]

    @classmethod
    def of(cls, records: Iterable[AnyRecord]) -> Self:
        """Pair merged records."""
        every = list(records)
        invoked: dict[tuple[str, int], Invoked] = {}
        for record in every:
            if isinstance(record, Invoked):
                assert (record.process, record.call) not in invoked, f"two calls are {record.name}"
                invoked[record.process, record.call] = record
        answers: dict[tuple[str, int], AppendOk | AppendFailed | OutcomeUnknown] = {}
        history = cls([], pages := [], heads := [], checkpoints := [], unexpected := [])
        for record in every:
            asked = invoked.get((record.process, record.call))
            if isinstance(record, CheckpointSeen):
                checkpoints.append(record)
            elif isinstance(record, PageOk):
                assert isinstance(asked, ReadInvoked | FollowInvoked), record.name
                pages.append(PageCall(asked, record))
            elif isinstance(record, HeadOk):
                assert isinstance(asked, HeadInvoked), record.name
                heads.append(HeadCall(asked, record))
            elif isinstance(record, AppendOk | AppendFailed | OutcomeUnknown):
                answers[record.process, record.call] = record
                if isinstance(record, OutcomeUnknown) and record.unexpected:
                    unexpected.append(record)
        appends = [AppendCall(a, answers.get(key)) for key, a in invoked.items() if isinstance(a, AppendInvoked)]
        return history._replace(appends=appends)

    def unsettled(self) -> list[list[ClientEvent]]:
        """The batches whose outcome no answer has settled, each once: to be posted again."""
        settled = {call.invoked.events[0].key for call in self.appends if _is_settled(call.answer)}
        batches = {call.invoked.events[0].key: call.invoked.events for call in self.appends}
        return [events for key, events in batches.items() if key not in settled]


def _is_settled(answer: AppendOk | AppendFailed | OutcomeUnknown | None) -> bool:
    if isinstance(answer, AppendFailed):
        return answer.error not in RETRIED
    return isinstance(answer, AppendOk)

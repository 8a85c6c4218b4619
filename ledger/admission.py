"""Admission of batches: pure rules over the drafts and the current state of the log.

I1 Positions and stream versions are contiguous.
I3 A batch is admitted whole or not at all.
I5 A retry returns its first position.
I6 recordedtime never decreases.

Only this module enforces which types may begin, continue and end a stream (`events.life.Life`), and which are for
its owner or its first author (`events.life.Author`); `api/service/ledger.py` checks the other authors.
"""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import structs

from events.decode_error_messages import DECODE_ERRORS
from events.envelope import Draft, Line, encode_extended_line, encode_line, timestamp
from events.errors import InvalidEvent
from events.life import RESOLVERS, Author
from events.limits import LINE_BYTES_MAX
from events.payload import Payload
from events.recorded_attributes import compare_recorded, refuse_recorded
from events.vocabulary import EventType, Vocabulary
from ledger.clock import microseconds, moment_of
from ledger.errors import ForeignStream, IdentityConflict, LifecycleViolation, LineTooLong, StreamConflict
from ledger.log import UNRESTRICTED, Head, Permissions
from tallystick.shapes.appended import AppendedEvent


class StreamHead(msgspec.Struct, frozen=True, gc=False):
    """The newest event of a stream: its version and the name of its type.

    If the group itself began the stream, `owner` is the source of its first event. If the group has an event of the
    stream that is for the first author of its kind, `first` is the source of the first one in the group.
    """

    version: int
    type: str
    owner: str | None = None
    first: str | None = None


class ExistingEvent(NamedTuple):
    """An event in the log that already has the id of a draft: its position and its line."""

    appended: AppendedEvent
    line: bytes


class Lookups(NamedTuple):
    """The heads of a group's streams, and the events with its ids, by source and id. Admitted events are added.

    For streams in which a permission must be checked: `owners` is the source of the first event, `firsts` that of the
    first event that is for the first author of its kind, if the log has one.
    """

    streams: dict[str, StreamHead]
    taken: dict[tuple[str, str], ExistingEvent]
    owners: Mapping[str, str] = {}
    firsts: Mapping[str, str] = {}


class PreparedEvent(msgspec.Struct, frozen=True, gc=False):
    """A checked draft: its type, stream and payload; `id_generated` says whether the ledger makes the stream's id.

    `permissions` are those of the caller, if the author of the event must be checked.
    """

    draft: Draft
    event_type: EventType
    subject: str
    data: Payload
    id_generated: bool
    permissions: Permissions | None = None


def prepare(vocabulary: Vocabulary, draft: Draft, index: int, permissions: Permissions = UNRESTRICTED) -> PreparedEvent:
    """Check a draft as far as possible without the log.

    The subject of the result is empty where the ledger must make the stream's id.
    Errors: InvalidEvent, with field and index.
    """
    assert draft.source is not None, "the interface fills in the source"
    event_type = vocabulary.event_types[draft.name]
    try:
        stream_id = event_type.stream_id(draft.data)
    except InvalidEvent as error:
        error.index = index
        raise
    subject = f"{event_type.stream}/{stream_id}" if stream_id is not None else ""
    if draft.subject is not None and draft.subject != subject:
        raise InvalidEvent(
            f"subject {draft.subject!r} is not the stream of this payload, {subject or 'which has no id yet'}.",
            "Leave subject out: the ledger derives it.",
            field="subject",
            index=index,
        )
    if draft.id is not None and not draft.id.isprintable():
        raise InvalidEvent(
            f"id {draft.id!r} contains characters that are not printable.",
            "Use 1..128 printable characters.",
            field="id",
            index=index,
        )
    by = event_type.by
    restricted = (by is Author.OWNER or by is Author.FIRST) and not permissions.in_every_stream
    return PreparedEvent(draft, event_type, subject, draft.data, stream_id is None, permissions if restricted else None)


def generate_stream_id(position: int, rng: random.Random) -> str:
    """Return an id of 8 hex digits for a new stream: four that grow with the log, four at random.

    Growing digits keep inserts into the index side by side (with random ones the append rate at 5,000,000 events falls
    to a third). Random digits make a mistyped id unknown instead of the id of a neighbour.
    """
    return "%08x" % ((position >> 8 & 0xFFFF) << 16 | rng.getrandbits(16))  # half the time of an f-string


def assign_stream_id(entry: PreparedEvent, position: int, rng: random.Random) -> PreparedEvent:
    """Return the event with a new id for its stream."""
    name = generate_stream_id(position, rng)
    data = structs.replace(entry.draft.data, **{entry.event_type.id_field: name})
    return PreparedEvent(entry.draft, entry.event_type, f"{entry.event_type.stream}/{name}", data, id_generated=True)


class GroupAdmission:
    """Admits batches into one transaction. `rows` grows by one value for each column of each admitted event."""

    def __init__(self, vocabulary: Vocabulary, head: Head, now: datetime, lookups: Lookups, rng: random.Random) -> None:
        self.rows: list[object] = []
        self.position = head.position
        self.recorded_us = max(microseconds(now), head.recorded_us)
        self._recorded = timestamp(moment_of(self.recorded_us))
        ms = self.recorded_us // 1000
        self._id_time = f"{ms >> 16:08x}-{ms & 0xFFFF:04x}"
        self._vocabulary = vocabulary
        self._streams, self._taken, self._owners, self._firsts = lookups
        self._rng = rng
        self._streams_before: list[tuple[str, StreamHead | None]] = []
        self._taken_before: list[tuple[str, str]] = []

    def admit(self, batch: Sequence[PreparedEvent]) -> list[AppendedEvent]:
        """Admit a whole batch, or raise and leave the group unchanged. Errors: InvalidEvent, AppendRefused."""
        values_before, position_before = len(self.rows), self.position
        self._streams_before.clear()
        self._taken_before.clear()
        try:
            return [self._admit_event(entry, index) for index, entry in enumerate(batch)]
        except BaseException:
            del self.rows[values_before:]
            self.position = position_before
            self._restore()
            raise

    def _restore(self) -> None:
        # the newest change first: a stream with several events of the batch ends as it was before the first
        for subject, head in reversed(self._streams_before):
            if head is None:
                del self._streams[subject]
            else:
                self._streams[subject] = head
        for key in self._taken_before:
            del self._taken[key]

    def _admit_event(self, entry: PreparedEvent, index: int) -> AppendedEvent:
        draft, event_type, subject = entry.draft, entry.event_type, entry.subject
        source = draft.source
        assert source is not None
        # before all other checks: a retry finds the log as its first append left it, which may refuse it
        if draft.id is not None and (taken := self._taken.get((source, draft.id))) is not None:
            return self._retry(entry, taken, index)
        if draft.added is not None:
            refuse_recorded(draft.added, index)
        head = self._streams.get(subject)
        version = head.version if head is not None else 0
        if draft.expectedversion is not None and draft.expectedversion != version:
            raise StreamConflict(subject, draft.expectedversion, version, index)
        self._check_life(event_type, subject, head, index)
        if entry.permissions is not None:
            self._check_author(entry, source, entry.permissions, index)
        position = self.position + 1
        event_id = draft.id if draft.id is not None else self._make_id(position)
        line = self._encode(entry, event_id, position, version + 1, index)
        happened_us = microseconds(draft.time) if draft.time is not None else self.recorded_us
        self.rows += (
            position, source, event_id, subject, version + 1, event_type.name, happened_us, self.recorded_us, line,
        )  # fmt: skip
        self.position = position
        self._streams_before.append((subject, head))
        owner, first = (source, None) if head is None else (head.owner, head.first)
        if first is None and event_type.by is Author.FIRST:
            first = source
        self._streams[subject] = StreamHead(version + 1, event_type.name, owner, first)
        appended = AppendedEvent(position, event_id, subject, version + 1, duplicate=False)
        if draft.id is not None:
            self._taken_before.append((source, event_id))
            self._taken[source, event_id] = ExistingEvent(appended, line)
        return appended

    def _encode(self, entry: PreparedEvent, event_id: str, position: int, version: int, index: int) -> bytes:
        try:
            line = self._line(entry, event_id, position, version)
        except (OverflowError, UnicodeEncodeError) as error:
            field = "time" if isinstance(error, OverflowError) else "data"
            raise InvalidEvent(
                f"{field} cannot be stored: {error}.",
                "Send a time within the years 1..9999 in UTC, and texts that are Unicode.",
                field=field,
                index=index,
            ) from None
        if len(line) > LINE_BYTES_MAX:
            raise LineTooLong(
                f"The event is {len(line):,} bytes as a line; at most {LINE_BYTES_MAX:,} are stored.",
                "Shorten its texts, or store the material as evidence and give its digest.",
                field="data",
                index=index,
            )
        return line

    def _line(self, entry: PreparedEvent, event_id: str, position: int, version: int) -> bytes:
        draft = entry.draft
        line = Line(
            specversion="1.0",
            id=event_id,
            source=draft.source or "",
            type=entry.event_type.name,
            subject=entry.subject,
            time=timestamp(draft.time) if draft.time is not None else self._recorded,
            recordedtime=self._recorded,
            position=position,
            streamversion=version,
            traceparent=draft.traceparent,
            correlationid=draft.correlationid,
            causationid=draft.causationid,
            data=entry.data,
        )
        return encode_line(line) if draft.added is None else encode_extended_line(line, draft.added.extensions)

    def _retry(self, entry: PreparedEvent, taken: ExistingEvent, index: int) -> AppendedEvent:
        """Return the position of the first append, if the content is the same. Errors: IdentityConflict."""
        draft, event_type = entry.draft, entry.event_type
        data, first = draft.data, taken.appended
        try:
            stored = self._vocabulary.stored(taken.line)
        except DECODE_ERRORS:  # an altered line: it is not this event
            raise IdentityConflict(first.subject, draft.source or "", draft.id or "", first.position, index) from None
        if entry.id_generated and stored.name == event_type.name:
            data = structs.replace(data, **{event_type.id_field: getattr(stored.data, event_type.id_field)})
        if stored.name != event_type.name or stored.data != data:
            raise IdentityConflict(first.subject, stored.source, stored.id, first.position, index)
        if draft.added is not None:
            compare_recorded(draft.added, stored, index)
        return structs.replace(taken.appended, duplicate=True)

    def _check_life(self, event_type: EventType, subject: str, head: StreamHead | None, index: int) -> None:
        if head is None:
            if event_type.begins:
                return
            detail = f"{subject} is not in the log, and {event_type.name} cannot be the first event of a stream"
            advice = f"Check the {event_type.id_field}, or open the stream first."
        elif not event_type.follows:
            detail = f"{subject} is already in the log, and {event_type.name} must be the first event of a stream"
            advice = f"Use another {event_type.id_field}, or leave it out and let the ledger make one."
        elif (newest := self._vocabulary.event_types.get(head.type)) is None:
            detail = f"the newest event of {subject} is a {head.type[:80]!r}, which is not in the vocabulary"
            advice = "Run tallystick verify: the ledger was altered, or a newer Tallystick wrote it."
        elif newest.ends and not event_type.reopens:
            detail = (
                f"{subject} was closed by {head.type} at version {head.version}, and cannot have a {event_type.name}"
            )
            advice = "Open another stream."
        elif event_type.reopens and not newest.ends:
            detail = f"{subject} is open, and {event_type.name} must follow the event that closes a stream"
            advice = "Append the next event without it."
        else:
            return
        refusal = LifecycleViolation(f"{detail}.", advice, subject=subject, index=index)
        # a caller may report any other refusal as a stream that does not exist
        refusal.closed = head is not None and not event_type.begins and not event_type.reopens
        raise refusal

    def _check_author(self, entry: PreparedEvent, source: str, permissions: Permissions, index: int) -> None:
        """Check who may append an event to the streams that it names. Errors: ForeignStream."""
        event_type, subject = entry.event_type, entry.subject
        if event_type.by is Author.OWNER:
            for name in () if permissions.as_owner else event_type.owned_subjects(subject, entry.data):
                owner = self._owner(name)
                if owner is not None and owner != source:
                    raise ForeignStream("owner", name, event_type.name, owner, index)
            return
        owner = self._owner(subject)
        if owner is not None and permissions.not_own is not None and owner in (permissions.not_own, source):
            raise ForeignStream("own", subject, event_type.name, owner, index)
        first = self._firsts.get(subject) or self._streams[subject].first
        # a rule's review is the ledger's: anybody who may review may replace it
        if first not in (None, source) and not permissions.as_first and not first.startswith(RESOLVERS):
            raise ForeignStream("first", subject, event_type.name, first, index)

    def _owner(self, subject: str) -> str | None:
        """Return the source of a stream's first event; None if the stream is not in the log."""
        head = self._streams.get(subject)
        return self._owners.get(subject) or (head.owner if head is not None else None)

    def _make_id(self, position: int) -> str:
        """Return a UUIDv7 (RFC 9562): milliseconds, the low bits of the position, 62 random bits."""
        # the highest two bits are the variant of RFC 9562: 1 and 0
        tail = (self._rng.getrandbits(62) | 1 << 63).to_bytes(8).hex()
        return f"{self._id_time}-7{position & 0xFFF:03x}-{tail[:4]}-{tail[4:]}"

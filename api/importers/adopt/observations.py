"""Make the events of what was observed: observations of subjects, and scans of what was read as a whole."""

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from api.service.store import EventStore
from events.envelope import Draft, timestamp
from events.observation import ObservationRecorded, ObservationScanned
from events.registry import VOCABULARY
from projections.changes.change_index import ChangeIndex

_ID_CHARS: Final = 32

_encode = msgspec.json.Encoder(order="sorted").encode
Facts = dict[str, str | int | tuple[str, ...]]


class SubjectObserved(NamedTuple):
    """What was observed of a subject."""

    event_type: str
    subject: str
    at_s: int
    facts: Facts


async def read_observed(store: EventStore) -> ChangeIndex:
    """Return what a ledger has of repositories. Errors: those of `EventStore`."""
    index = ChangeIndex()
    async for page in store.pages(VOCABULARY.names_of(ObservationRecorded, ObservationScanned)):
        index.fold(VOCABULARY.facts(page))
    return index


def observation(source: str, observed: SubjectObserved, scans: int, by: str | None = None) -> Draft:
    """Return the event of an observation. `scans`: how many scans of its scope there were before.

    `by`: who observed it, where several may observe the same, so that each has an event.
    """
    occurred = datetime.fromtimestamp(observed.at_s, UTC)
    # with the number of scans, so that what was so before, and then was not, is another event
    parts = [source, observed.event_type, observed.subject, observed.at_s, observed.facts, scans]
    observation_id = _digest(parts if by is None else [*parts, by])
    data = ObservationRecorded(
        observation_id=observation_id,
        event_type=observed.event_type,
        source=source,
        subject=observed.subject,
        occurred=timestamp(occurred),
        facts=observed.facts or None,
    )
    return VOCABULARY.draft_of(data, id=f"observation:{observation_id}", time=occurred)


def scan(
    source: str, scope: str, through_s: int, head: str, *, reader: int, subjects: int, gone: int, scans: int
) -> Draft:
    """Return the event of a scan. `scans`: how many scans of its scope there were before."""
    through, scan_id = datetime.fromtimestamp(through_s, UTC), _digest([source, scope, head, scans])
    scanned = ObservationScanned(
        scan_id=scan_id,
        source=source,
        scope=scope,
        through=timestamp(through),
        head=head,
        reader=reader,
        subjects=subjects,
        gone=gone,
    )
    return VOCABULARY.draft_of(scanned, id=f"scan:{scan_id}", time=through)


def _digest(parts: Sequence[object]) -> str:
    return sha256(_encode(parts)).hexdigest()[:_ID_CHARS]

"""Signals to the people who watch a discovery run: record one, list them.

A run's stream is closed when the run ends. A later signal is an event of the stream `signal/RUN`, so that nothing
follows the end of a closed stream. Readers see both as the signals of the run.
"""

from typing import Any

from msgspec import structs

from api.service.discovery.run_stream import START_AND_END, read_events
from api.service.discovery.run_types import SignalDraft, SignalEntry, SignalPage
from api.service.store import EventStore
from events.discovery import DiscoveryFinished, DiscoverySignalled, DiscoverySignalledLate
from events.envelope import Event
from events.registry import VOCABULARY
from ledger.errors import LifecycleViolation

SIGNALS = VOCABULARY.names_of(DiscoverySignalled, DiscoverySignalledLate)


async def signal(store: EventStore, run_id: str, draft: SignalDraft) -> SignalEntry:
    """Record a message to the people watching a run, also after its end. Errors: NotFound; those of appending."""
    while True:
        end = (await read_events(store, run_id, START_AND_END))[-1].data
        kind = DiscoverySignalledLate if isinstance(end, DiscoveryFinished) else DiscoverySignalled
        try:
            placed = await store.append([VOCABULARY.draft_of(kind(run_id=run_id, **structs.asdict(draft)))])
        except LifecycleViolation:  # the run ended meanwhile
            continue
        return (await signals(store, run_id, placed.first - 1)).signals[0]


async def signals(store: EventStore, run_id: str, after: int = 0, since: str = "") -> SignalPage:
    """Return the signals of a run after a position, recorded at or after the time `since` (`recordedtime` of events).

    Errors: NotFound.
    """
    await read_events(store, run_id, START_AND_END)
    subjects = [f"discovery/{run_id}", f"signal/{run_id}"]
    events = VOCABULARY.events(await store.streams(subjects, (*START_AND_END, *SIGNALS)))
    entries = [
        SignalEntry(position=event.position, time=event.time, **_signal_fields(event))
        for event in events
        if isinstance(event.data, DiscoverySignalled) and event.position > after and event.recordedtime >= since
    ]
    return SignalPage(signals=entries, next=max(after, events[-1].position))


def _signal_fields(event: Event) -> dict[str, Any]:
    """Return the fields of a signal. A signal without an agent gets the agent of its event."""
    fields = structs.asdict(event.data)
    del fields["run_id"]
    return {**fields, "agent": fields["agent"] or event.agent}

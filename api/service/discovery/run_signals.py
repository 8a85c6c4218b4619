"""Signals to the people who watch a discovery run: record one, list them.

A run's stream is closed when the run ends. A later signal is an event of the stream `signal/RUN`, so that nothing
follows the end of a closed stream. Readers see both as the signals of the run. A signal of no run is there, too.
"""

from typing import Any

from msgspec import structs

from api.service.discovery.run_stream import START_AND_END, check_id, read_stored, run_not_found_error
from api.service.discovery.run_types import SignalDraft, SignalEntry, SignalPage
from api.service.store import EventStore
from events.discovery import DiscoveryFinished, DiscoverySignalled, DiscoverySignalledLate
from events.envelope import Event
from events.registry import VOCABULARY
from ledger.errors import LifecycleViolation

SIGNALS = VOCABULARY.names_of(DiscoverySignalled, DiscoverySignalledLate)


async def signal(store: EventStore, run_id: str, draft: SignalDraft) -> SignalEntry:
    """Record a message to the people watching a run, also after its end or without a run of this id.

    The answer names the id of no run in `unknown`. Errors: NotFound, for what is not an id; those of appending.
    """
    check_id(run_id)
    while True:
        run = await read_stored(store, run_id, START_AND_END)
        running = bool(run) and not isinstance(run[-1].data, DiscoveryFinished)
        kind = DiscoverySignalled if running else DiscoverySignalledLate
        try:
            placed = await store.append([VOCABULARY.draft_of(kind(run_id=run_id, **structs.asdict(draft)))])
        except LifecycleViolation:  # the run ended meanwhile
            continue
        entry = (await signals(store, run_id, placed.first - 1)).signals[0]
        return entry if run else structs.replace(entry, unknown=[run_id])


async def signals(store: EventStore, run_id: str, after: int = 0, since: str = "") -> SignalPage:
    """Return the signals of a run after a position, recorded at or after the time `since` (`recordedtime` of events).

    Errors: NotFound, if there is neither a run of this id nor a signal.
    """
    check_id(run_id)
    subjects = [f"discovery/{run_id}", f"signal/{run_id}"]
    events = VOCABULARY.events(await store.streams(subjects, (*START_AND_END, *SIGNALS)))
    if not events:
        raise run_not_found_error(run_id)
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

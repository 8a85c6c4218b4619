"""Read the stream of a discovery run, and the state that follows from it."""

import re
from collections.abc import Sequence

import msgspec

from api.errors import RunEnded
from api.service.store import EventStore
from events.discovery import DiscoveryAttempted, DiscoveryFinished, DiscoveryStarted
from events.envelope import Event
from events.payload import STORED_ID_PATTERN
from events.registry import VOCABULARY
from instruments.discovery import Session, make_battery
from instruments.probes import PROBES, Probe, find_probe
from ledger.errors import LifecycleViolation, NotFound

PROBE_IDS = ", ".join(probe.id for probe in PROBES)
START_AND_END = VOCABULARY.names_of(DiscoveryStarted, DiscoveryFinished)
_id = re.compile(STORED_ID_PATTERN)


class LiveRun(msgspec.Struct, frozen=True, kw_only=True):
    """The events of a run, and the state that follows from them."""

    events: list[Event]
    session: Session

    @property
    def version(self) -> int:
        """The number of events in its stream."""
        return self.events[-1].streamversion

    @property
    def probe(self) -> Probe:
        """The probe of the run, or its battery. Errors: LifecycleViolation, if this version does not have it."""
        started = self.session.started
        stated: list[tuple[str | None, str | None]] = [
            (one.probe_id, one.probe_version) for one in started.battery or ()
        ]
        probes: list[Probe] = []
        for probe_id, version in stated or [(started.probe_id, started.probe_version)]:
            probe = None if probe_id is None else find_probe(probe_id, version)
            if probe is not None:
                probes.append(probe)
                continue
            probe_name = f"{probe_id or 'no probe'}@{version or '?'}"
            raise LifecycleViolation(
                f"Run {self.session.run_id} asks {probe_name}, which this version does not have: it has {PROBE_IDS}.",
                "Finish it, and start another; its findings stay.",
                subject=f"discovery/{self.session.run_id}",
                index=0,
            )
        return make_battery(probes)

    def before(self, attempt: int) -> Session:
        """Return the state of the run before an attempt."""
        earlier = []
        for event in self.events:
            if isinstance(event.data, DiscoveryAttempted) and event.data.attempt == attempt:
                break
            earlier.append(event)
        return Session.of(earlier)

    def recorded(self, attempt: int) -> tuple[int, DiscoveryAttempted] | None:
        """Return an attempt that was answered before, and its position; None if it was not."""
        attempts = ((event.position, event.data) for event in self.events)
        return next(
            ((at, data) for at, data in attempts if isinstance(data, DiscoveryAttempted) and data.attempt == attempt),
            None,
        )


async def read_stored(store: EventStore, run_id: str, types: Sequence[str] = ()) -> list[Event]:
    """Return the events of a run; none for an unknown id, or if its start is not committed yet."""
    return VOCABULARY.events(await store.streams([f"discovery/{run_id}"], types)) if _id.fullmatch(run_id) else []


async def read_events(store: EventStore, run_id: str, types: Sequence[str] = ()) -> list[Event]:
    """Return the events of a run, its start included. Errors: NotFound."""
    events = await read_stored(store, run_id, types)
    if not events:
        raise run_not_found_error(run_id)
    return events


def check_id(run_id: str) -> None:
    """Check that a text can be the id of a run. Errors: NotFound."""
    if not _id.fullmatch(run_id):
        raise run_not_found_error(run_id)


def run_not_found_error(run_id: str) -> NotFound:
    """Return the error for an id that no run has."""
    advice = "Check the id; POST /discovery and tallystick discover begin runs."
    return NotFound(f"Run not found: {run_id}", advice, kind="run", name=run_id)


async def load_run(store: EventStore, run_id: str) -> LiveRun:
    """Return the current state of a run. Errors: NotFound."""
    events = await read_events(store, run_id)
    return LiveRun(events=events, session=Session.of(events))


def check_running(events: Sequence[Event]) -> None:
    """Refuse a run that has ended. Errors: RunEnded, with when and why it ended."""
    end = events[-1]
    if isinstance(end.data, DiscoveryFinished):
        raise RunEnded(
            f"Run {end.data.run_id} ended at {end.time}: {end.data.reason}.",
            f"GET /runs/{end.data.run_id} is its report; POST /discovery begins another.",
        )

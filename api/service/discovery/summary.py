"""The summary of a run so far, from the log alone. The command line prints it at the end."""

from collections.abc import Callable, Sequence

import msgspec

from api.service.discovery.run_operations import load_registered_names
from api.service.model_registry import registration_command
from api.service.store import EventStore
from events.discovery import DiscoveryAttempted, DiscoveryStarted, Ending
from events.envelope import Event
from events.limits import ITEMS_MAX
from events.probe import ProbeScored, score_id_of
from events.registry import VOCABULARY
from instruments.discovery import Session
from instruments.probes import find_probe


class ModelSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A model as its answer claims it; `register` is the command that registers it if it is not known."""

    iteration: int
    attempt: int
    model_name: str
    provider: str | None
    reported_model: str | None
    score: float | None
    elapsed_ns: int | None
    known: bool
    register: str | None


class DiscoverySummary(msgspec.Struct, frozen=True, kw_only=True):
    """A run: its router, why it ended (null while it can continue), and the models that it identified."""

    run_id: str
    router: str | None
    requested_model: str | None
    probe_id: str | None
    ending: Ending | None
    reason: str | None
    attempts: int
    iterations: int
    models: list[ModelSummary]


async def summarize_run(store: EventStore, run_id: str) -> DiscoverySummary:
    """Summarize the findings of a run so far. Errors: those of reading."""
    events = VOCABULARY.events(await store.streams([f"discovery/{run_id}"]))
    session = Session.of(events)
    started, finished = session.started, session.finished
    attempts = [event.data for event in events if isinstance(event.data, DiscoveryAttempted)]
    accepted = [attempt for attempt in attempts if attempt.outcome == "accepted" and attempt.claimed is not None]
    scores = await _read_scores(store, started, accepted)
    is_registered = await load_registered_names(store)
    return DiscoverySummary(
        run_id=run_id,
        router=started.router,
        requested_model=started.requested_model,
        probe_id=started.probe_id,
        ending=session.ending,
        reason=None if finished is None else finished.reason,
        attempts=len(attempts),
        iterations=session.iterations,
        models=[_summarize_model(attempt, scores.get(attempt.attempt), is_registered) for attempt in accepted],
    )


async def read_first_response(store: EventStore, events: Sequence[Event]) -> str | None:
    """Return the first accepted response of a run; None if it has none. Errors: those of reading evidence."""
    for event in events:
        data = event.data
        if isinstance(data, DiscoveryAttempted) and data.outcome == "accepted":
            if data.response is None and data.response_digest is not None:
                return (await store.evidence(data.response_digest)).data.decode()
            return data.response
    return None


async def _read_scores(
    store: EventStore, started: DiscoveryStarted, attempts: Sequence[DiscoveryAttempted]
) -> dict[int, float]:
    """Return the total score of each attempt, given by the scorer of the run's probe."""
    probe = find_probe(started.probe_id or "", started.probe_version)
    if probe is None:
        return {}
    scorer = probe.scorer
    score_ids = [score_id_of(attempt.run_id, attempt.attempt, scorer.id, scorer.version) for attempt in attempts]
    totals: dict[int, float] = {}
    for start in range(0, len(score_ids), ITEMS_MAX):
        subjects = [f"probe/{score_id}" for score_id in score_ids[start : start + ITEMS_MAX]]
        for event in VOCABULARY.events(await store.streams(subjects)):
            data = event.data
            if isinstance(data, ProbeScored) and data.attempt is not None and data.total_score is not None:
                totals[data.attempt] = data.total_score
    return totals


def _summarize_model(
    attempt: DiscoveryAttempted, score: float | None, is_registered: Callable[[str], bool]
) -> ModelSummary:
    claimed = attempt.claimed
    assert claimed is not None
    assert attempt.iteration is not None
    registered = is_registered(claimed.model_name)
    return ModelSummary(
        iteration=attempt.iteration,
        attempt=attempt.attempt,
        model_name=claimed.model_name,
        provider=claimed.provider,
        reported_model=attempt.reported_model,
        score=score,
        elapsed_ns=attempt.elapsed_ns,
        known=registered,
        register=None if registered else registration_command(claimed),
    )

"""The summary of a run so far, from the log alone. The command line prints it at the end."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from api.service.discovery.run_stream import read_events
from api.service.model_registry import find_registration
from api.service.shared_fields import shared_fields
from api.service.store import EventStore
from api.service.stored_model_names import load_model_names
from events.discovery import DiscoveryAttempted, DiscoveryStarted, Ending
from events.envelope import Event
from events.limits import ITEMS_MAX
from events.probe import ProbeScored, score_id_of
from events.registry import VOCABULARY
from instruments.discovery import Session
from instruments.probes import find_probe
from ledger.errors import NotFound
from projections.discovery.model_names import ModelNames


class ModelSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A model as its answer claims it; `register` is the command that registers it if it is not known.

    `detail` says why the answer was not scored, or that it was cut off. `scores` has the score of each probe of a
    battery, `score` that of the first.
    """

    iteration: int
    attempt: int
    model_name: str
    provider: str | None
    reported_model: str | None
    score: float | None
    elapsed_ns: int | None
    known: bool
    register: str | None
    scores: dict[str, float | None] | UnsetType = UNSET
    detail: str | UnsetType = UNSET


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
    names = await load_model_names(store)
    return DiscoverySummary(
        **shared_fields(started, DiscoverySummary),
        ending=session.ending,
        reason=None if finished is None else finished.reason,
        attempts=len(attempts),
        iterations=session.iterations,
        models=[_summarize_model(attempt, scores[attempt.attempt], names) for attempt in accepted],
    )


async def read_golden(store: EventStore, run_id: str) -> str:
    """Return the first accepted response of a run; of a saved report, the output that it states.

    Errors: NotFound, Gone if it was erased; those of reading.
    """
    text = await read_first_response(store, await read_events(store, run_id))
    if text is None:
        advice = f"See every attempt: tallystick run show {run_id} --attempts, or GET /runs/{run_id}?include=attempts."
        raise NotFound(f"Run {run_id} has no accepted response.", advice)
    return text


async def read_first_response(store: EventStore, events: Sequence[Event]) -> str | None:
    """Return the first accepted response of a run; None if it has none. Errors: those of reading evidence."""
    attempts = (event.data for event in events if isinstance(event.data, DiscoveryAttempted))
    first = next((attempt for attempt in attempts if attempt.outcome == "accepted"), None)
    if first is None:
        return None
    digest = first.response_digest or first.output_digest
    text = first.output if first.response_digest is None else first.response
    return text if text is not None or digest is None else (await store.evidence(digest)).data.decode()


async def _read_scores(
    store: EventStore, started: DiscoveryStarted, attempts: Sequence[DiscoveryAttempted]
) -> dict[int, dict[str, float | None]]:
    """Return the total score of each attempt for each probe of the run, by the newest version of its scorer."""
    stated = [(one.probe_id, one.probe_version) for one in started.battery or ()]
    found = [find_probe(*one) for one in stated or [(started.probe_id or "", started.probe_version)]]
    probes = [probe for probe in found if probe is not None]
    scores: dict[int, dict[str, float | None]] = {
        attempt.attempt: {probe.id: None for probe in probes} for attempt in attempts
    }
    scorers = [scorer for probe in probes for scorer in reversed(probe.scorers)]
    versions = {(scorer.id, scorer.version): place for place, scorer in enumerate(scorers)}
    score_ids = [score_id_of(attempt.run_id, attempt.attempt, *version) for attempt in attempts for version in versions]
    events: list[Event] = []
    for start in range(0, len(score_ids), ITEMS_MAX):
        subjects = [f"probe/{score_id}" for score_id in score_ids[start : start + ITEMS_MAX]]
        events += VOCABULARY.events(await store.streams(subjects))
    found_scores = [event.data for event in events if isinstance(event.data, ProbeScored)]
    for data in sorted(found_scores, key=lambda one: versions[one.scorer_id or "", one.scorer_version or ""]):
        if data.attempt in scores and data.probe_id in scores[data.attempt] and data.total_score is not None:
            scores[data.attempt][data.probe_id] = data.total_score
    return scores


def _summarize_model(attempt: DiscoveryAttempted, scores: dict[str, float | None], names: ModelNames) -> ModelSummary:
    claimed = attempt.claimed
    assert claimed is not None
    assert attempt.iteration is not None
    return ModelSummary(
        iteration=attempt.iteration,
        attempt=attempt.attempt,
        model_name=claimed.model_name,
        provider=claimed.provider,
        reported_model=attempt.reported_model,
        score=next(iter(scores.values()), None),
        elapsed_ns=attempt.elapsed_ns,
        known=names.known(claimed.model_name),
        register=find_registration(claimed, names),
        scores=scores if len(scores) > 1 else UNSET,
        detail=attempt.detail or UNSET,
    )

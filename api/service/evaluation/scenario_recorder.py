"""Record scenarios in the ledger: each once, and again if it has changed.

One read of the ledger is for many scenarios. Each append expects the version of each stream that was read: if two
callers record the same change, one writes it, and the other reads again and has nothing to write.
"""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from api.errors import BodyTooLarge
from api.service.evaluation.suite_files import keep_suite_files, split_batches
from api.service.evidence import Blob, digest_of
from api.service.retry import retry, while_refused
from api.service.store import EventStore
from events.envelope import Draft
from events.errors import InvalidEvent
from events.evaluation import EvalScenarioCaptured, EvalScenarioRevised, EvalStarted
from events.evidence import EvidenceErased, EvidenceStored
from events.limits import EVIDENCE_BYTES_MAX, LINE_BYTES_MAX
from events.payload import Payload
from events.registry import VOCABULARY
from instruments.evals.scenario import Description, Scenario
from instruments.evals.suite.loader import INVESTIGATION_FILE
from ledger.errors import InvalidQuery

SCENARIOS_PER_BATCH = 100
"""Scenarios in one read of the ledger and one append; each has two streams."""

DATA_BYTES_MAX = LINE_BYTES_MAX - 1_024
"""The most bytes of a payload: a line has space for them beside the longest attributes."""

_encode = msgspec.json.Encoder().encode
_captured = VOCABULARY.event_types["eval.scenario_captured.v1"].draft
_revised = VOCABULARY.event_types["eval.scenario_revised.v1"].draft
_NOT_REVISED = frozenset({"scenario_id", "source", "captured_at", "captured_by"})
"""Fields whose change is not a revision: who captured a scenario, when, and from where."""


class RecordedScenarios(msgspec.Struct, frozen=True):
    """How many scenarios were new, changed and unchanged."""

    captured: int = 0
    revised: int = 0
    unchanged: int = 0


class ScenarioInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The event of a scenario, and the bytes of its investigation if they are evidence to store."""

    title: str
    event: EvalScenarioCaptured
    investigation: bytes | None = None


async def record_suite(
    store: EventStore, started: EvalStarted, scenarios: Sequence[Scenario], *, keep_files: bool
) -> EvalStarted:
    """Record the scenarios of a run that begins, and with `keep_files` store their files; return its start.

    Errors: those of `record_scenarios` and `keep_suite_files`.
    """
    await record_scenarios(store, scenarios, keep=False)
    if not keep_files:
        return started
    return structs.replace(started, suite_files_digest=await keep_suite_files(store, started.suite, scenarios))


async def record_scenarios(
    store: EventStore, scenarios: Sequence[Scenario], *, source: str | None = None, keep: bool = True
) -> RecordedScenarios:
    """Record new scenarios as captured, changed ones as revised, and nothing for the others.

    `source` is the source of all of them; by default each scenario's own. With `keep`, the bytes of each
    investigation.json are stored as evidence, except those that were erased before.
    Errors: InvalidEvent and BodyTooLarge, naming the scenario: nothing was written; InvalidQuery, for a file that
    changed since it was loaded, and those of `EventStore.append`: what was written before stays, and recording again
    is safe.
    """
    infos = [_scenario_info(scenario, source) for scenario in scenarios]
    if keep:
        for scenario in scenarios:
            _check_size(scenario.title, (scenario.folder / INVESTIGATION_FILE).stat().st_size)
    total = RecordedScenarios()
    with_bytes = (_with_bytes(*each, keep=keep) for each in zip(scenarios, infos, strict=True))
    for batch in split_batches(with_bytes, SCENARIOS_PER_BATCH):
        recorded = await record_batch(store, batch)
        total = RecordedScenarios(
            total.captured + recorded.captured, total.revised + recorded.revised, total.unchanged + recorded.unchanged
        )
    return total


async def record_batch(store: EventStore, infos: Sequence[ScenarioInfo]) -> RecordedScenarios:
    """Record at most SCENARIOS_PER_BATCH scenarios, all or none. Errors: those of `EventStore.append`."""
    events = await _append_batch(store, infos)
    captured = sum(type(event) is EvalScenarioCaptured for event in events)
    return RecordedScenarios(captured, len(events) - captured, len(infos) - len(events))


async def record_new(store: EventStore, infos: Sequence[ScenarioInfo]) -> list[str]:
    """Record those of at most SCENARIOS_PER_BATCH scenarios that the ledger lacks, all or none; return their ids.

    The others stay as they are. Errors: those of `EventStore.append`.
    """
    events = await _append_batch(store, infos, revise=False)
    return [event.scenario_id for event in events if isinstance(event, EvalScenarioCaptured) and event.scenario_id]


async def _append_batch(store: EventStore, infos: Sequence[ScenarioInfo], *, revise: bool = True) -> list[Payload]:
    """Append new scenarios and, with `revise`, changed ones, and their bytes; return the payloads."""

    async def attempt(again: bool) -> list[Payload]:
        state = await _read_state(store, infos)
        chosen = [info for info in infos if revise or info.event.scenario_id not in state.last]
        drafts = [draft for info in chosen if (draft := state.draft(info.event)) is not None]
        blobs = [blob for info in chosen if (blob := state.blob(info)) is not None]
        async with store.keep(blobs) as evidence:
            if evidence or drafts:
                await store.append([*evidence, *drafts])
        return [draft.data for draft in drafts]

    return await retry(attempt, while_refused)


def build_scenario_info(title: str, event: EvalScenarioCaptured, investigation: bytes | None = None) -> ScenarioInfo:
    """Check a scenario's event; return it with its bytes. Errors: InvalidEvent, BodyTooLarge, naming the scenario."""
    if investigation is not None:
        _check_size(title, len(investigation))
    line = _encode(_captured(data=event))
    try:
        VOCABULARY.draft(line)
    except InvalidEvent as error:
        field = (error.field or "").removeprefix("data.")
        raise InvalidEvent(f"Scenario {title}: {error.detail_for(field)}", error.advice, field=field or None) from None
    if len(line) > DATA_BYTES_MAX:
        raise InvalidEvent(
            f"Scenario {title}: its texts take {len(line):,} bytes; a line holds at most {DATA_BYTES_MAX:,}.",
            "Shorten the description.",
            field="description",
        )
    return ScenarioInfo(title=title, event=event, investigation=investigation)


def _scenario_info(scenario: Scenario, source: str | None) -> ScenarioInfo:
    event = captured_event(
        scenario.about,
        scenario.investigation,
        scenario_id=scenario.id,
        mode=scenario.mode or None,
        fixture_digest=scenario.fixture_digest,
        expectation_digest=scenario.expectation_digest,
        investigation_digest=scenario.investigation_digest,
    )
    return build_scenario_info(scenario.title, structs.replace(event, source=source or event.source))


def captured_event(
    about: Description, investigation: dict[str, object], *, fixture_digest: str, **facts: str | None
) -> EvalScenarioCaptured:
    """Return the event of a scenario: what its description states, and `facts` that are fields of the event."""
    return EvalScenarioCaptured(
        **facts,
        fixture_digest=fixture_digest,
        name=about.name or None,
        family=about.family or None,
        failure_type=about.failure_type or None,
        description=about.description or None,
        source=about.source or None,
        fingerprint=alert_fingerprint(investigation),
        captured_at=about.captured_at or None,
        captured_by=about.captured_by or None,
    )


def alert_fingerprint(investigation: dict[str, object]) -> str | None:
    """Return the fingerprint of the investigated alert, if it has one."""
    alert = investigation.get("alert")
    fingerprint = alert.get("fingerprint") if isinstance(alert, dict) else None
    return fingerprint if isinstance(fingerprint, str) and fingerprint else None


def _check_size(title: str, size_bytes: int) -> None:
    """Check the size of an investigation. Errors: BodyTooLarge."""
    if size_bytes > EVIDENCE_BYTES_MAX:
        raise BodyTooLarge(
            f"Scenario {title}: {INVESTIGATION_FILE} has {size_bytes:,} bytes, and what is kept as evidence has "
            f"at most {EVIDENCE_BYTES_MAX:,}.",
            "Remove from its evidence the parts that no agent needs.",
        )


def _with_bytes(scenario: Scenario, info: ScenarioInfo, *, keep: bool) -> tuple[ScenarioInfo, int]:
    """Return a scenario with the bytes to store if `keep`, and their number. Errors: InvalidQuery, OSError."""
    if not keep:
        return info, 0
    data = (scenario.folder / INVESTIGATION_FILE).read_bytes()
    if digest_of(data) != scenario.investigation_digest:
        detail = f"{scenario.title}: {INVESTIGATION_FILE} was changed after it was read."
        raise InvalidQuery("scenario", detail, "Run it again.")
    return structs.replace(info, investigation=data), len(data)


class _StoredState(msgspec.Struct, frozen=True):
    """The state in the ledger: the version and last event of each scenario, and the digests that have events."""

    versions: dict[str, int]
    last: dict[str, EvalScenarioCaptured | EvalScenarioRevised]
    evidence: set[str]

    def draft(self, event: EvalScenarioCaptured) -> Draft | None:
        """Return the event to append; None if nothing has changed."""
        assert event.scenario_id is not None
        last = self.last.get(event.scenario_id)
        draft: Draft
        if last is None:
            draft = _captured(data=event, expectedversion=0)
            return draft
        if all(
            getattr(last, name) == getattr(event, name) for name in event.__struct_fields__ if name not in _NOT_REVISED
        ):
            return None
        data = EvalScenarioRevised(**structs.asdict(event))
        draft = _revised(data=data, expectedversion=self.versions[event.scenario_id])
        return draft

    def blob(self, info: ScenarioInfo) -> Blob | None:
        """Return the bytes to store; None if they are stored already, were erased, or are not requested."""
        if info.investigation is None or info.event.investigation_digest in self.evidence:
            return None
        return Blob(info.investigation, "application/json", f"Investigation of scenario {info.event.scenario_id}")


async def _read_state(store: EventStore, infos: Sequence[ScenarioInfo]) -> _StoredState:
    subjects = [f"scenario/{info.event.scenario_id}" for info in infos]
    evidence_subjects = {
        f"evidence/{info.event.investigation_digest}" for info in infos if info.investigation is not None
    }
    state = _StoredState({}, {}, set())
    for fact in VOCABULARY.facts(await store.streams([*subjects, *sorted(evidence_subjects)])):
        data = fact.data
        if isinstance(data, EvidenceStored | EvidenceErased):
            state.evidence.add(data.digest)
        elif isinstance(data, EvalScenarioCaptured | EvalScenarioRevised):
            assert data.scenario_id is not None
            state.versions[data.scenario_id] = state.versions.get(data.scenario_id, 0) + 1
            state.last[data.scenario_id] = data
    return state

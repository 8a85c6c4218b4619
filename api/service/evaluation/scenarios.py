"""Record scenarios: each once, and again if it has changed.

The ledger is read for many scenarios at once. Each append names the version of each stream that it follows: of two
callers that record the same change one writes it, and the other reads again and finds it there.
"""

from collections.abc import Iterator, Sequence

import msgspec

from api.errors import BodyTooLarge
from api.service.evidence import Blob, digest_of
from api.service.retry import retry, while_refused
from api.service.store import EventStore
from events.envelope import Draft
from events.errors import InvalidEvent
from events.evaluation import EvalScenarioCaptured, EvalScenarioRevised
from events.evidence import EvidenceErased, EvidenceStored
from events.limits import BATCH_BYTES_MAX, EVIDENCE_BYTES_MAX, LINE_BYTES_MAX
from events.registry import VOCABULARY
from instruments.evals import Scenario
from instruments.evals.suite.loader import INVESTIGATION_FILE
from ledger.errors import InvalidQuery

SCENARIOS_PER_BATCH = 100
"""Scenarios in one read of the ledger and one append; each has two streams."""

DATA_BYTES_MAX = LINE_BYTES_MAX - 1_024
"""The most bytes of a payload that fit on a line with the longest attributes."""

_encode = msgspec.json.Encoder().encode
_captured = VOCABULARY.kinds["eval.scenario_captured.v1"].draft
_revised = VOCABULARY.kinds["eval.scenario_revised.v1"].draft
_apart = frozenset({"scenario_id", "source", "captured_at", "captured_by"})
"""Fields that may differ without a revision: who captured a scenario, when and from where."""


class RecordedScenarios(msgspec.Struct, frozen=True):
    """How many scenarios are new, how many have changed, and how many were known unchanged."""

    captured: int = 0
    revised: int = 0
    unchanged: int = 0


class ScenarioInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The event of a scenario, and the bytes of its investigation if they are to be kept."""

    title: str
    event: EvalScenarioCaptured
    investigation: bytes | None = None


async def record_scenarios(
    store: EventStore, scenarios: Sequence[Scenario], *, source: str | None = None, keep: bool = True
) -> RecordedScenarios:
    """Record new scenarios as captured, changed ones as revised, and nothing for the others.

    `source` says where all of them come from; without it each scenario's own source is used. With `keep` the bytes of
    each investigation.json are kept as evidence, except those that were erased before.
    Errors: InvalidEvent and BodyTooLarge, naming the scenario: nothing was written; InvalidQuery, for a file that
    changed since it was loaded, and those of `EventStore.append`: what was written before stays, and recording again
    is safe.
    """
    accounts = [_scenario_info(scenario, source) for scenario in scenarios]
    if keep:
        for scenario in scenarios:
            _check_size(scenario.title, (scenario.folder / INVESTIGATION_FILE).stat().st_size)
    done = RecordedScenarios()
    for part in _split_batches(scenarios, accounts, keep=keep):
        more = await record_batch(store, part)
        done = RecordedScenarios(
            done.captured + more.captured, done.revised + more.revised, done.unchanged + more.unchanged
        )
    return done


async def record_batch(store: EventStore, accounts: Sequence[ScenarioInfo]) -> RecordedScenarios:
    """Record at most ASKED scenarios, each once, all or none. Errors: those of `EventStore.append`."""

    async def attempt(again: bool) -> RecordedScenarios:
        known = await _read_known(store, accounts)
        drafts = [draft for account in accounts if (draft := known.draft(account.event)) is not None]
        blobs = [blob for account in accounts if (blob := known.blob(account)) is not None]
        async with store.keep(blobs) as evidence:
            if evidence or drafts:
                await store.append([*evidence, *drafts])
        captured = sum(type(draft.data) is EvalScenarioCaptured for draft in drafts)
        return RecordedScenarios(captured, len(drafts) - captured, len(accounts) - len(drafts))

    return await retry(attempt, while_refused)


def build_scenario_info(title: str, event: EvalScenarioCaptured, investigation: bytes | None = None) -> ScenarioInfo:
    """Return the event of a scenario, checked. Errors: InvalidEvent, BodyTooLarge, naming the scenario."""
    if investigation is not None:
        _check_size(title, len(investigation))
    line = _encode(_captured(data=event))
    try:
        VOCABULARY.draft(line)
    except InvalidEvent as error:
        field = (error.field or "").removeprefix("data.")
        detail = error.detail.removeprefix("data.")
        raise InvalidEvent(f"Scenario {title}: {detail}", error.advice, field=field or None) from None
    if len(line) > DATA_BYTES_MAX:
        raise InvalidEvent(
            f"Scenario {title}: its texts take {len(line):,} bytes; a line holds at most {DATA_BYTES_MAX:,}.",
            "Shorten the description. Nothing was written.",
            field="description",
        )
    return ScenarioInfo(title=title, event=event, investigation=investigation)


def _scenario_info(scenario: Scenario, source: str | None) -> ScenarioInfo:
    description = scenario.about
    event = EvalScenarioCaptured(
        scenario_id=scenario.id,
        name=description.name or None,
        family=description.family or None,
        failure_type=description.failure_type or None,
        mode=scenario.mode or None,
        description=description.description or None,
        fixture_digest=scenario.fixture_digest,
        expectation_digest=scenario.expectation_digest,
        investigation_digest=scenario.investigation_digest,
        source=source or description.source or None,
        fingerprint=alert_fingerprint(scenario.investigation),
        captured_at=description.captured_at or None,
        captured_by=description.captured_by or None,
    )
    return build_scenario_info(scenario.title, event)


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
            f"at most {EVIDENCE_BYTES_MAX:,}; nothing was written.",
            "Remove from its evidence the parts that no agent needs.",
        )


def _split_batches(
    scenarios: Sequence[Scenario], accounts: Sequence[ScenarioInfo], *, keep: bool
) -> Iterator[list[ScenarioInfo]]:
    """Yield scenarios to record together, with the bytes to keep. Errors: InvalidQuery, OSError."""
    part: list[ScenarioInfo] = []
    size_bytes = 0
    for scenario, account in zip(scenarios, accounts, strict=True):
        data = _read_investigation(scenario) if keep else b""
        size_bytes += len(data)
        if part and (len(part) == SCENARIOS_PER_BATCH or size_bytes > BATCH_BYTES_MAX):
            yield part
            part, size_bytes = [], len(data)
        part.append(msgspec.structs.replace(account, investigation=data) if keep else account)
    if part:
        yield part


def _read_investigation(scenario: Scenario) -> bytes:
    data = (scenario.folder / INVESTIGATION_FILE).read_bytes()
    if digest_of(data) != scenario.investigation_digest:
        detail = f"{scenario.title}: {INVESTIGATION_FILE} was changed after it was read."
        raise InvalidQuery("scenario", detail, "Run it again.")
    return data


class _Known(msgspec.Struct, frozen=True):
    """The current state in the ledger: the version and last event of each scenario, and the known evidence."""

    versions: dict[str, int]
    last: dict[str, EvalScenarioCaptured | EvalScenarioRevised]
    evidence: set[str]

    def draft(self, event: EvalScenarioCaptured) -> Draft | None:
        """Return the event to append; None if nothing is new."""
        assert event.scenario_id is not None
        last = self.last.get(event.scenario_id)
        draft: Draft
        if last is None:
            draft = _captured(data=event, expectedversion=0)
            return draft
        if all(getattr(last, name) == getattr(event, name) for name in event.__struct_fields__ if name not in _apart):
            return None
        data = EvalScenarioRevised(**msgspec.structs.asdict(event))
        draft = _revised(data=data, expectedversion=self.versions[event.scenario_id])
        return draft

    def blob(self, account: ScenarioInfo) -> Blob | None:
        """Return the bytes to keep; None if they are stored, were erased, or are not to be kept."""
        if account.investigation is None or account.event.investigation_digest in self.evidence:
            return None
        return Blob(account.investigation, "application/json", f"Investigation of scenario {account.event.scenario_id}")


async def _read_known(store: EventStore, accounts: Sequence[ScenarioInfo]) -> _Known:
    scenarios = [f"scenario/{account.event.scenario_id}" for account in accounts]
    evidence_subjects = {
        f"evidence/{account.event.investigation_digest}" for account in accounts if account.investigation is not None
    }
    known = _Known({}, {}, set())
    for fact in VOCABULARY.facts(await store.streams([*scenarios, *sorted(evidence_subjects)])):
        data = fact.data
        if isinstance(data, EvidenceStored | EvidenceErased):
            known.evidence.add(data.digest)
        elif isinstance(data, EvalScenarioCaptured | EvalScenarioRevised):
            assert data.scenario_id is not None
            known.versions[data.scenario_id] = known.versions.get(data.scenario_id, 0) + 1
            known.last[data.scenario_id] = data
    return known

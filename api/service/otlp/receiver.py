"""Append what arrives by OTLP: scores to their runs, calls to their streams; count what is rejected, and say why.

Exporters send a batch again when they have no answer, so every record is first looked up by its id. An equal one was
received before, from any source; another one with the same id is rejected. Only new ones are appended. Scores that
state no attempt are numbered by the log's state: one request at a time does that here, and the expected version of
the stream finds out if another process did it meanwhile.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from msgspec import structs

from api.principal import Principal
from api.rate_limit import ServerLimitReached
from api.service.ledger import LedgerService
from api.service.otlp import attribute_names as names
from api.service.otlp.received_scores import (
    TIME_MAX_NS,
    ReceivedScore,
    RejectedRecord,
    check_payload,
    finite_number_of,
    read_score,
)
from api.service.otlp.telemetry_records import TelemetryRecord, TelemetrySpan, count_of, text_of
from events.call import CallRecorded
from events.envelope import Draft
from events.evaluation import EvalScored
from events.limits import ITEMS_MAX, PAGE_EVENTS_MAX
from events.payload import COUNT_MAX, Payload
from events.registry import VOCABULARY
from ledger.clock import moment_of
from ledger.errors import AppendRefused, IdentityConflict
from ledger.log import Query
from projections.evaluation.evaluation_index import EvaluationIndex, ScoreFilter


class ReceivedCall(NamedTuple):
    """A call, its event's id, and when it ended."""

    call: CallRecorded
    event_id: str
    time: datetime


def read_call(span: TelemetrySpan) -> ReceivedCall:
    """Return the call that a span describes. Errors: RejectedRecord."""
    attributes, resource = span.attributes, span.resource
    operation = text_of(attributes, names.OPERATION)
    if operation is None:
        raise RejectedRecord(f"not a GenAI span: no {names.OPERATION}")
    if not span.trace_id or not span.span_id:
        raise RejectedRecord("no trace id or span id")
    if not 0 < span.start_ns <= span.end_ns < TIME_MAX_NS:
        raise RejectedRecord("no start, or no end after it")
    elapsed_ns = span.end_ns - span.start_ns
    call = CallRecorded(
        call_id=f"{span.trace_id}-{span.span_id}",
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id or None,
        operation=operation,
        provider=text_of(attributes, *names.PROVIDER),
        agent=text_of(attributes, names.AGENT) or text_of(resource, names.SERVICE),
        agent_version=text_of(attributes, names.AGENT_VERSION) or text_of(resource, names.SERVICE_VERSION),
        model=text_of(attributes, names.REQUEST_MODEL),
        reported_model=text_of(attributes, names.RESPONSE_MODEL),
        tool=text_of(attributes, names.TOOL),
        response_id=text_of(attributes, names.RESPONSE_ID),
        conversation_id=text_of(attributes, names.CONVERSATION),
        input_tokens=count_of(attributes, *names.INPUT_TOKENS),
        output_tokens=count_of(attributes, *names.OUTPUT_TOKENS),
        cost_usd=finite_number_of(attributes, names.COST_USD),
        elapsed_ns=elapsed_ns if elapsed_ns <= COUNT_MAX else None,
        error=text_of(attributes, names.ERROR_TYPE) or (names.OTHER_ERROR if span.failed else None),
    )
    return ReceivedCall(check_payload(call), f"call:{call.call_id}", moment_of(span.end_ns // 1000))


SCORES_APPENDED_MAX = 500
"""Scores in one append, besides the starts of their runs."""

TRIES_MAX = 10
"""Appends that are tried while other processes change the same streams."""

POSITIONS_OF_ID_MAX = 4
"""Events with one id, of different sources, that are looked up: only a program that imitates our ids makes several."""

REASONS_MAX = 5
"""Different reasons that an answer lists."""

REASON_CHARS_MAX = 300

_Item = TypeVar("_Item")
_Read = TypeVar("_Read")

_turns: "WeakKeyDictionary[LedgerService, asyncio.Lock]" = WeakKeyDictionary()


class OtlpReceipt:
    """The result of a request: how many records were appended, were received before, or were rejected."""

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self.appended = 0
        self.duplicates = 0
        self.reasons: Counter[str] = Counter()

    @property
    def rejected(self) -> int:
        return self.reasons.total()

    def reject(self, reason: str) -> None:
        """Count a rejected record."""
        self.reasons[reason[:REASON_CHARS_MAX]] += 1

    @property
    def message(self) -> str:
        """How many records were rejected, and why; empty if none was."""
        if not self.reasons:
            return ""
        total = self.appended + self.duplicates + self.rejected
        listed = "; ".join(f"{count:,}: {reason}" for reason, count in self.reasons.most_common(REASONS_MAX))
        more = "; and others" if len(self.reasons) > REASONS_MAX else ""
        return f"{self.rejected:,} of {total:,} {self.noun} rejected. {listed}{more}."


async def receive_logs(ledger: LedgerService, caller: Principal, records: Sequence[TelemetryRecord]) -> OtlpReceipt:
    """Append the scores in log records that are not in the log. Errors: those of `LedgerService.record`."""
    receipt = OtlpReceipt("log records")
    scores = _read_all(records, read_score, receipt)
    async with _turns.setdefault(ledger, asyncio.Lock()):
        for chunk in _chunks(scores, SCORES_APPENDED_MAX):
            await _append(ledger, caller, chunk, _plan_scores, receipt)
    caller.spend(receipt.duplicates + receipt.rejected)
    return receipt


async def receive_spans(ledger: LedgerService, caller: Principal, spans: Sequence[TelemetrySpan]) -> OtlpReceipt:
    """Append the calls in spans that are not in the log. Errors: those of `LedgerService.record`."""
    receipt = OtlpReceipt("spans")
    for chunk in _chunks(_read_all(spans, read_call, receipt), ITEMS_MAX):
        await _append(ledger, caller, chunk, _plan_calls, receipt)
    caller.spend(receipt.duplicates + receipt.rejected)
    return receipt


def _read_all(records: Sequence[_Item], read: Callable[[_Item], _Read], receipt: OtlpReceipt) -> list[_Read]:
    found: list[_Read] = []
    for record in records:
        try:
            found.append(read(record))
        except RejectedRecord as rejection:
            receipt.reject(str(rejection))
    return found


def _chunks(items: list[_Item], size: int) -> Iterator[list[_Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


async def _append(
    ledger: LedgerService,
    caller: Principal,
    items: Sequence[_Item],
    plan_for: "Callable[[LedgerService, Sequence[_Item]], Awaitable[_Plan[_Item]]]",
    receipt: OtlpReceipt,
) -> None:
    for _ in range(TRIES_MAX):
        plan = await plan_for(ledger, items)
        try:
            if plan.drafts:
                await ledger.record(plan.drafts, caller)
        except IdentityConflict as conflict:
            refused = plan.new[max(0, (conflict.index or 0) - (len(plan.drafts) - len(plan.new)))]
            receipt.reject("another event of this agent has the same id")
            items = [item for item in items if item is not refused]
        except AppendRefused:
            continue
        else:
            receipt.appended += len(plan.new)
            receipt.duplicates += plan.duplicates
            for reason in plan.rejected:
                receipt.reject(reason)
            return
    raise ServerLimitReached(
        "Others change the same evaluations or calls; not all records were written.", "Send the batch again."
    )


class _Plan(Generic[_Item]):
    """What to append of some scores or calls, given the state of the log."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        """The starts of new runs, then the new scores; or the new calls."""
        self.new: list[_Item] = []
        self.duplicates = 0
        self.rejected: list[str] = []


async def _plan_calls(ledger: LedgerService, calls: Sequence[ReceivedCall]) -> _Plan[ReceivedCall]:
    plan: _Plan[ReceivedCall] = _Plan()
    subjects = tuple({f"call/{received.call.call_id}" for received in calls})
    page = await ledger.reader.read(Query(subjects=subjects, limit=PAGE_EVENTS_MAX))
    known = {event.data.call_id: event.data for event in _of_type(page.ndjson, CallRecorded)}
    for received in calls:
        earlier = known.setdefault(received.call.call_id, received.call)
        if earlier is received.call:
            plan.new.append(received)
        elif earlier == received.call:
            plan.duplicates += 1
        else:
            plan.rejected.append("the span was received before with other content")
    plan.drafts = [VOCABULARY.draft_of(call, id=event_id, time=time) for call, event_id, time in plan.new]
    return plan


async def _plan_scores(ledger: LedgerService, scores: Sequence[ReceivedScore]) -> _Plan[ReceivedScore]:
    plan: _Plan[ReceivedScore] = _Plan()
    known = await _known_scores(ledger, {received.event_id for received in scores})
    versions = await _versions(ledger, {received.run_id for received in scores if received.numbered})
    index, _ = await ledger.at(EvaluationIndex)
    starts: dict[str, ReceivedScore] = {}
    attempts: dict[str, dict[str, int]] = {}
    counted: set[str] = set()
    drafts: list[Draft] = []
    for received in scores:
        score, run_id = received.score, received.run_id
        if (earlier := known.get(received.event_id)) is not None:
            if _same(received, earlier):
                plan.duplicates += 1
            else:
                plan.rejected.append("the score was received before with other content")
            continue
        if (reason := _refusal(index, starts.get(run_id), received)) is not None:
            plan.rejected.append(reason)
            continue
        if not index.has(run_id):
            starts.setdefault(run_id, received)
        last = attempts.setdefault(run_id, {})
        if received.numbered:
            if run_id not in counted:
                counted.add(run_id)
                for name, attempt in _last_attempts(index, run_id).items():
                    last[name] = max(attempt, last.get(name, 0))
            score = structs.replace(score, attempt=last.get(score.scenario_id, 0) + 1)
        last[score.scenario_id] = max(score.attempt, last.get(score.scenario_id, 0))
        known[received.event_id] = score
        plan.new.append(received)
        draft = VOCABULARY.draft_of(score, id=received.event_id, time=received.time)
        if run_id in versions:
            versions[run_id] += run_id in starts and versions[run_id] == 0
            draft.expectedversion = versions[run_id]
            versions[run_id] += 1
        drafts.append(draft)
    plan.drafts = [VOCABULARY.draft_of(each.started, time=each.time) for each in starts.values()] + drafts
    return plan


def _refusal(index: EvaluationIndex, begun: ReceivedScore | None, received: ReceivedScore) -> str | None:
    """Return why a run does not take a score; None if it does. `begun` is the score that begins it in this request."""
    run_id = received.run_id
    found = index.find_run(run_id)
    if found is None and begun is None:
        return None
    if found is not None and found[1]:
        return f"evaluation {run_id} has ended"
    started = index.started(run_id) if begun is None else begun.started
    if received.suite_stated and received.started.suite != started.suite:
        return f"evaluation {run_id} is of the suite {started.suite}"
    if started.scorer_id not in (None, received.started.scorer_id):
        return f"evaluation {run_id} is of the scorer {started.scorer_id}"
    return None


def _last_attempts(index: EvaluationIndex, run_id: str) -> dict[str, int]:
    """Return the highest attempt at each scenario of a run, which need not exist."""
    found = index.find_run(run_id)
    if found is None:
        return {}
    scores = index.scores(ScoreFilter(runs=[found[0]]))
    last: dict[str, int] = {}
    for number, attempt in zip(scores.scenario.tolist(), scores.attempt.tolist(), strict=True):
        name = scores.scenarios[number]
        last[name] = max(attempt, last.get(name, 0))
    return last


def _same(received: ReceivedScore, earlier: EvalScored) -> bool:
    score = structs.replace(received.score, attempt=earlier.attempt) if received.numbered else received.score
    return score == earlier


async def _known_scores(ledger: LedgerService, event_ids: set[str]) -> dict[str, EvalScored]:
    """Return the scores in the log that have some event ids, from any source."""
    positions = [
        position
        for event_id in event_ids
        for position in await ledger.reader.positions_of_id(event_id, POSITIONS_OF_ID_MAX)
    ]
    known: dict[str, EvalScored] = {}
    for chunk in _chunks(positions, ITEMS_MAX):
        page = await ledger.reader.read(Query(positions=tuple(chunk), limit=PAGE_EVENTS_MAX))
        known |= {event.id: event.data for event in _of_type(page.ndjson, EvalScored)}
    return known


async def _versions(ledger: LedgerService, run_ids: set[str]) -> dict[str, int]:
    """Return how many events the stream of each run has."""
    versions: dict[str, int] = {}
    for run_id in run_ids:
        query = Query(subjects=(f"evaluation/{run_id}",), limit=1, order="desc")
        newest = list(VOCABULARY.events((await ledger.reader.read(query)).ndjson))
        versions[run_id] = newest[0].streamversion if newest else 0
    return versions


def _of_type(ndjson: bytes, kind: type[Payload]) -> list[Any]:
    return [event for event in VOCABULARY.events(ndjson) if isinstance(event.data, kind)]

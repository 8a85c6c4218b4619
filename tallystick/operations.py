"""Each operation of the client as a `Flow`: its requests, and how their answers become its result."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from tallystick.errors import Conflict, InvalidArgument, NotAllowed
from tallystick.event_drafts import Draft, Drafts, encode_json, instant_text
from tallystick.fields import (
    AmendFields,
    CalibrationFilter,
    DecisionFields,
    DecisionFilter,
    DiscoveryOptions,
    EventFields,
    EventSelection,
    LinkFields,
    Plan,
    ReviewFields,
    ThoughtFields,
)
from tallystick.ids import new_event_id, new_stream_id, reviewed_event_id
from tallystick.request_flow import (
    Flow,
    PromptStep,
    Request,
    TimedReply,
    decode_response,
    send,
)
from tallystick.results import DecisionEvent, DecisionPage, DecisionState, DiscoveryReport, EventPage, ThoughtEvent
from tallystick.settings import Settings
from tallystick.shapes.advice import Advice
from tallystick.shapes.appended import AppendedEvent, AppendResult, RemarkedResult
from tallystick.shapes.calibration import CalibrationAnswer
from tallystick.shapes.decisions import RecordedLink, Review

_Kind = TypeVar("_Kind")

JSON = {"content-type": "application/json"}
PAGE_EVENTS = 1_000
"""Events requested in one page."""


class _Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """The next prompt of a discovery run. `prompt` is None once the run has ended."""

    run_id: str
    attempt: int | None = None
    prompt: str | None = None


class _Judged(msgspec.Struct, frozen=True, kw_only=True):
    """How a run judged a response, and the next prompt."""

    next: _Prompt
    lines: tuple[str, ...] = ()


class Operations:
    """The operations of one client."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._drafts = Drafts(settings.agent)
        self._agent = settings.agent

    def record(self, decision: str, fields: DecisionFields) -> Flow[DecisionEvent]:
        """Record a decision. An older server ignores the query, and evaluates no guardrails."""
        drafts, query = self._drafts.record(decision, fields), {"guardrails": "true"}
        if len(drafts) == 1:
            return (yield from self._submit("/events", drafts[0], DecisionEvent, query))
        result = yield from self._submit("/events", drafts, RemarkedResult, query)
        first = msgspec.structs.asdict(result.events[0])
        return DecisionEvent(
            **first, guardrail_warnings=result.guardrail_warnings, thoughts_pending=result.thoughts_pending
        )

    def amend(self, decision_id: str, fields: AmendFields) -> Flow[DecisionEvent]:
        """Amend a decision."""
        return (yield from self._post(self._drafts.amend(decision_id, fields), DecisionEvent))

    def review(self, decision_id: str, outcome: str, fields: ReviewFields) -> Flow[DecisionEvent]:
        """Review a decision."""
        return (yield from self._post(self._drafts.review(decision_id, outcome, fields), DecisionEvent))

    def retract(self, decision_id: str, reason: str, fields: EventFields) -> Flow[DecisionEvent]:
        """Withdraw a decision."""
        return (yield from self._post(self._drafts.retract(decision_id, reason, fields), DecisionEvent))

    def conclude(self, decision_id: str, outcome: str, fields: ReviewFields) -> Flow[None]:
        """Review a decision at the end of its block, only once even if the program runs again.

        The id of the review is derived from the decision's. If an earlier run of the program has used it already, a new
        review is added only if it differs from the latest one.
        """
        draft = self._drafts.review(decision_id, outcome, {"event_id": reviewed_event_id(decision_id), **fields})
        is_current = False
        try:
            event = yield from self._post(draft, DecisionEvent)
            is_current = True
            if not event.duplicate:
                return
        except Conflict as error:
            if error.code != "identity-conflict":
                raise
        with suppress(NotAllowed):  # the token may not read: keep the result of the first post
            is_current = _is_same_review((yield from self.get_decision(decision_id, None)).review, draft["data"])
        if not is_current:
            yield from self._post({**draft, "id": new_event_id()}, DecisionEvent)

    def think(self, text: str, fields: ThoughtFields) -> Flow[ThoughtEvent]:
        """Record a thought."""
        event = yield from self._post(self._drafts.think(text, fields), AppendedEvent)
        return ThoughtEvent(**msgspec.structs.asdict(event), text=text)

    def link(self, decision_id: str, other_id: str, edge_type: str, fields: LinkFields) -> Flow[RecordedLink]:
        """Link two decisions."""
        draft = self._drafts.link(decision_id, other_id, edge_type, fields)
        return (yield from self._submit("/links", draft, RecordedLink))

    def append(self, events: Iterable[Mapping[str, Any]]) -> Flow[AppendResult]:
        """Append events of any types, all or none."""
        drafts = [self._drafts.given(event) for event in events]
        if not drafts:
            raise InvalidArgument("events: the list is empty.", "Give at least one.", field="events")
        return (yield from self._post(drafts, AppendResult))

    def decisions(self, selection: DecisionFilter) -> Flow[DecisionPage]:
        """List decisions."""
        query = yield from self._with_agent(selection)
        return (yield from self._get("/decisions", query, DecisionPage))

    def get_decision(self, decision_id: str, as_of: object) -> Flow[DecisionState]:
        """Read one decision."""
        return (yield from self._get(f"/decisions/{quote(decision_id, safe='')}", {"as_of": as_of}, DecisionState))

    def calibration(self, selection: CalibrationFilter) -> Flow[CalibrationAnswer]:
        """Compute an agent's calibration."""
        query = yield from self._with_agent(selection)
        return (yield from self._get("/calibration", query, CalibrationAnswer))

    def advice(self, plan: Plan) -> Flow[Advice]:
        """Compute how earlier decisions like a planned one turned out."""
        query = {"agent": self._settings.agent, **plan}
        return (yield from self._get("/calibration/advice", query, Advice))

    def event_page(self, selection: EventSelection) -> Flow[EventPage]:
        """Read a page of events."""
        return (yield from self._get("/events", event_query(selection), EventPage))

    def receipt(self, position: int) -> Flow[str]:
        """Read the proof that an event is in the log."""
        response = yield from send(Request(method="GET", path=f"/events/{position}/receipt"), self._settings.retry_s)
        return response.body.decode()

    def discover(self, options: DiscoveryOptions, progress: Callable[[str], None] | None) -> Flow[DiscoveryReport]:
        """Run a discovery to its end; each response is in the log before the next prompt is given."""
        config = {"run_id": new_stream_id(), **{name: value for name, value in options.items() if value is not None}}
        step = yield from self._submit("/discovery", config, _Prompt)
        run = f"/discovery/{quote(step.run_id, safe='')}"
        while step.prompt is not None:
            answered = yield PromptStep(step.prompt)
            assert isinstance(answered, TimedReply)
            reply = msgspec.to_builtins(answered.reply)
            if isinstance(reply.get("response"), str):  # an answer of a model may contain lone surrogates
                reply["response"] = reply["response"].encode(errors="replace").decode()
            body = {**reply, "attempt": step.attempt, "elapsed_ns": answered.elapsed_ns}
            judged = yield from self._submit(f"{run}/responses", body, _Judged)
            for line in judged.lines:
                if progress is not None:
                    progress(line)
            step = judged.next
        return (yield from self._get(f"/runs/{quote(step.run_id, safe='')}", {}, DiscoveryReport))

    def _post(self, drafts: Draft | list[Draft], kind: type[_Kind]) -> Flow[_Kind]:
        return (yield from self._submit("/events", drafts, kind))

    def _submit(
        self, path: str, value: object, kind: type[_Kind], query: Mapping[str, object] | None = None
    ) -> Flow[_Kind]:
        """Post a value. It is encoded once, so that each retry sends the same bytes."""
        request = Request(method="POST", path=path, query=query_text(query or {}), body=encode_json(value))
        request.headers.update(JSON)
        return decode_response((yield from send(request, self._settings.retry_s)), kind)

    def _get(self, path: str, query: Mapping[str, object], kind: type[_Kind]) -> Flow[_Kind]:
        request = Request(method="GET", path=path, query=query_text(query))
        return decode_response((yield from send(request, self._settings.retry_s)), kind)

    def _with_agent(self, selection: Mapping[str, object]) -> Flow[dict[str, object]]:
        """Add this client's agent to a selection, unless it names an agent, or None for all."""
        if "agent" not in selection and self._agent is None:  # the token names the agent, so ask the server
            self._agent = (yield from self.advice({})).agent
        return {"agent": self._agent, **selection}


def event_query(selection: Mapping[str, object]) -> dict[str, object]:
    """Return a selection of events with the parameter names of HTTP."""
    names = {"types": "type", "subjects": "subject", "agent": "source"}
    return {names.get(name, name): value for name, value in selection.items()}


def query_text(query: Mapping[str, object]) -> dict[str, str]:
    """Return the parameters that are not None as text: lists with commas, times as ISO 8601."""
    return {name: _text(name, value) for name, value in query.items() if value is not None}


def _text(name: str, value: object) -> str:
    if isinstance(value, datetime):
        return str(instant_text(name, value))
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(_text(name, each) for each in value)
    return str(value)


def _is_same_review(review: Review | None, data: Mapping[str, Any]) -> bool:
    """Return whether a review has the same contents as a payload."""
    if review is None:
        return False
    names = ("outcome", "actual_result", "lessons", "notes", "affected_kpis")
    return all(getattr(review, name) == data.get(name) for name in names)

"""The synchronous client."""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from tallystick.base_client import BaseClient
from tallystick.decision_block import DecisionBlock
from tallystick.event_pages import EventPages
from tallystick.event_stream import ENDED, EventStream
from tallystick.fields import (
    AmendFields,
    CalibrationFilter,
    DecisionFields,
    DecisionFilter,
    DiscoveryOptions,
    EventFields,
    EventFilter,
    EventSelection,
    LinkFields,
    LinkType,
    Moment,
    Outcome,
    Plan,
    ReviewFields,
    ThoughtFields,
)
from tallystick.request_flow import (
    TIMED_OUT,
    Failure,
    Flow,
    PromptStep,
    Request,
    Response,
    Step,
    StepOutcome,
    TimedReply,
    timed_reply,
)
from tallystick.results import DecisionEvent, DecisionPage, DecisionState, DiscoveryReport, Event, Reply, ThoughtEvent
from tallystick.settings import RETRY_S, TIMEOUT_S
from tallystick.shapes.advice import Advice
from tallystick.shapes.appended import AppendResult
from tallystick.shapes.calibration import CalibrationAnswer
from tallystick.shapes.decisions import RecordedLink

if TYPE_CHECKING:
    import httpx

_Result = TypeVar("_Result")


class Client(BaseClient):
    """A synchronous client of a Tallystick server. Several threads may use one client.

    Each method waits for the server's answer; a recorded event is on disk when the method returns. A request without an
    answer, or answered with 408, 429, 502, 503 or 504, is sent again with the same ids and bytes for `retry_s` seconds.

    - `url` is the server's address, or several servers' of one ledger in PostgreSQL, as a list or separated by commas:
      if one does not answer, or answers 502, 503 or 504, the next one is used. Default: TALLYSTICK_URL, or
      http://127.0.0.1:8321.
    - `agent` is the agent that decides. Default: TALLYSTICK_AGENT, or the token's agent, or `anonymous` on a
      server without tokens.
    - `token` is sent as a bearer token. Default: TALLYSTICK_TOKEN, or none.
    - `retry_s` is how long a request is retried, seconds; 0 for a single attempt.
    - `timeout_s` is how long one attempt may take, seconds.

    Errors: InvalidArgument.
    """

    def __init__(
        self,
        url: str | Sequence[str] | None = None,
        *,
        agent: str | None = None,
        token: str | None = None,
        retry_s: float = RETRY_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        super().__init__(url, agent=agent, token=token, retry_s=retry_s, timeout_s=timeout_s)
        self._http: httpx.Client | None = None
        self._opening = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, and end the private server that `local` started. It can be called twice."""
        self._closed = True
        with self._opening:
            http, self._http = self._http, None
        if http is not None:
            http.close()
        self._endpoint.close()

    def record(self, decision: str, **fields: Unpack[DecisionFields]) -> DecisionEvent:
        """Record a decision, with its confidence and the other arguments of `DecisionFields`.

        Errors: InvalidEvent; Conflict, if another decision has the id; NotAllowed; Busy; ConnectionFailed.
        """
        return self._run(self._operations.record(decision, fields))

    def review(self, decision_id: str, outcome: Outcome, **fields: Unpack[ReviewFields]) -> DecisionEvent:
        """Record how a decision turned out. A later review replaces earlier ones, which stay in the history.

        Errors: as `record`; Conflict, if the decision is not in the log.
        """
        return self._run(self._operations.review(decision_id, outcome, fields))

    def amend(self, decision_id: str, **fields: Unpack[AmendFields]) -> DecisionEvent:
        """Change a recorded decision. Errors: as `review`."""
        return self._run(self._operations.amend(decision_id, fields))

    def retract(self, decision_id: str, reason: str, **fields: Unpack[EventFields]) -> DecisionEvent:
        """Withdraw a decision: it counts in no figure from then on, and its history stays. It cannot be undone.

        Errors: as `review`; NotAllowed, if another agent made the decision.
        """
        return self._run(self._operations.retract(decision_id, reason, fields))

    def link(self, decision_id: str, other_id: str, edge_type: LinkType, **fields: Unpack[LinkFields]) -> RecordedLink:
        """Link a decision to another one. A later link of the same type between the same two replaces it.

        Neither decision must be in the ledger: the result names those that are not in `unknown`.
        Errors: as `record`.
        """
        return self._run(self._operations.link(decision_id, other_id, edge_type, fields))

    def think(self, text: str, **fields: Unpack[ThoughtFields]) -> ThoughtEvent:
        """Record a thought: on the recorded decision `decision_id`, or without that argument before a decision.

        Pass a thought before a decision to `record` in `thoughts`, and the decision adopts it.
        Errors: as `record`.
        """
        return self._run(self._operations.think(text, fields))

    def decision(self, decision: str, **fields: Unpack[DecisionFields]) -> DecisionBlock:
        """Record a decision before a `with` block and review it after the block; see `DecisionBlock`."""
        return DecisionBlock(self._run, self._operations, decision, fields)

    def get_decision(self, decision_id: str, *, as_of: int | Moment | None = None) -> DecisionState:
        """Read one decision with its history. Errors: NotFound."""
        return self._run(self._operations.get_decision(decision_id, as_of))

    def decisions(self, **selection: Unpack[DecisionFilter]) -> DecisionPage:
        """List decisions, by default of this agent and the newest first. Errors: InvalidQuery."""
        return self._run(self._operations.decisions(selection))

    def calibration(self, **selection: Unpack[CalibrationFilter]) -> CalibrationAnswer:
        """Compute how well stated confidence matches the outcomes, by default of this agent. Errors: InvalidQuery."""
        return self._run(self._operations.calibration(selection))

    def advice(self, **plan: Unpack[Plan]) -> Advice:
        """Compute how earlier decisions like a planned one turned out. Errors: InvalidQuery."""
        return self._run(self._operations.advice(plan))

    def discover(
        self,
        ask: Callable[[str], str | Reply],
        *,
        progress: Callable[[str], None] | None = None,
        **options: Unpack[DiscoveryOptions],
    ) -> DiscoveryReport:
        """Find out which models answer, one prompt at a time, until the run ends.

        `ask` gets a prompt and returns the response: text, or a `Reply` with more details. If it raises TimeoutError,
        the attempt is recorded as a timeout. Any other exception ends this call, but not the run: call it again with
        the same `run_id` and options to continue. `progress` gets a line for each response.
        """
        flow = self._operations.discover(options, progress)
        return self._run(flow, ask)

    def append(self, events: Iterable[Mapping[str, Any]]) -> AppendResult:
        """Append events of any types, all of them or none: mappings with `type` and `data`.

        An event without an `id` gets a new one, one without a `source` gets this client's agent. Errors: as `record`.
        """
        return self._run(self._operations.append(events))

    def events(self, **selection: Unpack[EventSelection]) -> Generator[Event, None, None]:
        """Yield the selected events of the log. Errors: InvalidQuery."""
        pages = EventPages(self._operations, selection)
        while not pages.done:
            yield from self._run(pages.read())

    def follow(self, **selection: Unpack[EventFilter]) -> Generator[Event, None, None]:
        """Yield the selected events of the log, then each new one as it is committed.

        After an interruption it continues after the last event, so that no event is missing or repeated. Only an error
        ends it: ConnectionFailed or Busy, if the server was unavailable for longer than `retry_s`.
        """
        import httpx  # noqa: PLC0415 - it takes longer to load than the whole client

        from tallystick import transport  # noqa: PLC0415 - it loads httpx

        stream = EventStream(selection, self._settings.retry_s)
        while True:
            http, url = self._open(), self._endpoint.url()
            try:
                with http.stream(**transport.stream_arguments_of(stream.request(), url)) as response:
                    if stream.accepts(response.status_code, response.headers):
                        for chunk in response.iter_raw():
                            yield from stream.receive(chunk)
                        self._endpoint.unavailable(url)
                        stream.interrupted(Failure(url, ENDED))
                    else:
                        stream.interrupted(self._note(transport.read_response(response), url))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                self._endpoint.failed(url)
                stream.interrupted(transport.failure_of(error, url))
            time.sleep(stream.wait_s)

    def receipt(self, position: int) -> str:
        """Return the proof that an event is in the log, a text that can be checked offline (C2SP tlog-proof).

        Errors: NotFound; ServerFault, if the log does not match its signed checkpoint.
        """
        return self._run(self._operations.receipt(position))

    def _run(self, flow: Flow[_Result], ask: Callable[[str], str | Reply] | None = None) -> _Result:
        """Perform the steps of a flow, and return its result."""
        outcome: StepOutcome = None
        while True:
            try:
                step = flow.send(outcome)
            except StopIteration as end:
                result: _Result = end.value
                return result
            outcome = self._do(step, ask)

    def _do(self, step: Step, ask: Callable[[str], str | Reply] | None) -> StepOutcome:
        if isinstance(step, Request):
            return self._send(step)
        if isinstance(step, PromptStep):
            assert ask is not None
            return _answer(ask, step)
        time.sleep(step.seconds)
        return None

    def _send(self, request: Request) -> Response | Failure:
        from tallystick import transport  # noqa: PLC0415 - as above

        http, url = self._open(), self._endpoint.url()
        return self._note(transport.exchange_sync(http, request, url), url)

    def _open(self) -> "httpx.Client":
        from tallystick import transport  # noqa: PLC0415 - as above

        with self._opening:
            self._check_open()
            if self._http is None:
                self._http = transport.new_client(self._settings)
            return self._http


def _answer(ask: Callable[[str], str | Reply], question: PromptStep) -> TimedReply:
    """Call the caller's function with a prompt, and measure its time."""
    began_ns = time.perf_counter_ns()
    try:
        answer = ask(question.prompt)
    except TimeoutError:
        answer = TIMED_OUT
    return timed_reply(answer, time.perf_counter_ns() - began_ns)

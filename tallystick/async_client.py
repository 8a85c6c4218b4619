"""The asynchronous client, for asyncio."""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from tallystick.base_client import BaseClient, FixedEndpoint
from tallystick.decision_block import AsyncDecisionBlock
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
Ask = Callable[[str], str | Reply | Awaitable[str | Reply]]
"""A function that gets a prompt and returns the response, or a coroutine of it."""


class AsyncClient(BaseClient):
    """`Client` for asyncio: the same methods with the same arguments, to be awaited.

    It belongs to the event loop in which it is first used.
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
        self._http: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, and end the private server that `async_local` started. It can be called twice."""
        self._closed = True
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()
        await _in_thread(self._endpoint.close)

    async def record(self, decision: str, **fields: Unpack[DecisionFields]) -> DecisionEvent:
        """As `Client.record`."""
        return await self._run(self._operations.record(decision, fields))

    async def review(self, decision_id: str, outcome: Outcome, **fields: Unpack[ReviewFields]) -> DecisionEvent:
        """As `Client.review`."""
        return await self._run(self._operations.review(decision_id, outcome, fields))

    async def amend(self, decision_id: str, **fields: Unpack[AmendFields]) -> DecisionEvent:
        """As `Client.amend`."""
        return await self._run(self._operations.amend(decision_id, fields))

    async def retract(self, decision_id: str, reason: str, **fields: Unpack[EventFields]) -> DecisionEvent:
        """As `Client.retract`."""
        return await self._run(self._operations.retract(decision_id, reason, fields))

    async def link(
        self, decision_id: str, other_id: str, edge_type: LinkType, **fields: Unpack[LinkFields]
    ) -> RecordedLink:
        """As `Client.link`."""
        return await self._run(self._operations.link(decision_id, other_id, edge_type, fields))

    async def think(self, text: str, **fields: Unpack[ThoughtFields]) -> ThoughtEvent:
        """As `Client.think`."""
        return await self._run(self._operations.think(text, fields))

    def decision(self, decision: str, **fields: Unpack[DecisionFields]) -> AsyncDecisionBlock:
        """Record a decision before an `async with` block and review it after the block; see `DecisionBlock`."""
        return AsyncDecisionBlock(self._run, self._operations, decision, fields)

    async def get_decision(self, decision_id: str, *, as_of: int | Moment | None = None) -> DecisionState:
        """As `Client.get_decision`."""
        return await self._run(self._operations.get_decision(decision_id, as_of))

    async def decisions(self, **selection: Unpack[DecisionFilter]) -> DecisionPage:
        """As `Client.decisions`."""
        return await self._run(self._operations.decisions(selection))

    async def calibration(self, **selection: Unpack[CalibrationFilter]) -> CalibrationAnswer:
        """As `Client.calibration`."""
        return await self._run(self._operations.calibration(selection))

    async def advice(self, **plan: Unpack[Plan]) -> Advice:
        """As `Client.advice`."""
        return await self._run(self._operations.advice(plan))

    async def discover(
        self,
        ask: Ask,
        *,
        progress: Callable[[str], None] | None = None,
        **options: Unpack[DiscoveryOptions],
    ) -> DiscoveryReport:
        """As `Client.discover`; `ask` may be a coroutine function."""
        flow = self._operations.discover(options, progress)
        return await self._run(flow, ask)

    async def append(self, events: Iterable[Mapping[str, Any]]) -> AppendResult:
        """As `Client.append`."""
        return await self._run(self._operations.append(events))

    async def events(self, **selection: Unpack[EventSelection]) -> AsyncGenerator[Event, None]:
        """As `Client.events`."""
        pages = EventPages(self._operations, selection)
        while not pages.done:
            for event in await self._run(pages.read()):
                yield event

    async def follow(self, **selection: Unpack[EventFilter]) -> AsyncGenerator[Event, None]:
        """As `Client.follow`."""
        import httpx  # noqa: PLC0415 - it takes longer to load than the whole client

        from tallystick import transport  # noqa: PLC0415 - it loads httpx

        stream = EventStream(selection, self._settings.retry_s)
        while True:
            http, url = self._open(), await self._url()
            try:
                async with http.stream(**transport.stream_arguments_of(stream.request(), url)) as response:
                    if stream.accepts(response.status_code, response.headers):
                        async for chunk in response.aiter_raw():
                            for event in stream.receive(chunk):
                                yield event
                        self._endpoint.unavailable(url)
                        stream.interrupted(Failure(url, ENDED))
                    else:
                        stream.interrupted(self._note(await transport.read_response_async(response), url))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                self._endpoint.failed(url)
                stream.interrupted(transport.failure_of(error, url))
            await _sleep(stream.wait_s)

    async def receipt(self, position: int) -> str:
        """As `Client.receipt`."""
        return await self._run(self._operations.receipt(position))

    async def _run(self, flow: Flow[_Result], ask: Ask | None = None) -> _Result:
        """Perform the steps of a flow, and return its result."""
        outcome: StepOutcome = None
        while True:
            try:
                step = flow.send(outcome)
            except StopIteration as end:
                result: _Result = end.value
                return result
            outcome = await self._do(step, ask)

    async def _do(self, step: Step, ask: Ask | None) -> StepOutcome:
        if isinstance(step, Request):
            return await self._send(step)
        if isinstance(step, PromptStep):
            assert ask is not None
            return await _answer(ask, step)
        await _sleep(step.seconds)
        return None

    async def _send(self, request: Request) -> Response | Failure:
        from tallystick import transport  # noqa: PLC0415 - as above

        http, url = self._open(), await self._url()
        return self._note(await transport.exchange(http, request, url), url)

    def _open(self) -> "httpx.AsyncClient":
        from tallystick import transport  # noqa: PLC0415 - as above

        self._check_open()
        if self._http is None:
            self._http = transport.new_async_client(self._settings)
        return self._http

    async def _url(self) -> str:
        if isinstance(self._endpoint, FixedEndpoint):
            return self._endpoint.url()
        return await _in_thread(self._endpoint.url)


async def _sleep(seconds: float) -> None:
    import asyncio  # noqa: PLC0415 - programs with the synchronous client do not need it

    await asyncio.sleep(seconds)


async def _in_thread(function: Callable[[], _Result]) -> _Result:
    import asyncio  # noqa: PLC0415 - as above

    return await asyncio.to_thread(function)


async def _answer(ask: Ask, question: PromptStep) -> TimedReply:
    """Call the caller's function with a prompt, and measure its time."""
    began_ns = time.perf_counter_ns()
    try:
        returned = ask(question.prompt)
        answer = await returned if isinstance(returned, Awaitable) else returned
    except TimeoutError:
        answer = TIMED_OUT
    return timed_reply(answer, time.perf_counter_ns() - began_ns)

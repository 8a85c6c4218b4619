"""The command `tallystick discover`: check its options, begin or resume a run, and print each answer until it ends.

Each answer is durable before the next prompt is sent. If the ledger cannot be reached, the loop keeps the answer and
tries again; the ledger records each answer once.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from api.errors import RunEnded
from api.service.discovery.run_operations import finish, prompt, respond, start
from api.service.discovery.run_types import NextPrompt, ResponseResult, RunConfig, StartResult
from api.service.discovery.summary import DiscoverySummary, read_first_response, summarize_run
from api.service.retry import retry, while_unavailable
from api.service.run_checks import check_time_limit, run_exists_error
from api.service.store import EventStore
from events.decode_error_messages import explain_decode_error
from events.discovery import DiscoveryStarted
from events.errors import TallystickError
from events.registry import VOCABULARY
from instruments.answer import RouterAnswer
from instruments.routers import Router
from ledger.atomic_file import write_text
from ledger.errors import InvalidQuery

_started = VOCABULARY.event_types["discovery.started.v1"]

Say = Callable[[str], None]
"""Prints a line."""


OnResponse = Callable[[ResponseResult, RouterAnswer], None]
"""Called with the result of each answer, once it is durable, and the answer."""


class RunTimeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The time limits of a run, in seconds: of one attempt, and of all attempts together."""

    timeout_s: float
    max_time_s: float | None = None


async def continue_run(
    store: EventStore, run_id: str, router: Router, limits: RunTimeLimits, stop: asyncio.Event, on_response: OnResponse
) -> NextPrompt:
    """Continue a run until it ends or `stop` is set; return its next prompt, or how it ended.

    The run has its own limits of attempts; `limits` are those of time. Errors: those of `respond`.
    """
    deadline_s = None if limits.max_time_s is None else time.monotonic() + limits.max_time_s
    step = await prompt(store, run_id)
    while step.prompt is not None and not stop.is_set():
        remaining_s = limits.timeout_s if deadline_s is None else deadline_s - time.monotonic()
        if remaining_s <= 0:
            await finish(store, run_id, "max time reached", "max_time")
            return await prompt(store, run_id)
        answer = await _ask_router(router, step.prompt, min(limits.timeout_s, remaining_s), stop)
        if answer is None:
            break
        response = await _record(store, run_id, answer, step.attempt)
        on_response(response, answer)
        step = response.next
    return step


async def _ask_router(router: Router, text: str, timeout_s: float, stop: asyncio.Event) -> RouterAnswer | None:
    """Return a router's answer; None if `stop` was set first."""
    answer_task = asyncio.create_task(router.ask(text, timeout_s))
    stop_task = asyncio.create_task(stop.wait())
    await asyncio.wait([answer_task, stop_task], return_when=asyncio.FIRST_COMPLETED)
    for task in (stop_task, answer_task):
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    return None if answer_task.cancelled() else answer_task.result()


async def _record(store: EventStore, run_id: str, answer: RouterAnswer, attempt: int | None) -> ResponseResult:
    """Record an answer, waiting for a ledger that cannot be reached. Errors: those of `respond`."""
    return await retry(lambda again: respond(store, run_id, answer, attempt), while_unavailable)


class GoldenFile:
    """A golden file. An existing file is overwritten only with `force`."""

    def __init__(self, path: Path, *, force: bool) -> None:
        """Check that the file can be written, before a router is asked. Errors: InvalidQuery."""
        self.path = path
        self._force = force
        if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
            raise InvalidQuery("golden", f"{path} cannot be written.", "Name a file in an existing, writable folder.")

    def check(self, text: str | None = None) -> None:
        """Refuse an existing file, except with `force` or if it contains exactly `text`. Errors: InvalidQuery."""
        if self._force or not os.path.lexists(self.path) or (text is not None and self.holds(text)):
            return
        raise InvalidQuery(
            "golden", f"{self.path} is there already.", "Name another file, or overwrite it with --force."
        )

    def holds(self, text: str) -> bool:
        """Return whether the file contains exactly a text."""
        return self.path.is_file() and self.path.read_bytes() == text.encode()

    def keep(self, text: str) -> None:
        """Write a text atomically. Errors: OSError, including FileExistsError."""
        write_text(self.path, text, exclusive=not self._force)


class DiscoverResult(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of a run, and the error if the golden file could not be written."""

    findings: DiscoverySummary
    golden_error: str | None


class DiscoverCommand:
    """The command with its checked options.

    `settings` are fields of the `RunConfig` of a new run. `make_router` returns the router for a requested model; None
    requests no particular model. Errors: InvalidQuery.
    """

    def __init__(
        self,
        make_router: Callable[[str | None], Router],
        *,
        model: str | None = None,
        timeout_s: float = 120.0,
        max_time_s: float | None = None,
        golden: Path | None = None,
        force: bool = False,
        resume: str | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        for name, value in (("timeout", timeout_s), ("max_time", max_time_s)):
            if value is not None:
                check_time_limit(name, value)
        self.settings = dict(settings or {})
        if resume is not None and self.settings:
            option = next(iter(self.settings)).removesuffix("_id")
            raise InvalidQuery(option, "is fixed by the run that is resumed.", "Leave it out, or start another run.")
        self.model = model
        self.resume = resume
        self._make_router = make_router
        self.router = make_router(model)
        self._limits = RunTimeLimits(timeout_s=timeout_s, max_time_s=max_time_s)
        self._golden = None if golden is None else GoldenFile(golden, force=force)
        if self._golden is not None and resume is None:
            self._golden.check()
        self._golden_error: str | None = None

    async def run(self, store: EventStore, stop: asyncio.Event, say: Say, warn: Say) -> DiscoverResult:
        """Begin or resume a run; continue until it ends or `stop` is set. `say` and `warn` print lines for the user.

        Errors: NotFound, RunEnded, LifecycleViolation, InvalidQuery; those of appending, with advice on how to resume.
        """
        run_id = await (self._begin(store) if self.resume is None else self._resume(store, self.resume, warn))
        say(f"run {run_id}: asking {self.router.name}")

        def on_response(response: ResponseResult, answer: RouterAnswer) -> None:
            for line in response.lines:
                say(line)
            if response.iteration == 0:
                self._write_golden(answer.text or "")

        try:
            step = await continue_run(store, run_id, self.router, self._limits, stop, on_response)
            if step.ending == "max_time":
                say(f"ended: {step.reason}")
            return DiscoverResult(findings=await summarize_run(store, run_id), golden_error=self._golden_error)
        except TallystickError as error:
            error.advice += f" Earlier answers are recorded: --resume {run_id} continues."
            error.written = True
            raise

    async def _begin(self, store: EventStore) -> str:
        """Begin a run; return its id. Errors: InvalidEvent; LifecycleViolation, if a run has that id."""
        settings = {"router": self.router.name, "requested_model": self.router.model, **self.settings}
        try:
            config = msgspec.convert(settings, RunConfig)
        except msgspec.ValidationError as error:
            raise explain_decode_error(error, (), shape=RunConfig) from None
        run_id = _started.stream_id(DiscoveryStarted(run_id=config.run_id))
        types = VOCABULARY.names_of(DiscoveryStarted)
        existing = run_id is not None and await store.streams([f"discovery/{run_id}"], types)
        started = StartResult(run_id or "", duplicate=True) if existing else await start(store, config)
        if started.duplicate:
            raise run_exists_error("discovery", started.run_id)
        return started.run_id

    async def _resume(self, store: EventStore, run_id: str, warn: Say) -> str:
        """Check that a run can be resumed, and by default request the same model; return its id.

        Errors: NotFound, RunEnded, InvalidQuery.
        """
        step = await prompt(store, run_id)
        if step.prompt is None:
            raise RunEnded(f"Run {run_id} has ended: {step.reason}.", "Start another; `tallystick run show` shows it.")
        events = VOCABULARY.events(await store.streams([f"discovery/{run_id}"]))
        started = events[0].data
        assert isinstance(started, DiscoveryStarted)
        if self.model is None and started.requested_model is not None:
            self.router = self._make_router(started.requested_model)
        for label, before, after in (
            ("the router", started.router, self.router.name),
            ("the requested model", started.requested_model, self.router.model),
        ):
            if before != after:
                warn(f"warning: {label} was {before}, and is {after} from here on.")
        if self._golden is not None:
            text = await read_first_response(store, events)
            self._golden.check(text)
            if text is not None and not self._golden.holds(text):
                self._write_golden(text)
        return run_id

    def _write_golden(self, text: str) -> None:
        """Write the golden file. If that fails, the run continues, and its result has the error."""
        if self._golden is None:
            return
        try:
            self._golden.keep(text)
        except OSError as error:
            self._golden_error = f"{self._golden.path}: {error.strerror or error}"

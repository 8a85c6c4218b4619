"""The worker process: answers the pytest plugin's calls, one at a time, until its standard input ends.

Only the answers are written to its original standard output. Anything else that prints writes to standard error.
"""

import asyncio
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from api.pytest_plugin.recorder import RunRecorder
from api.pytest_plugin.scorer import AttemptScorer
from events.errors import TallystickError
from ledger.place import Place, parse_durability
from tallystick._pytest_plugin.messages import (
    Answer,
    Begin,
    Begun,
    Call,
    CallRefused,
    Cancel,
    Cancelled,
    Close,
    Closed,
    Done,
    Failed,
    Load,
    Open,
    Record,
    Recorded,
    Score,
    Skip,
    WorkerReply,
    WorkerRequest,
    decode_call,
    encode,
)

LINE_BYTES_MAX = 1 << 30
"""The limit of a call's length. It is never reached: a score with its evidence has a few megabytes."""


class Worker:
    """Answers calls with a scorer and a recorder. `answers` is the file descriptor to which the answers are written."""

    def __init__(self, answers: int) -> None:
        self._answers = answers
        self._calls: asyncio.Queue[Call | None] = asyncio.Queue()
        self._current: asyncio.Task[None] | None = None
        self._current_number = self._cancelled_number = 0
        self._load_request: Load | None = None
        self._scorer: AttemptScorer | None = None
        self._recorder: RunRecorder | None = None

    async def run(self) -> None:
        """Answer calls until standard input ends; then release the ledger."""
        reading = asyncio.create_task(self._read())
        try:
            while (call := await self._calls.get()) is not None:
                if call.number > self._cancelled_number:
                    self._current_number, self._current = call.number, asyncio.create_task(self._answer(call))
                    await asyncio.wait([self._current])
                    if not self._current.cancelled():
                        self._current.result()
            await reading
        finally:
            reading.cancel()
            if self._recorder is not None:
                await self._recorder.release()

    async def _read(self) -> None:
        """Read calls from standard input; at its end, cancel the call that is being answered."""
        try:
            reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
            await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
            while line := await reader.readline():
                message = decode_call(line)
                if isinstance(message, Call):
                    self._calls.put_nowait(message)
                elif isinstance(message, Cancel):
                    self._cancel(message.number)
        finally:
            self._calls.put_nowait(None)
            self._cancel(sys.maxsize)

    def _cancel(self, number: int) -> None:
        """Cancel the calls up to a number, both the current one and those that wait."""
        self._cancelled_number = number
        if self._current is not None and self._current_number <= number:
            self._current.cancel()

    async def _answer(self, call: Call) -> None:
        reply: WorkerReply
        try:
            os.environ.clear()
            os.environ.update(call.environment)
            reply = await self._reply(call.request)
        except TallystickError as error:
            reply = CallRefused(text=self._error_text(call.request, error))
        except asyncio.CancelledError:
            reply = Cancelled()
        except Exception:  # noqa: BLE001 - pytest prints our bug to the user, and the session goes on
            reply = Failed(traceback=traceback.format_exc())
        data = memoryview(encode(Answer(call.number, reply)))
        while data:
            data = data[os.write(self._answers, data) :]

    async def _reply(self, request: WorkerRequest) -> WorkerReply:
        if isinstance(request, Load):
            self._load_request = request
            self._scorer = AttemptScorer(request)
            return self._scorer.loaded()
        assert self._scorer is not None, "Load is the first call"
        if isinstance(request, Score):
            return await self._scorer.score(request.scenario_id, request.attempt)
        if isinstance(request, Skip):
            return self._scorer.skip(request.scenario_id, request.attempt, request.reason)
        if isinstance(request, Open):
            token = os.environ.get("TALLYSTICK_TOKEN")
            self._recorder = await RunRecorder.open(_place_of(request.ledger), request.url, token)
            return Done()
        assert self._recorder is not None, "Open is called before Begin, Record and Close"
        if isinstance(request, Begin):
            started = self._scorer.start_event(len({scenario_id for scenario_id, _ in request.attempts}))
            attempts = frozenset(request.attempts)
            run_id = await self._recorder.begin(
                started, self._scorer.suite.scenarios, attempts, self._scorer.matcher, keep_files=request.keep_files
            )
            return Begun(run_id=run_id)
        if isinstance(request, Record):
            return Recorded(scores=await self._recorder.add(request.score))
        assert isinstance(request, Close), "every other request is handled above"
        return Closed(finished=await self._recorder.close())

    def _error_text(self, request: WorkerRequest, error: TallystickError) -> str:
        if isinstance(request, Load | Open | Begin) and self._load_request is not None:
            return _option_error_text(error, self._load_request.folder)
        return str(error)


def _place_of(ledger: str) -> Place:
    """Return the place of a ledger, with the settings of ledgers in PostgreSQL. Errors: InvalidQuery."""
    state = os.environ.get("TALLYSTICK_STATE")
    promised = parse_durability(os.environ.get("TALLYSTICK_DURABILITY"), "TALLYSTICK_DURABILITY")
    return Place.parse(ledger, Path(state) if state else None, promised)


def _option_error_text(error: TallystickError, folder: str) -> str:
    """Return the text of an error with the plugin's option names, and paths relative to the session's folder."""
    detail = error.detail_for(f"--tallystick-{(error.field or '').replace('_', '-')}")
    text = f"{detail} {error.full_advice}".replace(f"{folder}{os.sep}", "")
    return text.replace(" --agent", " --tallystick-agent").rstrip()


def main() -> None:
    """Answer calls on standard input until it ends."""
    answers = os.dup(1)
    os.dup2(2, 1)
    with suppress(BrokenPipeError):
        asyncio.run(Worker(answers).run())
    os._exit(0)  # a thread may still wait for the embeddings of a cancelled score

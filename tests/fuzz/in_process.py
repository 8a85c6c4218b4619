"""Run a ledger service and the HTTP application in this process, for thousands of calls a second.

`admits` checks the rule of every fuzzer: a call that fails raises a `TallystickError`, and the head does not move.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from starlette.types import Message

from api.http.app import make_app
from api.service.ledger import LedgerService
from api.service.store import LocalStore
from events.errors import TallystickError

Result = TypeVar("Result")
Headers = Iterable[tuple[bytes, bytes]]


class Answer(NamedTuple):
    """What the application answered, and by how much the head moved."""

    status: int
    body: bytes
    moved: int


class InProcess:
    """An open ledger service, with its application and event loop."""

    def __init__(self, ledger: Path) -> None:
        self.folder = ledger.parent
        self._lost: list[str] = []
        self._runner = asyncio.Runner()
        self._runner.get_loop().set_exception_handler(lambda _, context: self._lost.append(str(context)))
        self.ledger = self.run(LedgerService.open(ledger, writable=True))
        self.store_ = LocalStore(self.ledger)
        self._app = make_app(self.ledger)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self.ledger.close())
        self._runner.close()

    def run(self, awaitable: Awaitable[Result]) -> Result:
        """Run to the end, and fail where an exception was lost in the loop."""

        async def main() -> Result:
            return await awaitable

        result = self._runner.run(main())
        assert self._lost == []
        return result

    @property
    def head(self) -> int:
        assert self.ledger.log is not None
        return self.ledger.log.newest.position

    def admits(self, call: Callable[[], Result]) -> tuple[Result, int] | None:
        """What a call gives and by how much it moves the head, or None where it refuses and moves nothing."""
        before = self.head
        try:
            result = call()
        except TallystickError as error:
            assert (self.head, error.detail != "") == (before, True)  # noqa: PT017 - any other error is the finding
            return None
        return result, self.head - before

    def post(self, path: str, body: bytes, headers: Headers = ()) -> Answer:
        """Ask the application; an exception that it does not answer for is raised."""
        before, sent = self.head, list[Message]()
        scope: MutableMapping[str, Any] = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
            "headers": [(b"host", b"localhost"), *headers], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8321),
        }  # fmt: skip

        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            """Give the body once; then the client waits for the answer, and does not leave."""
            return messages.pop() if messages else await asyncio.Future[Message]()

        async def send(message: Message) -> None:
            sent.append(message)

        self.run(self._app(scope, receive, send))
        answered = b"".join(message.get("body", b"") for message in sent)
        return Answer(sent[0]["status"], answered, self.head - before)

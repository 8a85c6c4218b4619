"""The connection of the command line to a server, over the transport of the Python client.

The server is not trusted: answers are read up to the limit of their route, and never compressed. A request is repeated
only while the server is busy, since then it has written nothing.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from api.errors import ERROR_TABLE, UnexpectedAnswer, problem_name
from api.principal import Unauthenticated
from api.rate_limit import RateLimited
from events.errors import TallystickError
from ledger.errors import InvalidQuery, LedgerBusy, LedgerUnavailable
from tallystick.backoff import Backoff
from tallystick.errors import ADVICE_UNKNOWN_OUTCOME, InvalidArgument, error_of
from tallystick.request_flow import Failure, Request, Response
from tallystick.settings import RETRY_S, TIMEOUT_S, Settings, checked_url

if TYPE_CHECKING:
    import httpx

_errors = {problem_name(error.__name__): error for error in ERROR_TABLE}


class ServerConnection:
    """The connection to one server."""

    def __init__(self, http: "httpx.AsyncClient", url: str) -> None:
        self._http = http
        self.url = url

    async def answer(self, request: Request) -> Response:
        """Send a request, again while the server is busy; return its answer, which may be an error.

        Errors: LedgerUnavailable, if there is no answer; UnexpectedAnswer, if it is compressed or too long.
        """
        from tallystick import transport

        backoff = Backoff(RETRY_S)
        while True:
            outcome = await transport.exchange(self._http, request, self.url)
            if isinstance(outcome, Failure):
                raise _no_answer(outcome, request)
            if outcome.status in {200, 201}:
                return outcome
            error = decode_error(outcome)
            wait_s = backoff.next_wait(error.retry_after_s) if isinstance(error, LedgerBusy | RateLimited) else None
            if wait_s is None:
                return outcome
            await asyncio.sleep(wait_s)

    async def get(self, path: str, bytes_max: int, **query: str) -> Response:
        """Return the answer at a path. Errors: as `answer`."""
        return await self.answer(Request(method="GET", path=path, query=query, answer_bytes_max=bytes_max))

    async def send(self, request: Request) -> Response:
        """Send a request, and return its answer. Errors: those that the server answers, and those of `answer`."""
        response = await self.answer(request)
        if response.status not in {200, 201}:
            raise decode_error(response)
        return response

    @asynccontextmanager
    async def stream(self, path: str, query: dict[str, str], accept: str) -> "AsyncIterator[httpx.Response]":
        """Open an answer that is read while it arrives.

        Errors: those that the server answers; httpx.TransportError; UnexpectedAnswer.
        """
        import httpx

        from tallystick import transport

        request = Request(method="GET", path=path, query=query, headers={"accept": accept})
        try:
            async with self._http.stream(**transport.arguments_of(request, self.url)) as response:
                transport.require_plain(response)
                if response.status_code != 200:
                    raise decode_error(await transport.read_response_async(response, request.answer_bytes_max))
                yield response
        except httpx.DecodingError as error:
            raise _no_answer(transport.failure_of(error, self.url), request) from error


@asynccontextmanager
async def connect(url: str, token: str | None) -> AsyncIterator[ServerConnection]:
    """Open the connection to the server at an address. Errors: InvalidQuery."""
    from tallystick import transport

    try:
        checked = checked_url(url)
    except InvalidArgument as error:
        raise InvalidQuery("url", error.detail.removeprefix("url: "), error.advice) from None
    settings = Settings(urls=(checked,), agent=None, token=token, retry_s=RETRY_S, timeout_s=TIMEOUT_S)
    async with transport.new_async_client(settings) as http:
        yield ServerConnection(http, checked)


def decode_error(response: Response) -> TallystickError:
    """Return the exception for the error that a server answered."""
    problem = error_of(response.status, response.headers, response.body, response.url)
    kind = _errors.get(problem.code)
    if kind is None:
        return not_tallystick(response.url, response.status)
    error = kind.__new__(kind)
    TallystickError.__init__(error, problem.detail, problem.advice or "")
    # `written` stays open: the advice of the server says it already
    error.__dict__.update(field=problem.field, index=problem.index, written=None)
    if isinstance(error, LedgerBusy | RateLimited):
        error.retry_after_s = int(problem.retry_after_s or 1)
    if isinstance(error, Unauthenticated):
        error.advice = "Give a token with --token, or in TALLYSTICK_TOKEN; tallystick token add AGENT makes one."
    return error


def not_tallystick(url: str, status: int) -> UnexpectedAnswer:
    """Return the error for an answer that a Tallystick server does not give."""
    return UnexpectedAnswer(f"{url} answered {status}, but not as Tallystick does.", "Check the address.")


def _no_answer(failure: Failure, request: Request) -> TallystickError:
    if failure.unexpected:
        return UnexpectedAnswer(f"{failure.url}{request.path}: {failure.detail}.", failure.advice)
    if failure.advice != ADVICE_UNKNOWN_OUTCOME:
        return LedgerUnavailable(f"{failure.url} cannot be reached: {failure.detail}.", failure.advice)
    unknown = "" if request.method == "GET" else "; whether this batch was written is unknown"
    return LedgerUnavailable(f"{failure.url} broke off: {failure.detail}{unknown}.", failure.advice)

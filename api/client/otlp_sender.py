"""Send scores to a receiver of OTLP/HTTP, such as a Collector or another ledger, and count what it rejects."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from api.errors import UnexpectedAnswer
from events.decode_error_messages import DECODE_ERRORS
from ledger.errors import InvalidQuery, LedgerUnavailable
from tallystick.backoff import Backoff
from tallystick.errors import seconds_of
from tallystick.request_flow import Failure, Request, Response
from tallystick.settings import RETRY_S, Settings

if TYPE_CHECKING:
    import httpx

PATH = "/v1/logs"
RETRYABLE = frozenset({429, 502, 503, 504})
"""The statuses after which the specification of OTLP lets a client send a request again."""

TIMEOUT_S = 30.0
_SAID_CHARS_MAX = 300


class _Partial(msgspec.Struct, rename="camel"):
    rejected_log_records: int | str = 0
    error_message: str = ""


class _Answer(msgspec.Struct, rename="camel"):
    partial_success: _Partial | None = None


class SentScores(msgspec.Struct, kw_only=True):
    """How many requests were sent, how many records the receiver rejected, and what it said about them."""

    requests: int = 0
    rejected: int = 0
    messages: list[str] = []


def logs_url(url: str) -> str:
    """Return the address of the logs of a receiver: `/v1/logs` is added where it is missing. Errors: InvalidQuery."""
    import httpx

    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidQuery("otlp", f"{url!r} is not an address: {error}.", "Give http:// or https://.") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidQuery("otlp", f"{url!r} is not an address.", "Give http:// or https:// with a host.")
    return url if parsed.path.endswith(PATH) else url.rstrip("/") + PATH


def read_headers(variable: str, options: Sequence[str]) -> dict[str, str]:
    """Return the headers of OTEL_EXPORTER_OTLP_HEADERS, percent-encoded and joined by commas, and those of options.

    Errors: InvalidQuery, which does not repeat a value.
    """
    stated = [unquote(part).strip() for part in variable.split(",") if part.strip()]
    headers: dict[str, str] = {}
    for text in (*stated, *options):
        name, separator, value = text.partition("=")
        name = name.strip().lower()
        if not separator or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            raise InvalidQuery("header", f"The header {name[:40]!r} is not NAME=VALUE.", "Give NAME=VALUE.")
        if not value.isascii() or not value.strip().isprintable():
            raise InvalidQuery("header", f"The value of {name} is not printable ASCII.", "Correct it.")
        headers[name] = value.strip()
    return headers


async def send_scores(url: str, headers: Mapping[str, str], requests: Iterable[bytes]) -> SentScores:
    """Post requests of OTLP/JSON one after another, and again after a status that allows it.

    Errors: LedgerUnavailable, if the receiver cannot be reached or stays busy; UnexpectedAnswer, if it refuses.
    """
    from tallystick import transport

    sent, address = SentScores(), logs_url(url)
    settings = Settings(urls=(address,), agent=None, token=None, retry_s=RETRY_S, timeout_s=TIMEOUT_S)
    headers = {**headers, "content-type": "application/json"}
    async with transport.new_async_client(settings) as http:
        for body in requests:
            answer = await _post(http, address, Request(method="POST", path="", body=body, headers=headers))
            sent.requests += 1
            partial = _read(answer, address)
            if partial is not None and int(partial.rejected_log_records):
                sent.rejected += int(partial.rejected_log_records)
                sent.messages.append(partial.error_message)
    return sent


async def _post(http: "httpx.AsyncClient", url: str, request: Request) -> Response:
    from tallystick import transport

    backoff = Backoff(RETRY_S)
    while True:
        outcome = await transport.exchange(http, request, url)
        if isinstance(outcome, Failure):
            detail = f"{url} cannot be reached: {outcome.detail}."
            wait_s = None if outcome.lasting else backoff.next_wait()
        elif outcome.status == 200:
            return outcome
        else:
            detail = f"{url} answered {outcome.status}: {outcome.body.decode(errors='replace')[:_SAID_CHARS_MAX]}"
            if outcome.status not in RETRYABLE:
                raise UnexpectedAnswer(detail, "Check the address, --header and the receiver.")
            wait_s = backoff.next_wait(seconds_of(outcome.headers.get("retry-after")))
        if wait_s is None:
            raise LedgerUnavailable(detail, "Run it again later: Tallystick as the receiver adds no score twice.")
        await asyncio.sleep(wait_s)


def _read(answer: Response, url: str) -> _Partial | None:
    try:
        return msgspec.json.decode(answer.body or b"{}", type=_Answer).partial_success
    except DECODE_ERRORS as error:
        raise UnexpectedAnswer(f"{url} answered 200, but not as OTLP/JSON: {error}.", "Check the address.") from None

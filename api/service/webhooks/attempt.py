"""One attempt to deliver a message: connect, send, and read the status; the body of the answer is never read.

Redirects are failures, proxies of the environment are not used, and the whole attempt has one deadline.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import NamedTuple, TypeVar

import httpx

from api.service.webhooks.endpoint_store import Endpoint
from api.service.webhooks.message import CONTENT_TYPE, Message, sign
from api.service.webhooks.receiver_address import AddressRefused, resolve

RETRY_AFTER_STATUSES = frozenset({429, 503})
RETRY_AFTER_S_MAX = 86_400.0
"""The longest wait that a receiver may ask for."""

GONE = 410

NO_ANSWER = (AddressRefused, httpx.HTTPError, OSError, ValueError)
"""Errors of a request that has no answer."""

_Judged = TypeVar("_Judged")


class AttemptResult(NamedTuple):
    """The result of an attempt.

    `status` is None without an answer. `reason` says why it failed, without the address; None: it was accepted.
    `detail` says more, for the operator. `retry_after_s` is the wait that the receiver asks for.
    """

    status: int | None
    reason: str | None = None
    detail: str | None = None
    retry_after_s: float = 0.0

    @property
    def gone(self) -> bool:
        """Whether the receiver takes no more messages."""
        return self.status == GONE


async def attempt(endpoint: Endpoint, message: Message) -> AttemptResult:
    """Send a message once. It never raises, and keeps the endpoint's time limit whatever the receiver does."""
    try:
        async with asyncio.timeout(endpoint.pace.timeout_s):
            return await _send(endpoint, message)
    except TimeoutError:
        return AttemptResult(None, f"no answer within {endpoint.pace.timeout_s:g} s")
    except NO_ANSWER as error:
        return AttemptResult(None, *describe_failure(error))


def describe_failure(error: Exception) -> tuple[str, str]:
    """Return why there was no answer, without the address, and more for the operator."""
    if isinstance(error, AddressRefused):
        return "address refused", f"{error}; see --allow-private."
    if isinstance(error, httpx.RemoteProtocolError):
        return "the answer is not HTTP", str(error)
    return "TLS failed" if _is_tls(error) else "no connection", str(error) or type(error).__name__


async def _send(endpoint: Endpoint, message: Message) -> AttemptResult:
    headers = {
        "user-agent": "tallystick-webhook",
        "content-type": CONTENT_TYPE,
        **sign(endpoint.secret, message, int(time.time())),
    }
    return await ask_checked(
        "POST", endpoint.url, _judge, content=message.body, headers=headers, timeout_s=endpoint.pace.timeout_s,
        allow_private=endpoint.allow_private,
    )  # fmt: skip


async def ask_checked(
    method: str,
    address: str,
    judge: Callable[[httpx.Response], _Judged],
    *,
    timeout_s: float,
    allow_private: bool,
    content: bytes = b"",
    headers: Mapping[str, str] | None = None,
) -> _Judged:
    """Send a request to an address that was checked, and return what is made of the head of the answer.

    Errors: AddressRefused, OSError, httpx.HTTPError, ValueError.
    """
    url = httpx.URL(address)
    port = url.port or {"http": 80, "https": 443}[url.scheme]
    checked = await resolve(url.raw_host.decode(), port, allow_private=allow_private)
    given = {
        "host": url.netloc.decode(),
        "accept-encoding": "identity",
        "user-agent": "tallystick",
        "connection": "close",
        **(headers or {}),
    }
    verify = _tls_context() if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for one in checked:
        client = httpx.AsyncClient(verify=verify, trust_env=False, follow_redirects=False, timeout=timeout_s)
        request = client.build_request(
            method,
            url.copy_with(host=str(one)),
            content=content,
            headers=given,
            extensions={"sni_hostname": url.raw_host.decode()},
        )
        async with client:
            try:
                response = await client.send(request, stream=True)
            except httpx.ConnectError:
                if one == checked[-1]:
                    raise
                continue
            try:
                return judge(response)
            finally:
                await response.aclose()
    raise OSError(f"{url.host} has no address")


def _judge(response: httpx.Response) -> AttemptResult:
    status = response.status_code
    if 200 <= status < 300:
        return AttemptResult(status)
    retry_after_s = 0.0
    if status in RETRY_AFTER_STATUSES:
        retry_after_s = parse_retry_after(response.headers.get("retry-after"), datetime.now(UTC))
    reason = f"answered {status}, a redirect, which is not followed" if 300 <= status < 400 else f"answered {status}"
    return AttemptResult(status, reason, retry_after_s=retry_after_s)


def parse_retry_after(text: str | None, now: datetime) -> float:
    """Return the seconds that a header asks for, at most RETRY_AFTER_S_MAX; 0 without a usable header."""
    text = (text or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), RETRY_AFTER_S_MAX)
    try:
        moment = parsedate_to_datetime(text)
        seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
    except (ValueError, OverflowError):
        return 0.0
    return min(max(0.0, seconds), RETRY_AFTER_S_MAX)


@cache
def _tls_context() -> ssl.SSLContext:
    """Return the context that trusts the certificates of the machine; SSL_CERT_FILE names others."""
    return ssl.create_default_context()


def _is_tls(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError) or "CERTIFICATE_VERIFY" in str(error) or "SSL" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False

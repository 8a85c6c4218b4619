"""One attempt to deliver a message: connect, send, and read the status; the body of the answer is never read.

Redirects are failures, proxies of the environment are not used, and the whole attempt has one deadline.
"""

import asyncio
import ssl
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import NamedTuple

import httpx

from api.service.webhooks.endpoint_store import Endpoint
from api.service.webhooks.message import CONTENT_TYPE, Message, sign
from api.service.webhooks.receiver_address import Address, AddressRefused, resolve

RETRY_AFTER_STATUSES = frozenset({429, 503})
RETRY_AFTER_S_MAX = 86_400.0
"""The longest wait that a receiver may ask for."""

GONE = 410


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
    except AddressRefused as error:
        return AttemptResult(None, "address refused", f"{error}; see --allow-private.")
    except httpx.RemoteProtocolError as error:
        return AttemptResult(None, "the answer is not HTTP", str(error))
    except (httpx.HTTPError, OSError, ValueError) as error:
        reason = "TLS failed" if _is_tls(error) else "no connection"
        return AttemptResult(None, reason, str(error) or type(error).__name__)


async def _send(endpoint: Endpoint, message: Message) -> AttemptResult:
    url = httpx.URL(endpoint.url)
    port = url.port or {"http": 80, "https": 443}[url.scheme]
    addresses = await resolve(url.raw_host.decode(), port, allow_private=endpoint.allow_private)
    for address in addresses[:-1]:
        try:
            return await _post(endpoint, message, url, address)
        except httpx.ConnectError:
            continue
    return await _post(endpoint, message, url, addresses[-1])


async def _post(endpoint: Endpoint, message: Message, url: httpx.URL, address: Address) -> AttemptResult:
    headers = {
        "host": url.netloc.decode(),
        "content-type": CONTENT_TYPE,
        "accept-encoding": "identity",
        "user-agent": "tallystick-webhook",
        "connection": "close",
        **sign(endpoint.secret, message, int(time.time())),
    }
    timeout_s = endpoint.pace.timeout_s
    verify = _tls_context() if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client = httpx.AsyncClient(verify=verify, trust_env=False, follow_redirects=False, timeout=timeout_s)
    request = client.build_request(
        "POST",
        url.copy_with(host=str(address)),
        content=message.body,
        headers=headers,
        extensions={"sni_hostname": url.raw_host.decode()},
    )
    async with client:
        response = await client.send(request, stream=True)
        try:
            return _judge(response)
        finally:
            await response.aclose()


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

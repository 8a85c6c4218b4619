"""An OpenAI-compatible chat endpoint as a router: POST {base}/chat/completions, the prompt as the user's one message.

Redirects are not followed, so that no key goes where it was not sent. Proxies are those of HTTP_PROXY, HTTPS_PROXY,
ALL_PROXY and NO_PROXY. A 429 or 503 that names its Retry-After is waited for and asked again, twice at most and only
while the time of the attempt allows: it is no answer of a model, and the attempt stays one.
"""

import asyncio
import ssl
import time
import zlib
from base64 import b64encode
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

import httpx

from events.limits import ANSWER_BYTES_MAX
from instruments.answer import RouterAnswer
from instruments.routers.chat_completion import ChatCompletion, complaint, completion
from instruments.routers.redaction import Redactor
from instruments.routers.router import answered, failed, short, timed_out

WAITS_MAX = 2
"""How often a Retry-After is waited for within one attempt."""

WAIT_S_MIN = 1.0
"""At least so long is waited, whatever Retry-After says."""

_busy = frozenset({429, 503})


class _TooLong(Exception):
    """The body is over the limit, or its compression is none we read."""


class _Reply(NamedTuple):
    status: int
    body: bytes
    wait_s: float | None
    elapsed_ns: int


class OpenAIRouter:
    """Asks one endpoint for one model. The key, the headers and what the address hides reach no answer."""

    def __init__(
        self,
        base: httpx.URL,
        *,
        model: str,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> None:
        path = base.path.rstrip("/").removesuffix("/chat/completions")
        bare = base.copy_with(userinfo=b"", fragment=None)
        self.model = model
        self.name = name or f"openai:{bare.copy_with(path=path or '/', query=None)}".rstrip("/")
        self._url = bare.copy_with(path=f"{path}/chat/completions")
        user = base.userinfo.decode("latin-1")
        basic = b64encode(unquote(user).encode()).decode() if user else ""
        given = dict(headers or {})
        self._headers = httpx.Headers({"accept": "application/json", "accept-encoding": "identity"})
        if key or basic:
            self._headers["authorization"] = f"Bearer {key}" if key else f"Basic {basic}"
        self._headers.update(given)
        values = [value for value in given.values() if value != model]
        words = [value.rpartition(" ")[2] for value in values]
        queried = [value for _, value in parse_qsl(base.query.decode("latin-1"))]
        self._tls = httpx.create_ssl_context() if base.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._secrets = Redactor([key or "", basic, user, base.username, base.password, *values, *words, *queried])

    async def ask(self, prompt: str, timeout_s: float) -> RouterAnswer:
        message = {"role": "user", "content": prompt}
        request = {"model": self.model, "messages": [message], "stream": False}
        began = time.monotonic_ns()
        try:
            client = httpx.AsyncClient(headers=self._headers, verify=self._tls, timeout=timeout_s)
            async with client, asyncio.timeout(timeout_s) as deadline:
                for waits_left in range(WAITS_MAX, -1, -1):
                    reply = await self._post(client, request)
                    left_s = (deadline.when() or 0.0) - asyncio.get_running_loop().time()
                    if reply.wait_s is None or not waits_left or reply.wait_s >= left_s:
                        return self._answer(reply)
                    await asyncio.sleep(reply.wait_s)
        except (TimeoutError, httpx.TimeoutException):
            return timed_out(timeout_s, time.monotonic_ns() - began)
        except (httpx.HTTPError, httpx.InvalidURL, _TooLong) as error:
            said = self._secrets.hide(str(error)) or type(error).__name__
            return failed(f"no answer: {short(said)}", time.monotonic_ns() - began)
        except (ImportError, ValueError):  # httpx, of a scheme that it does not speak; the text has the address in it
            return failed("no answer: the proxy of HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used")
        raise AssertionError("the last reply is answered")

    async def _post(self, client: httpx.AsyncClient, request: object) -> _Reply:
        began = time.monotonic_ns()
        async with client.stream("POST", self._url, json=request) as response:
            wait_s = _retry_after(response.headers) if response.status_code in _busy else None
            body = await _body(response)
            return _Reply(response.status_code, body, wait_s, time.monotonic_ns() - began)

    def _answer(self, reply: _Reply) -> RouterAnswer:
        if reply.status != 200:
            said = short(self._secrets.hide(complaint(reply.body)))
            again = f" (it asks to wait {reply.wait_s:g} s)" if reply.wait_s is not None else ""
            detail = f"answered {reply.status}{again}{f': {said}' if said else ''}"
            return failed(detail, reply.elapsed_ns)
        found = completion(reply.body)
        if not isinstance(found, ChatCompletion):
            return failed(short(self._secrets.hide(found)), reply.elapsed_ns)
        model = None if found.model is None else self._secrets.hide(found.model)
        text = self._secrets.hide(found.text)
        return answered(text, reply.elapsed_ns, reported_model=model, tokens_used=found.tokens)


async def _body(response: httpx.Response) -> bytes:
    """The whole body, decompressed, never more than ANSWER_BYTES_MAX. Errors: _TooLong."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity", "gzip", "deflate"}:
        raise _TooLong(f"answered in {encoding}, which was not asked for")
    inflate = None if encoding in {"", "identity"} else zlib.decompressobj(wbits=47)  # gzip or zlib, by its head
    body = bytearray()
    async for chunk in response.aiter_raw():
        try:
            body += chunk if inflate is None else inflate.decompress(chunk, ANSWER_BYTES_MAX + 1 - len(body))
        except zlib.error:
            raise _TooLong(f"answered in {encoding}, and not well") from None
        if len(body) > ANSWER_BYTES_MAX:
            raise _TooLong(f"answered with more than {ANSWER_BYTES_MAX:,} bytes")
    return bytes(body)


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds to wait, where Retry-After says so in seconds or as a date."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return max(WAIT_S_MIN, float(value[:9]))
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(WAIT_S_MIN, moment.timestamp() - time.time())

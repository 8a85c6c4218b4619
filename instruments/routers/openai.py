"""A router for an OpenAI-compatible chat endpoint: POST {base}/chat/completions with the prompt as the only message.

Redirects are not followed, so that the key reaches no other host. Proxies come from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY
and NO_PROXY. After a 429 or 503 with Retry-After the request is repeated, at most twice and only within the time of
the attempt: repetitions belong to the same attempt, since no model has answered.
"""

import asyncio
import time
import zlib
from collections.abc import Mapping
from typing import NamedTuple

import httpx
from msgspec import structs

from events.limits import ANSWER_BYTES_MAX
from instruments.answer import RouterAnswer
from instruments.routers.chat_completion import ChatCompletion, error_message, parse_completion
from instruments.routers.endpoint_limits import (
    OUTAGE_STATUSES,
    EndpointLimits,
    PauseTooLong,
    stated_wait_s,
)
from instruments.routers.http_endpoint import HttpEndpoint
from instruments.routers.redaction import Redactor
from instruments.routers.router import (
    build_answer,
    build_failure,
    build_timeout,
    shorten,
)

WAITS_MAX = 2
"""The most waits for a Retry-After within one attempt."""

_GZIP_OR_ZLIB = 47
"""The `wbits` with which zlib detects the format from its header."""


class _UnreadableBody(Exception):
    """The body exceeds the limit, or its content encoding is not supported."""


class _Reply(NamedTuple):
    status: int
    body: bytes
    wait_s: float | None
    elapsed_ns: int


class OpenAIRouter:
    """Requests one model from one endpoint. Answers never contain the key, header values or the URL's credentials."""

    def __init__(
        self,
        base: httpx.URL,
        *,
        model: str,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> None:
        self._endpoint = HttpEndpoint(base, "/chat/completions", key)
        self.model = model
        self.name = name or f"openai:{self._endpoint.name}"
        self.limits: EndpointLimits | None = None
        """The limits that the requests share with others; None: there are none."""
        extra_headers = dict(headers or {})
        self._headers = httpx.Headers(self._endpoint.headers)
        self._headers.update(extra_headers)
        values = [value for value in extra_headers.values() if value != model]
        words = [value.rpartition(" ")[2] for value in values]
        self._secrets = Redactor([*self._endpoint.secrets, *values, *words])

    async def ask(self, prompt: str, timeout_s: float) -> RouterAnswer:
        return await self.ask_with(prompt, timeout_s, {})

    async def ask_with(self, prompt: str, timeout_s: float, settings: Mapping[str, object]) -> RouterAnswer:
        """Ask with further fields of the request, such as `temperature`; otherwise as `ask`."""
        message = {"role": "user", "content": prompt}
        request = {"model": self.model, "messages": [message], "stream": False, **settings}
        started_ns = time.monotonic_ns()
        try:
            client = httpx.AsyncClient(headers=self._headers, verify=self._endpoint.tls, timeout=timeout_s)
            await self._acquire()
            started_ns = time.monotonic_ns()
            async with client, asyncio.timeout(timeout_s) as deadline:
                for waits_left in range(WAITS_MAX, -1, -1):
                    reply = await self._post(client, request)
                    left_s = (deadline.when() or 0.0) - asyncio.get_running_loop().time()
                    if reply.wait_s is None or not waits_left or reply.wait_s >= left_s:
                        return self._answer(reply)
                    await asyncio.sleep(reply.wait_s)
                    await self._acquire()
        except PauseTooLong as refusal:
            return structs.replace(build_failure(f"was not asked: {refusal}"), transient=True)
        except (TimeoutError, httpx.TimeoutException):
            return structs.replace(build_timeout(timeout_s, time.monotonic_ns() - started_ns), transient=True)
        except (httpx.HTTPError, httpx.InvalidURL, _UnreadableBody) as error:
            reason = self._secrets.hide(str(error)) or type(error).__name__
            failure = build_failure(f"no answer: {shorten(reason)}", time.monotonic_ns() - started_ns)
            return structs.replace(failure, transient=isinstance(error, httpx.TransportError))
        except (
            ImportError,
            ValueError,
        ):  # an unsupported proxy scheme; the text contains the address
            return build_failure("no answer: the proxy of HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used")
        raise AssertionError("the last reply always gives an answer")

    async def _acquire(self) -> None:
        """Wait until the endpoint may be asked."""
        if self.limits is not None:
            await self.limits.acquire([self._endpoint.host])

    async def _post(self, client: httpx.AsyncClient, request: object) -> _Reply:
        started_ns = time.monotonic_ns()
        async with client.stream("POST", self._endpoint.url, json=request) as response:
            wait_s = stated_wait_s(response.status_code, response.headers)
            if wait_s is not None and self.limits is not None:
                self.limits.pause(self._endpoint.host, wait_s)
            body = await _read_body(response)
            return _Reply(response.status_code, body, wait_s, time.monotonic_ns() - started_ns)

    def _answer(self, reply: _Reply) -> RouterAnswer:
        if reply.status != 200:
            message = shorten(self._secrets.hide(error_message(reply.body)))
            retry_note = f" (it asks to wait {reply.wait_s:.13g} s)" if reply.wait_s is not None else ""
            detail = f"answered {reply.status}{retry_note}{f': {message}' if message else ''}"
            failure = build_failure(detail, reply.elapsed_ns, status=reply.status)
            return structs.replace(failure, transient=reply.status in OUTAGE_STATUSES)
        completion = parse_completion(reply.body)
        if not isinstance(completion, ChatCompletion):
            return build_failure(shorten(self._secrets.hide(completion)), reply.elapsed_ns)
        model = None if completion.model is None else self._secrets.hide(completion.model)
        text = self._secrets.hide(completion.text)
        answer = build_answer(text, reply.elapsed_ns, reported_model=model, tokens_used=completion.tokens)
        return structs.replace(
            answer,
            input_tokens=completion.input_tokens,
            output_tokens=completion.output_tokens,
            cut_off=completion.cut_off,
        )


async def _read_body(response: httpx.Response) -> bytes:
    """Read and decompress the body, at most ANSWER_BYTES_MAX bytes. Errors: _UnreadableBody."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity", "gzip", "deflate"}:
        raise _UnreadableBody(f"answered in {encoding}, which was not asked for")
    inflate = None if encoding in {"", "identity"} else zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
    body = bytearray()
    async for chunk in response.aiter_raw():
        try:
            body += chunk if inflate is None else inflate.decompress(chunk, ANSWER_BYTES_MAX + 1 - len(body))
        except zlib.error:
            raise _UnreadableBody(f"answered in {encoding}, and not well") from None
        if len(body) > ANSWER_BYTES_MAX:
            raise _UnreadableBody(f"answered with more than {ANSWER_BYTES_MAX:,} bytes")
    return bytes(body)

"""A client of an OpenAI-compatible embeddings endpoint: POST {base}/embeddings, texts in, vectors out.

Redirects are not followed, so that the key reaches no other host. Errors never contain the key or secrets in the
address.
"""

import math
import time
from array import array
from collections.abc import Sequence

import httpx
import msgspec

from events.limits import ANSWER_BYTES_MAX
from instruments.evals.scoring.embedding_cache import Vector
from instruments.routers.chat_completion import error_message
from instruments.routers.endpoint_limits import EndpointLimits, PauseTooLong, stated_wait_s
from instruments.routers.http_endpoint import HttpEndpoint
from instruments.routers.redaction import Redactor
from instruments.routers.router import shorten

TIMEOUT_S = 10.0
"""Seconds for one request, from its beginning to the end of the reply."""

NUMBERS_MAX = 16_384
"""The most numbers of one vector."""


class EmbeddingsUnavailable(Exception):
    """The endpoint gave no vectors; the text says why, without secrets."""


class _Entry(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Reply(msgspec.Struct):
    data: list[_Entry]


class EmbeddingsClient:
    """A client for one endpoint and one model. Errors: EmbeddingsUnavailable, if the address is not valid."""

    def __init__(self, address: str, *, model: str, key: str | None = None) -> None:
        try:
            base = httpx.URL(address.strip())
        except httpx.InvalidURL:
            raise EmbeddingsUnavailable("the address cannot be read") from None
        if base.scheme not in {"http", "https"} or not base.host:
            raise EmbeddingsUnavailable("the address is none of http:// or https://")
        self._endpoint = HttpEndpoint(base, "/embeddings", key)
        self.model = model
        self.name = self._endpoint.name
        self.host = f"{base.host}:{base.port or (443 if base.scheme == 'https' else 80)}"
        """Host and port of the endpoint."""
        self.limits: EndpointLimits | None = None
        """The limits that the requests share with others; None: there are none."""
        self._secrets = Redactor(self._endpoint.secrets)

    def ask(self, texts: Sequence[str]) -> "list[Vector[float]]":
        """Return a vector of length 1 for each text, all of the same size. Errors: EmbeddingsUnavailable."""
        self._acquire()
        try:
            with httpx.Client(headers=self._endpoint.headers, verify=self._endpoint.tls, timeout=TIMEOUT_S) as client:
                status, body = self._post(client, {"model": self.model, "input": list(texts)})
        except httpx.TimeoutException:
            raise EmbeddingsUnavailable(f"gave no whole answer within {TIMEOUT_S:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = self._secrets.hide(str(error)) or type(error).__name__
            raise EmbeddingsUnavailable(f"gave no answer: {shorten(reason)}") from None
        except (ImportError, ValueError):  # from httpx, for an invalid proxy scheme or key, which its text contains
            raise EmbeddingsUnavailable("cannot be asked with this key, or by this proxy") from None
        if status != 200:
            reason = shorten(self._secrets.hide(error_message(body)))
            raise EmbeddingsUnavailable(f"answered {status}{f': {reason}' if reason else ''}")
        return _vectors(body, len(texts))

    def _acquire(self) -> None:
        """Wait until the endpoint may be asked. Errors: EmbeddingsUnavailable."""
        if self.limits is None:
            return
        try:
            self.limits.acquire_blocking(self._endpoint.host)
        except PauseTooLong as refusal:
            raise EmbeddingsUnavailable(f"was not asked: {refusal}") from None

    def _pause(self, response: httpx.Response) -> None:
        """Let nobody ask the endpoint until the time that it states, if it is busy."""
        wait_s = stated_wait_s(response.status_code, response.headers)
        if self.limits is not None and wait_s is not None:
            self.limits.pause(self._endpoint.host, wait_s)

    def _post(self, client: httpx.Client, request: object) -> tuple[int, bytes]:
        deadline_s = time.monotonic() + TIMEOUT_S
        body = bytearray()
        with client.stream("POST", self._endpoint.url, json=request) as response:
            self._pause(response)
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > ANSWER_BYTES_MAX:
                    raise EmbeddingsUnavailable(f"answered with more than {ANSWER_BYTES_MAX:,} bytes")
                if time.monotonic() > deadline_s:
                    raise EmbeddingsUnavailable(f"gave no whole answer within {TIMEOUT_S:g} s")
            return response.status_code, bytes(body)


def _vectors(body: bytes, count: int) -> "list[Vector[float]]":
    try:
        entries = msgspec.json.decode(body, type=_Reply).data
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise EmbeddingsUnavailable("answered with no embeddings") from None
    if len(entries) != count:
        raise EmbeddingsUnavailable(f"answered with {len(entries)} embeddings for {count} texts")
    indexes = [at if entry.index is None else entry.index for at, entry in enumerate(entries)]
    if sorted(indexes) != list(range(count)):
        raise EmbeddingsUnavailable("answered with embeddings of no text that it was given")
    sizes = {len(entry.embedding) for entry in entries}
    if len(sizes) != 1 or not 0 < max(sizes) <= NUMBERS_MAX:
        raise EmbeddingsUnavailable("answered with embeddings of different lengths, of none or of too many numbers")
    ordered = sorted(zip(indexes, entries, strict=True), key=lambda pair: pair[0])
    return [_unit(entry.embedding) for _, entry in ordered]


def _unit(numbers: list[float]) -> "Vector[float]":
    """Scale a vector to length 1. Errors: EmbeddingsUnavailable, if its length is 0 or not finite."""
    largest = max(map(abs, numbers))
    if not 0.0 < largest < math.inf:
        raise EmbeddingsUnavailable("answered with an embedding that is nothing, or no number")
    scaled = [number / largest for number in numbers]
    length = math.hypot(*scaled)
    return array("f", [number / length for number in scaled])

"""The part of the client that uses httpx. The first request imports it, `import tallystick` does not."""

from typing import Any

import httpx

from tallystick.request_flow import ANSWER_BYTES_MAX, Failure, Request, Response
from tallystick.settings import Settings

CONNECT_S = 10.0
"""How long one attempt to connect may take, seconds."""

SILENCE_S = 60.0
"""Seconds without data after which a stream is opened again; the server sends a comment every 15 s."""

PROBLEM_BYTES_MAX = 65_536
"""One answer that reports an error; it may be longer if the route answers more."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def new_client(settings: Settings) -> httpx.Client:
    """Return an httpx client. It uses no proxy for a server on this machine."""
    # httpx reads the proxies in the environment only for a client without a transport of its own
    transport = httpx.HTTPTransport() if all(map(is_loopback, settings.urls)) else None
    return httpx.Client(transport=transport, **_options(settings))


def new_async_client(settings: Settings) -> httpx.AsyncClient:
    """Return an asynchronous httpx client, otherwise as `new_client`."""
    transport = httpx.AsyncHTTPTransport() if all(map(is_loopback, settings.urls)) else None
    return httpx.AsyncClient(transport=transport, **_options(settings))


def _options(settings: Settings) -> dict[str, Any]:
    headers = {"user-agent": "tallystick-python", "accept-encoding": "identity"}
    if settings.token is not None:
        headers["authorization"] = f"Bearer {settings.token}"
    return {"headers": headers, "timeout": httpx.Timeout(settings.timeout_s, connect=CONNECT_S)}


def is_loopback(url: str) -> bool:
    """Return whether a server is on this machine."""
    return httpx.URL(url).host in _LOOPBACK


def arguments_of(request: Request, url: str) -> dict[str, Any]:
    """Return the arguments of httpx for a request to the server at an address."""
    return {
        "method": request.method,
        "url": url + request.path,
        "params": request.query,
        "content": request.body,
        "headers": request.headers,
    }


def stream_arguments_of(request: Request, url: str) -> dict[str, Any]:
    """Return the arguments of httpx for a stream, which has no time limit, but ends after SILENCE_S without data."""
    return {**arguments_of(request, url), "timeout": httpx.Timeout(SILENCE_S, connect=CONNECT_S)}


def exchange_sync(http: httpx.Client, request: Request, url: str) -> Response | Failure:
    """Send a request to the server at an address; return its answer, or why there is none."""
    try:
        with http.stream(**arguments_of(request, url)) as response:
            return read_response(response, request.answer_bytes_max)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return failure_of(error, url)


async def exchange(http: httpx.AsyncClient, request: Request, url: str) -> Response | Failure:
    """As `exchange_sync`."""
    try:
        async with http.stream(**arguments_of(request, url)) as response:
            return await read_response_async(response, request.answer_bytes_max)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return failure_of(error, url)


def read_response(response: httpx.Response, bytes_max: int = ANSWER_BYTES_MAX) -> Response:
    """Read and convert an open httpx response. Errors: httpx.DecodingError, if it is compressed or too long."""
    require_plain(response)
    body = bytearray()
    for piece in response.iter_raw():
        body += piece
        _check_size(response, len(body), bytes_max)
    return _response_of(response, bytes(body))


async def read_response_async(response: httpx.Response, bytes_max: int = ANSWER_BYTES_MAX) -> Response:
    """Read and convert an open httpx response, as `read_response`."""
    require_plain(response)
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        _check_size(response, len(body), bytes_max)
    return _response_of(response, bytes(body))


def _response_of(response: httpx.Response, body: bytes) -> Response:
    """Convert an httpx response and its body."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(response.status_code, headers, body, str(response.url))


def require_plain(response: httpx.Response) -> None:
    """Refuse a compressed answer: a few megabytes of it could become gigabytes. Errors: httpx.DecodingError."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity"}:
        raise httpx.DecodingError(f"it answered in the encoding {encoding[:20]!r}, which was not requested")


def _check_size(response: httpx.Response, size_bytes: int, bytes_max: int) -> None:
    limit = bytes_max if response.is_success else max(bytes_max, PROBLEM_BYTES_MAX)
    if size_bytes > limit:
        raise httpx.DecodingError(
            f"it answered {response.status_code} with more than {limit:,} bytes, the most that Tallystick answers there"
        )


def failure_of(error: httpx.HTTPError | httpx.InvalidURL, url: str) -> Failure:
    """Convert the httpx error of a request that got no answer."""
    detail = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in detail:
        return Failure(url, detail, True, "Name the authority that signed its certificate in SSL_CERT_FILE.")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return Failure(url, detail, False, "Is the server running there? Check the address.")
    # a request that cannot be sent, or an answer that is not one of Tallystick, will be the same at each try
    lasting = isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError | httpx.DecodingError)
    if lasting or not isinstance(error, httpx.TransportError):
        return Failure(url, detail, True, "Check the address.", isinstance(error, httpx.DecodingError))
    return Failure(url, detail)

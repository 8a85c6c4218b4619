"""The part of the client that knows httpx: it is loaded by the first request, not by `import tallystick`."""

from typing import Any

import httpx

from tallystick.exchange import Failure, Request, Response
from tallystick.settings import Settings

CONNECT_S = 10.0
"""How long one try to connect may take, seconds."""

SILENCE_S = 60.0
"""How long a stream may be silent before it is opened again; the server sends a comment every 15 s."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def new_client(settings: Settings) -> httpx.Client:
    """Return a client of httpx. A server on this machine is reached without a proxy."""
    transport = httpx.HTTPTransport() if is_loopback(settings.url) else None
    return httpx.Client(transport=transport, **_options(settings))


def new_async_client(settings: Settings) -> httpx.AsyncClient:
    """Return an asynchronous client of httpx, as `new_client` does."""
    transport = httpx.AsyncHTTPTransport() if is_loopback(settings.url) else None
    return httpx.AsyncClient(transport=transport, **_options(settings))


def _options(settings: Settings) -> dict[str, Any]:
    headers = {"user-agent": "tallystick-python"}
    if settings.token is not None:
        headers["authorization"] = f"Bearer {settings.token}"
    return {"headers": headers, "timeout": httpx.Timeout(settings.timeout_s, connect=CONNECT_S)}


def is_loopback(url: str) -> bool:
    """Whether a server is on this machine."""
    return httpx.URL(url).host in _LOOPBACK


def arguments_of(request: Request, url: str) -> dict[str, Any]:
    """Return a request to the server at an address, as httpx takes it."""
    return {
        "method": request.method,
        "url": url + request.path,
        "params": request.query,
        "content": request.body,
        "headers": request.headers,
    }


def stream_arguments_of(request: Request, url: str) -> dict[str, Any]:
    """Return the request of a stream. A stream has no time limit, but a long silence ends it."""
    return {**arguments_of(request, url), "timeout": httpx.Timeout(SILENCE_S, connect=CONNECT_S)}


def response_of(response: httpx.Response) -> Response:
    """Return an answer whose body was read."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(response.status_code, headers, response.content, str(response.url))


def failure_of(error: httpx.HTTPError | httpx.InvalidURL, url: str) -> Failure:
    """Return why a request got no answer."""
    said = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return Failure(url, said, True, "Name the authority that signed its certificate in SSL_CERT_FILE.")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return Failure(url, said, False, "Is the server running there? Check the address.")
    lasting = isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError | httpx.DecodingError)
    if lasting or not isinstance(error, httpx.TransportError):
        return Failure(url, said, True, "Check the address.")
    return Failure(url, said)

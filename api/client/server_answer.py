"""Read the answers of a server that is not trusted: as a stream, up to the limit of the route, and never compressed.

A server that sends more than its route can answer is not a Tallystick server. Answers are requested uncompressed, and
a compressed one is refused, so that a few megabytes on the wire cannot become gigabytes in memory.
"""

from typing import TYPE_CHECKING, NamedTuple

from api.errors import UnexpectedAnswer

if TYPE_CHECKING:
    import httpx

IDENTITY = {"accept-encoding": "identity"}
"""The header that requests an uncompressed answer."""

PROBLEM_BYTES_MAX = 65_536
"""One answer that reports an error."""

RETRY_AFTER_S_MAX = 60
"""Seconds to wait at most before a request is repeated, whatever the server states."""


class ServerAnswer(NamedTuple):
    """One whole answer."""

    url: str
    status: int
    headers: "httpx.Headers"
    content: bytes

    def retry_after_s(self) -> int:
        """Return the seconds after which the server asks for a repetition: 1 to RETRY_AFTER_S_MAX."""
        text = self.headers.get("retry-after", "1")
        return max(1, min(int(text[:4]), RETRY_AFTER_S_MAX)) if text.isascii() and text.isdigit() else 1


async def fetch(client: "httpx.AsyncClient", request: "httpx.Request", bytes_max: int) -> ServerAnswer:
    """Send a request and read the answer, at most `bytes_max` bytes. Errors: UnexpectedAnswer; httpx.TransportError."""
    response = await client.send(request, stream=True)
    try:
        return await read_answer(response, bytes_max)
    finally:
        await response.aclose()


async def read_answer(response: "httpx.Response", bytes_max: int) -> ServerAnswer:
    """Read an open answer. If it reports an error, at most PROBLEM_BYTES_MAX are read. Errors: UnexpectedAnswer."""
    require_plain(response)
    limit = bytes_max if response.is_success else PROBLEM_BYTES_MAX
    content = bytearray()
    async for piece in response.aiter_raw():
        content += piece
        if len(content) > limit:
            raise UnexpectedAnswer(
                f"{response.url} answered {response.status_code} with more than {limit:,} bytes, the most that"
                " Tallystick answers there.",
                "Check the address.",
            )
    return ServerAnswer(str(response.url), response.status_code, response.headers, bytes(content))


def require_plain(response: "httpx.Response") -> None:
    """Refuse a compressed answer. Errors: UnexpectedAnswer."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity"}:
        raise UnexpectedAnswer(
            f"{response.url} answered in the encoding {encoding[:20]!r}, which was not requested.", "Check the address."
        )


def not_tallystick(url: object, status: int) -> UnexpectedAnswer:
    """Return the error for an answer that a Tallystick server does not give."""
    return UnexpectedAnswer(f"{url} answered {status}, but not as Tallystick does.", "Check the address.")

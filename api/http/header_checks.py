"""Check which headers a request has (RFC 9110 and 9112): one Host, and every other single-valued header once."""

from collections import Counter
from collections.abc import Callable, Sequence

from events.errors import MalformedInput

SINGLE_HEADERS = frozenset(
    {b"authorization", b"content-encoding", b"content-type", b"host", b"last-event-id", b"origin"}
)
"""Headers with one value that routes read. Two readers of a request that has two of them could read different ones."""


def find_header_fault(headers: Sequence[tuple[bytes, bytes]], http_version: Callable[[], str]) -> MalformedInput | None:
    """Return why a request is refused because of the headers that it has; None if it is not."""
    names = {name for name, _ in headers}
    if len(names) < len(headers):
        for name, times in Counter(name for name, _ in headers).items():
            if times > 1 and (name in SINGLE_HEADERS or name.startswith(b"ce-")):
                detail = f"The request has {times} {name.decode('latin-1')} headers."
                return MalformedInput(detail, "Send it once.")
    if b"host" not in names and http_version() == "1.1":
        return MalformedInput("The request has no Host header.", "HTTP/1.1 requires one.")
    return None

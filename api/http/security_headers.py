"""The security headers of every answer."""

from typing import NamedTuple

_POLICY_NAME, _REFERRER_NAME = b"\r\ncontent-security-policy: ", b"\r\nreferrer-policy: "


class SecurityHeaders(NamedTuple):
    """Header lines that are added to every answer; `policy` and `referrer` only if the answer has none of its own."""

    policy: bytes
    referrer: bytes
    lines: bytes

    def add_to(self, head: bytes) -> bytes:
        """Add the lines after the status line of a head."""
        start = head.index(b"\n") + 1
        policy = b"" if _POLICY_NAME in head else self.policy
        referrer = b"" if _REFERRER_NAME in head else self.referrer
        return b"%b%b%b%b%b" % (head[:start], self.lines, referrer, policy, head[start:])


HEADERS = SecurityHeaders(
    b"content-security-policy: default-src 'none'; frame-ancestors 'none'; sandbox\r\n",
    b"referrer-policy: no-referrer\r\n",
    b"x-content-type-options: nosniff\r\ncross-origin-resource-policy: same-origin\r\n",
)
"""With these a browser uses the stated media type, and neither runs, frames nor embeds an answer."""

TLS_HEADERS = HEADERS._replace(lines=HEADERS.lines + b"strict-transport-security: max-age=31536000\r\n")

"""Remove credentials from the URLs in captured texts: user and password, and values of secret query parameters.

Fixtures are shared and committed, so that a URL in them must not open anything. A parameter is secret by its name:
`token`, `apiKey`, `X-Amz-Signature`. A URL inside a parameter is searched as well.
"""

import re
from typing import Any
from urllib.parse import quote, unquote

from instruments.routers.redaction import HIDDEN

_url = re.compile(r"://([^\s\"'<>]+)")
_userinfo = re.compile(r"[^/?#]*@|[^/?#@:\[]+:(?!\d*(?:[/?#]|$))[^@]*@(?:[^/?#]*@)?")
"""User and password; the second form is a password with an unescaped `/`, `?` or `#`, after which no port follows."""

_parameter = re.compile(r"([?&;#])([^=&;#?]+)=([^&;#]*)")
_name_word = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")

_SECRET_WORDS = frozenset(
    {
        "auth", "authorization", "bearer", "cookie", "credential", "credentials", "jwt", "pass", "passphrase", "passwd",
        "password", "pwd", "secret", "session", "sid", "sig", "signature", "token",
    }
)  # fmt: skip
_SECRET_ENDS = (
    "accesskey", "accountkey", "apikey", "authkey", "password", "privatekey", "secret", "secretkey", "sessionid",
    "sharedkey", "signature", "signingkey", "token",
)  # fmt: skip


def redact_urls(text: str) -> str:
    """Return a text in which URLs have `[redacted]` instead of user and password, and of values of secret parameters.

    `http://ada:pw@db/x?token=7` becomes `http://[redacted]@db/x?token=[redacted]`.
    """
    return _replace(text, f"{HIDDEN}@")


def clean_link(url: str) -> str:
    """Return a URL without user and password, so that it can be followed; secret parameters are `[redacted]`."""
    return _replace(url, "")


def redact_urls_within(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a JSON value with every text redacted, keys too."""
    if isinstance(value, dict):
        return {redact_urls(name): redact_urls_within(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [redact_urls_within(inner) for inner in value]
    return redact_urls(value) if isinstance(value, str) else value


def _replace(text: str, mark: str) -> str:
    def redact(found: re.Match[str]) -> str:
        userinfo = _userinfo.match(found[1])
        rest = found[1] if userinfo is None else f"{mark}{found[1][userinfo.end() :]}"
        return f"://{_parameter.sub(_replace_value, rest)}"

    return _url.sub(redact, text)


def _replace_value(parameter: re.Match[str]) -> str:
    before, name, value = parameter.groups()
    if _is_secret(unquote(name)):
        return f"{before}{name}={HIDDEN}" if value else parameter[0]
    inner = unquote(value)
    redacted = redact_urls(inner)
    return parameter[0] if redacted == inner else f"{before}{name}={quote(redacted, safe='[]@:/')}"


def _is_secret(name: str) -> bool:
    letters = "".join(_name_word.findall(name)).lower()
    words = {word.lower() for word in _name_word.findall(name)}
    return bool(words & _SECRET_WORDS) or letters == "key" or letters.endswith(_SECRET_ENDS)

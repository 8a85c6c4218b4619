"""Find secrets in the bytes of sessions: keys and tokens that have a form of their own.

A library for that (detect-secrets) reads files by their names, and needs an HTTP client. These forms are published by
their makers, so that leaked ones can be found.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

_FORMS: Final[Mapping[str, bytes]] = {
    "private key": rb"-----BEGIN (?:[A-Z]+ ){0,2}PRIVATE KEY-----",
    "key of AWS": rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "token of GitHub": rb"\bgh[pousr]_[0-9A-Za-z]{36}\b|\bgithub_pat_[0-9A-Za-z_]{60}",
    "token of GitLab": rb"\bglpat-[0-9A-Za-z_-]{20}",
    "key of Anthropic": rb"\bsk-ant-[0-9A-Za-z_-]{20}",
    "key of OpenAI": rb"\bsk-(?:proj-[0-9A-Za-z_-]{20}|[0-9A-Za-z]{48}\b)",
    "key of Google": rb"\bAIza[0-9A-Za-z_-]{35}",
    "token of Slack": rb"\bxox[abprs]-[0-9A-Za-z-]{10}",
    "key of Stripe": rb"\b[rs]k_live_[0-9A-Za-z]{20}",
    "JSON Web Token": rb"\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10}",
}
_KINDS: Final = tuple(_FORMS)
_any = re.compile(b"|".join(b"(" + form + b")" for form in _FORMS.values()))


def count_secrets(data: bytes) -> Counter[str]:
    """Return how many different secrets some bytes have, by kind."""
    found = {(_KINDS[match.lastindex - 1], match[0]) for match in _any.finditer(data) if match.lastindex}
    return Counter(kind for kind, _ in found)

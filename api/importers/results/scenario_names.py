"""Ids of scenarios for the samples of other tools.

An id is `SUITE.SAMPLE`, so that sample 1 of two suites is two scenarios. Where that is not a valid id, the part that is
not is cleaned and gets a digest of the original, marked `.x`. Names that end like such a mark, and samples with a dot,
get a digest too, so that different names never give the same id.
"""

import re
from hashlib import sha256

from events.limits import STREAM_ID_CHARS_MAX
from events.payload import STREAM_ID_PATTERN

SUITE_CHARS_MAX = 30
"""Characters of the suite's part of an id."""

SUITE_DIGITS, SAMPLE_DIGITS = 8, 16
"""Hexadecimal digits of the digest of a suite, and of a sample."""

_valid = re.compile(STREAM_ID_PATTERN)
_marked = re.compile(r"\.x[0-9a-f]{8,16}$")
_invalid = re.compile(r"[^A-Za-z0-9_-]+")


def scenario_id_of(suite: str, sample: str) -> str:
    """Return the id of the scenario for a sample of a suite: 1..64 of letters, digits, '.', '_' and '-'."""
    suite_part = _clean(suite, SUITE_CHARS_MAX, SUITE_DIGITS, dots=True)
    return f"{suite_part}.{_clean(sample, STREAM_ID_CHARS_MAX - len(suite_part) - 1, SAMPLE_DIGITS, dots=False)}"


def keeps_sample(scenario_id: str, sample: str) -> bool:
    """Tell whether the id of a scenario contains the id of its sample as the tool wrote it."""
    return scenario_id.endswith(f".{sample}")


def _clean(text: str, length: int, digits: int, *, dots: bool) -> str:
    is_free = _valid.fullmatch(text) is not None and _marked.search(text) is None and (dots or "." not in text)
    if is_free and len(text) <= length:
        return text
    digest = sha256(text.encode(errors="surrogatepass")).hexdigest()[:digits]
    return f"{_invalid.sub('-', text)[: length - digits - 2].strip('-')}.x{digest}"

"""The HTTP header Retry-After: a number of seconds, or a date."""

import time
from email.utils import parsedate_to_datetime

BUSY_STATUSES = frozenset({429, 503})
"""The statuses with which an endpoint asks for a later request."""

OUTAGE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""The statuses after which the same request may succeed later."""

RETRY_AFTER_S_MIN = 1.0
"""The shortest wait, even if Retry-After is shorter."""

RETRY_AFTER_S_MAX = 3_600.0
"""The longest Retry-After that an evaluation waits for, seconds. A run stops where an endpoint asks for more."""

_DIGITS_MAX = 9


def parse_retry_after(value: str) -> float | None:
    """Return the seconds to wait; None if the value is neither a number of seconds nor a date."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return max(RETRY_AFTER_S_MIN, float(value[:_DIGITS_MAX]))
    try:
        retry_at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(RETRY_AFTER_S_MIN, retry_at.timestamp() - time.time())

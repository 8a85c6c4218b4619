"""Names of days."""

from datetime import UTC, datetime

DAY_S = 86_400


def day_name(days: int) -> str:
    """Return the date of a number of days since 1970, UTC."""
    return datetime.fromtimestamp(days * DAY_S, UTC).date().isoformat()

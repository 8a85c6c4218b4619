"""Values as a report quotes them."""

import msgspec

VALUE_CHARS_MAX = 80
"""Characters of a value that a report quotes."""


def quoted(value: object) -> str:
    """A value as a report shows it: cut, on one line, and Unicode whatever it was."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else _written(value)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= VALUE_CHARS_MAX else f"{text[: VALUE_CHARS_MAX - 3]}..."


def _written(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return f"a {type(value).__name__}"

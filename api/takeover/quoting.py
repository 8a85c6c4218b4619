"""Values as a report quotes them."""

import msgspec

VALUE_CHARS_MAX = 80
"""Characters of a value that a report quotes."""

LEVELS_MAX = 50
"""Lists and objects within each other that a report quotes; of more it says what the outermost is."""


def quoted(value: object) -> str:
    """A value as a report shows it: cut, on one line, and Unicode whatever it was."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else _written(value)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= VALUE_CHARS_MAX else f"{text[: VALUE_CHARS_MAX - 3]}..."


def _written(value: object) -> str:
    try:
        if _nests(value, LEVELS_MAX):
            return msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        pass
    return f"a {type(value).__name__}"


def _nests(value: object, levels: int) -> bool:
    """Whether a value has at most so many levels."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_nests(one, levels - 1) for one in inner)

"""Replace texts for people in JSON, so that a recorded answer only says that they are present.

All other bytes stay as they are: order of keys, spaces, escapes and the spelling of numbers.
"""

import json
import re
from collections.abc import Collection

TEXT = '"<text>"'
"""What replaces a text."""

NAMES = frozenset({
    "advice", "calibrationNote", "description", "detail", "lines", "markdown", "message", "note", "recommendation",
    "says", "suggestion", "suggestions", "title", "unsigned", "warnings",
})  # fmt: skip
"""Keys whose strings are for people. Codes have other keys (`type`, `severity`), and stay."""

CUT_CHARS_MIN = 40
"""The least length of a text that the server may have cut."""

_token = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^"{}\[\]:,]+')


def without_texts(document: str, sent: Collection[str], or_codes: Collection[str] = ()) -> str:
    """Replace the texts for people in a JSON document.

    Args:
        document: the JSON.
        sent: texts that clients wrote. They are data, and stay. So does every stored event.
        or_codes: keys that have a text in some answers and a code in others. A string without a space is a code.
    """
    made: list[str] = []
    keys: list[str] = [""]  # for each open object or array, the key of its current value
    objects: list[bool] = []
    key_next = False
    stored_depth = 0  # how many objects and arrays are open around a stored event, itself included
    for token in _token.findall(document):
        if token in "{[":
            objects.append(token == "{")
            keys.append(keys[-1])
            key_next = token == "{"
        elif token in "}]":
            stored_depth = 0 if len(objects) == stored_depth else stored_depth
            objects.pop()
            keys.pop()
            key_next = False
        elif token == ",":
            key_next = objects[-1]
        elif token[0] == '"' and key_next:
            keys[-1], key_next = json.loads(token), False
            if keys[-1] == "specversion" and not stored_depth:
                stored_depth = len(objects)
        elif token[0] == '"' and not stored_depth:
            is_text = keys[-1] in NAMES or (keys[-1] in or_codes and " " in token)
            made.append(TEXT if is_text and not _is_sent(json.loads(token), sent) else token)
            continue
        made.append(token)
    return "".join(made)


def strings_of(value: object) -> set[str]:
    """Return every string in a JSON value, except the keys."""
    if isinstance(value, str):
        return {value}
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {text for one in inner for text in strings_of(one)}


def _is_sent(text: str, sent: Collection[str]) -> bool:
    """Tell whether a client wrote a text, or a longer text that begins with it: the server cuts titles."""
    return text in sent or (len(text) >= CUT_CHARS_MIN and any(one.startswith(text) for one in sent))

r"""Check what a decoder of JSON lets pass: a key twice in one object, of which one would not count, and deep nesting.

A decoder refuses half of a surrogate pair, such as `\ud83d`, which is half an emoji, as if the JSON were cut off. The
error of this module names its place instead.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from events.errors import MalformedInput

DEPTH_MAX = 64
"""The deepest nesting of objects and lists in what a client sends."""

NUMBER_RULE = "must be a number between -1.8e308 and 1.8e308"
TEXT_RULE = "must be Unicode text, without half of a surrogate pair"
TEXT_ADVICE = "Send both halves of the character, or U+FFFD in its place."

_lone_surrogate = re.compile("[\ud800-\udfff]")
_escape = re.compile(r"\\u[dD](?:[89abAB]..\\u[dD][c-fC-F]|([89a-fA-F]))..|\\.", re.DOTALL)
"""An escape in JSON: a surrogate pair, half of one (group 1), or another."""

_decode = msgspec.json.Decoder().decode
_token = re.compile(rb'("(?:[^"\\]|\\.)*")(\s*:)?|[{}]', re.DOTALL)


class TooDeep(Exception):
    """A value nests too deep."""


def check_json(text: bytes | msgspec.Raw, index: int | None = None) -> None:
    """Check a JSON text that a decoder accepts; `index` is its 0-based place in a batch.

    Errors: MalformedInput, for a key twice in one object or more than DEPTH_MAX levels.
    """
    body = bytes(text)
    try:
        keys = count_keys(_decode(body), DEPTH_MAX)
    except (TooDeep, RecursionError):
        raise MalformedInput(f"The JSON nests more than {DEPTH_MAX} deep.", "Write it flatter.", index=index) from None
    except ValueError:
        return  # a number or text that only a lenient decoder accepts, which reports it
    if body.count(b":") == keys or count_colons(body) == keys:
        return
    key, _ = find_repeated_key(body)
    raise MalformedInput(
        f"The key {key[:80]!r} is twice in one object.", "Keep one: only one of them could count.", index=index
    )


class UnrepresentableValue(NamedTuple):
    """A value that JSON allows but we cannot represent: its path, as the caller spelled it, and the rule."""

    field: str
    rule: str


def find_unrepresentable(value: object, path: str = "") -> Iterator[UnrepresentableValue]:
    """Yield the values that we cannot represent in what `json.loads` has read."""
    if isinstance(value, dict):
        for name, inner in value.items():
            shown = name.encode(errors="backslashreplace").decode()
            inner_path = f"{path}.{shown}" if path else shown
            if _lone_surrogate.search(name):
                yield UnrepresentableValue(inner_path, TEXT_RULE)
            yield from find_unrepresentable(inner, inner_path)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from find_unrepresentable(inner, f"{path}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield UnrepresentableValue(path, NUMBER_RULE)
    elif isinstance(value, str) and _lone_surrogate.search(value):
        yield UnrepresentableValue(path, TEXT_RULE)


def half_surrogate_error(text: bytes | msgspec.Raw, index: int | None = None) -> MalformedInput | None:
    """Return the error for JSON that a decoder refuses for half of a surrogate pair; None if it has none."""
    body = bytes(text)
    if b"\\ud" not in body.lower():
        return None
    try:
        found = next((it for it in find_unrepresentable(json.loads(body)) if it.rule == TEXT_RULE), None)
    except (ValueError, RecursionError):
        return None
    if found is None:
        return None
    field = found.field
    if index is None and (place := re.match(r"\[(\d+)\]\.?", field)):
        index, field = int(place[1]), field[place.end() :]
    detail = f"{field or 'the text'}: {TEXT_RULE}."
    return MalformedInput(detail, TEXT_ADVICE, field=field or None, index=index)


def replace_half_surrogates(text: str) -> str:
    """Return JSON with U+FFFD for each escape of half a surrogate pair."""
    return _escape.sub(lambda escape: r"\ufffd" if escape[1] else escape[0], text)


def count_keys(value: object, depth_max: int) -> int:
    """Count the keys in a decoded value, at any depth. Errors: TooDeep."""
    count, items = 0, list[object]()
    if type(value) is dict:
        count, items = len(value), list(value.values())
    elif type(value) is list:
        items = value
    else:
        return 0
    if not depth_max:
        raise TooDeep
    for item in items:
        if type(item) is dict or type(item) is list:
            count += count_keys(item, depth_max - 1)
    return count


def count_colons(body: bytes) -> int:
    """Count the colons outside of texts in well-formed JSON: one for each key, repeated keys included."""
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(body.split(b'"')[::2]).count(b":")


def find_repeated_key(body: bytes) -> tuple[str, int]:
    """Return the first key of well-formed JSON that occurs twice in one object, and the line of its second place."""
    objects: list[set[str]] = []
    for token in _token.finditer(body):
        if token[0] == b"{":
            objects.append(set())
        elif token[0] == b"}":
            objects.pop()
        elif token[2] is not None:
            key = json.loads(token[1])
            if key in objects[-1]:
                return key, body.count(b"\n", 0, token.start()) + 1
            objects[-1].add(key)
    raise AssertionError("the numbers of keys differ, and no key occurs twice")

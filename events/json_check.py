"""Check what a decoder of JSON lets pass: a key twice in one object, of which one would not count, and deep nesting."""

import json
import re

import msgspec

from events.errors import MalformedInput

DEPTH_MAX = 64
"""The deepest nesting of objects and lists in what a client sends."""

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
        raise MalformedInput(
            f"The JSON nests more than {DEPTH_MAX} deep.", "Write it flatter. Nothing was written.", index=index
        ) from None
    except ValueError:
        return  # a number or text that only a lenient decoder accepts, which reports it
    if body.count(b":") == keys or count_colons(body) == keys:
        return
    key, _ = find_repeated_key(body)
    raise MalformedInput(
        f"The key {key[:80]!r} is twice in one object.",
        "Keep one: only one of them could count. Nothing was written.",
        index=index,
    )


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

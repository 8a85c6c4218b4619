"""Check what a decoder of JSON lets pass: a key twice in one object, of which one would not count, and deep nesting."""

import json
import re
from collections.abc import Iterable

import msgspec

from events.errors import MalformedInput

DEPTH_MAX = 64
"""The deepest nesting of objects and lists in what a client sends."""

_texts = re.compile(rb'"((?:[^"\\]|\\.)*)"(\s*:)?', re.DOTALL)
_token = re.compile(rb'("(?:[^"\\]|\\.)*")(\s*:)?|[{}]', re.DOTALL)


class TooDeep(Exception):
    """A value nests too deep."""


def check_json(text: bytes | msgspec.Raw, index: int | None = None) -> None:
    """Check a JSON text that a decoder accepts; `index` is its 0-based place in a batch.

    Errors: MalformedInput, for a key twice in one object or more than DEPTH_MAX levels.
    """
    body = bytes(text)
    keys = [text for text, colon in _texts.findall(body) if colon]
    if len(set(keys)) == len(keys) and body.count(b"{") + body.count(b"[") <= DEPTH_MAX and b"\\" not in b"".join(keys):
        return
    try:
        has_each_once = count_keys(msgspec.json.decode(body), DEPTH_MAX) == count_colons(body)
    except (TooDeep, RecursionError):
        raise MalformedInput(
            f"The JSON nests more than {DEPTH_MAX} deep.", "Write it flatter. Nothing was written.", index=index
        ) from None
    except ValueError:
        return  # a number or text that only a lenient decoder accepts, which reports it
    if not has_each_once:
        key, _ = find_repeated_key(body)
        raise MalformedInput(
            f"The key {key[:80]!r} is twice in one object.",
            "Keep one: only one of them could count. Nothing was written.",
            index=index,
        )


def count_keys(value: object, depth_max: int) -> int:
    """Count the keys in a value, at any depth. Errors: TooDeep."""
    count, level = 0, [value]
    for _ in range(depth_max):
        inner: list[object] = []
        for collection in level:
            items: Iterable[object] = ()
            if type(collection) is dict:
                count += len(collection)
                items = collection.values()
            elif type(collection) is list:
                items = collection
            inner += [item for item in items if type(item) is dict or type(item) is list]
        if not inner:
            return count
        level = inner
    raise TooDeep


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

"""The files of a scenario, as plain values: what JSON can say, with every key once.

YAML is read as events of the parser: nothing is constructed, a key stays the text that stands there, aliases count as
what they stand for, and a time is a text. What a scalar is follows YAML 1.1, as PyYAML reads it.
"""

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import yaml

from events.limits import EVIDENCE_BYTES_MAX

INVESTIGATION_BYTES_MAX = EVIDENCE_BYTES_MAX
"""One investigation.json: it may have to be kept as one piece of evidence."""

DESCRIPTION_BYTES_MAX = 1024 * 1024
"""One scenario.yaml: far more than the patterns it may hold."""

VALUES_MAX = 50_000
"""Values in one YAML file, with every alias counted as what it stands for."""

DEPTH_MAX = 200
"""Values within values; whoever passes them on does not run out of stack."""

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_COLLECTIONS = {yaml.MappingStartEvent: {None, "!", f"{_TAG}map"}, yaml.SequenceStartEvent: {None, "!", f"{_TAG}seq"}}
_SCALARS = frozenset({f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null")})
_RESOLVERS: dict[str, list[tuple[str, re.Pattern[str]]]] = {
    first: [(tag, pattern) for tag, pattern in found if tag in _SCALARS]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_NUMBERS = yaml.constructor.SafeConstructor()
_token = re.compile(rb'("(?:[^"\\]|\\.)*")(\s*:)?|[{}]', re.DOTALL)
_byte = re.compile(r"\(byte (\d+)\)$")
_constant = re.compile(rb"-?(?:NaN|Infinity)")


class UnreadableFile(Exception):
    """A file that says nothing; the text says why, `advice` what to do."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(what)
        self.advice = advice


def read(path: Path, bytes_max: int) -> bytes:
    """The bytes of a file that is one, and not too long. Errors: Unreadable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableFile("is no file, but a folder, a pipe or a device", "Put a file there.")
            body = file.read(bytes_max + 1)
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}", "Correct the file or its permissions.") from None
    if len(body) > bytes_max:
        raise UnreadableFile(
            f"is larger than {bytes_max:,} bytes", "Keep what the agent needs, and leave out the rest."
        )
    return body


def json_value(body: bytes) -> object:
    """What a JSON file says. Errors: Unreadable, for a key that stands twice in one object as well."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        value = msgspec.json.decode(body)
    except RecursionError:
        raise _too_deep() from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableFile(_complaint(str(error), body), "Write it as JSON, in UTF-8.") from None
    if _keys(value) != _colons(body):
        raise _repeated(body)
    return value


def yaml_value(body: bytes) -> object:
    """What the one document of a YAML file says. Errors: Unreadable."""
    try:
        return _Builder().build(_events(body))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f"line {mark.line + 1}: "
        said = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        raise UnreadableFile(f"is no YAML: {where}{said}", "Correct it there, or just before.") from None


def _too_deep() -> UnreadableFile:
    return UnreadableFile(f"nests more than {DEPTH_MAX} deep", "Write it flatter.")


def _keys(value: object) -> int:
    """How many keys there are in a value, at any depth. Errors: Unreadable."""
    count, level = 0, [value]
    for _ in range(DEPTH_MAX + 1):
        inner: list[object] = []
        for each in level:
            if type(each) is dict:
                count += len(each)
                inner += [found for found in each.values() if type(found) is dict or type(found) is list]
            elif type(each) is list:
                inner += [found for found in each if type(found) is dict or type(found) is list]
        if not inner:
            return count
        level = inner
    raise _too_deep()


def _colons(body: bytes) -> int:
    """How many keys are written in well-formed JSON: the colons outside of texts."""
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(body.split(b'"')[::2]).count(b":")


def _complaint(said: str, body: bytes) -> str:
    """What a decoder says, with the line in place of the byte."""
    found = _byte.search(said)
    if not body.strip():
        return "is empty"
    if found is None:
        return f"is no JSON: {said[0].lower()}{said[1:]}"
    at = int(found[1])
    line = body.count(b"\n", 0, at) + 1
    if (constant := _constant.match(body, at)) is not None:
        return f"is no JSON: line {line} has {constant[0].decode()}, which is no number"
    return f"is no JSON: line {line}: {said[: found.start()].removeprefix('JSON is malformed: ').rstrip()}"


def _repeated(body: bytes) -> UnreadableFile:
    """The first key of a JSON file that stands twice in one object."""
    objects: list[set[str]] = []
    for found in _token.finditer(body):
        if found[0] == b"{":
            objects.append(set())
        elif found[0] == b"}":
            objects.pop()
        elif found[2] is not None:
            key = json.loads(found[1])
            if key in objects[-1]:
                return _twice(key, body.count(b"\n", 0, found.start()) + 1)
            objects[-1].add(key)
    raise AssertionError("the numbers of keys differ, and no key stands twice")


def _twice(key: str, line: int) -> UnreadableFile:
    return UnreadableFile(f"has the key {key!r} twice, again in line {line}", "Keep one; only one of them could count.")


def _events(body: bytes) -> Iterator[Any]:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise UnreadableFile(
            f"is no UTF-8: line {line} has the byte 0x{body[error.start]:02x}", "Save it as UTF-8."
        ) from None
    parser = _PARSER(text)
    try:
        while (event := parser.get_event()) is not None:
            yield event
    finally:
        parser.dispose()


class _Open(NamedTuple):
    """A collection whose end has not come."""

    value: Any
    anchor: str | None
    began: int
    key: list[str]
    """The key whose value is due."""
    merged: list[Any]
    """What `<<` adds where the mapping has no such key itself."""


class _Builder:
    """Events to a value, without recursion."""

    def __init__(self) -> None:
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._stack: list[_Open] = []
        self._count = 0
        self._roots: list[Any] = []

    def build(self, events: Iterator[Any]) -> object:
        for event in events:
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._scalar(event)
            elif kind in _COLLECTIONS:
                self._begin(event, {} if kind is yaml.MappingStartEvent else [])
            elif kind in {yaml.MappingEndEvent, yaml.SequenceEndEvent}:
                self._end(event)
            elif kind is yaml.AliasEvent:
                if event.anchor not in self._anchors:
                    raise _wrong(event, f"*{event.anchor} stands for nothing before it", "Name an anchor above it.")
                self._put(event, *self._anchors[event.anchor])
        if len(self._roots) > 1:
            raise UnreadableFile(f"holds {len(self._roots)} documents", "Keep one in each file.")
        return self._roots[0] if self._roots else None

    def _begin(self, event: Any, value: object) -> None:  # noqa: ANN401 - PyYAML types no events
        if event.tag not in _COLLECTIONS[type(event)]:
            raise _tagged(event)
        if len(self._stack) >= DEPTH_MAX:
            raise _too_deep()
        self._stack.append(_Open(value, event.anchor, self._count, [], []))

    def _end(self, event: Any) -> None:  # noqa: ANN401 - PyYAML types no events
        done = self._stack.pop()
        for added in done.merged:
            for key, value in added.items():
                done.value.setdefault(key, value)
        size, self._count = self._count - done.began + 1, done.began
        if done.anchor is not None:
            self._anchors[done.anchor] = done.value, size
        self._put(event, done.value, size)

    def _scalar(self, event: Any) -> None:  # noqa: ANN401 - PyYAML types no events
        into = self._stack[-1] if self._stack else None
        if into is not None and isinstance(into.value, dict) and not into.key:
            self._key(event, into)
            return
        value = _scalar(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, 1
        self._put(event, value, 1)

    def _key(self, event: Any, into: _Open) -> None:  # noqa: ANN401 - PyYAML types no events
        key = str(event.value)
        if key in into.value:
            raise _twice(key, event.start_mark.line + 1)
        if event.anchor is not None:
            self._anchors[event.anchor] = key, 1
        into.key.append(key)

    def _put(self, event: Any, value: Any, size: int) -> None:  # noqa: ANN401 - PyYAML types no events
        self._count += size
        if self._count > VALUES_MAX:
            raise UnreadableFile(f"comes to more than {VALUES_MAX:,} values", "Write less, with fewer aliases.")
        if not self._stack:
            self._roots.append(value)
            return
        into = self._stack[-1]
        if isinstance(into.value, list):
            into.value.append(value)
        elif not into.key:
            raise _wrong(event, "a key is no text", "Write a key as a word.")
        elif (key := into.key.pop()) == "<<":
            added = value if isinstance(value, list) else [value]
            if not all(isinstance(each, dict) for each in added):
                raise _wrong(event, "<< adds what has no keys", "Let it name a mapping, or several in a list.")
            into.merged.extend(added)
        else:
            into.value[key] = value


def _scalar(event: Any) -> object:  # noqa: ANN401 - PyYAML types no events
    tag, value = event.tag, str(event.value)
    if tag is not None and tag != "!" and tag not in _SCALARS:
        raise _tagged(event)
    if tag is None and event.implicit[0]:
        found = _RESOLVERS.get(value[:1], ())
        tag = next((name for name, pattern in found if pattern.match(value)), None)
    node: Any = yaml.ScalarNode(tag, value)
    try:
        match (tag or "").removeprefix(_TAG):
            case "null":
                return None
            case "bool":
                return _NUMBERS.construct_yaml_bool(node)
            case "int":
                return _NUMBERS.construct_yaml_int(node)
            case "float":
                return _NUMBERS.construct_yaml_float(node)
    except (ValueError, KeyError, IndexError, OverflowError):
        raise _wrong(event, f"{value[:40]!r} is no number", "Correct it, or put it in quotes.") from None
    return value


def _tagged(event: Any) -> UnreadableFile:  # noqa: ANN401 - PyYAML types no events
    return _wrong(event, f"the tag {event.tag[:80]} makes it more than a plain value", "Leave the tag out.")


def _wrong(event: Any, what: str, advice: str) -> UnreadableFile:  # noqa: ANN401 - PyYAML types no events
    return UnreadableFile(f"cannot be read: line {event.start_mark.line + 1}: {what}", advice)

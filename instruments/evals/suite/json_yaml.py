"""Read the files of a scenario, JSON or YAML, as plain values: what JSON can say, with every key once.

In YAML a key is the text in the file and a time is a text; other scalars follow YAML 1.1, as PyYAML reads it.
"""

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import msgspec
import yaml

from events.limits import EVIDENCE_BYTES_MAX
from instruments.yaml_reader import OpenCollection, UnreadableFile, YamlReader, line_of, too_deep, unreadable

INVESTIGATION_BYTES_MAX = EVIDENCE_BYTES_MAX
"""One investigation.json: it may have to be kept as one piece of evidence."""

DESCRIPTION_BYTES_MAX = 1024 * 1024
"""One scenario.yaml: far more than the patterns it may hold."""

VALUES_MAX = 50_000
"""Values in one YAML file, with every alias counted as what it stands for."""

DEPTH_MAX = 200
"""The deepest nesting of values: a limit, so that later code does not run out of stack."""

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


def read(path: Path, bytes_max: int) -> bytes:
    """The bytes of a file that is one, and not too long. Errors: UnreadableFile."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableFile("is not a file, but a folder, a pipe or a device", "Put a file there.")
            body = file.read(bytes_max + 1)
    except OSError as error:
        raise UnreadableFile(f"cannot be read: {error.strerror}", "Correct the file or its permissions.") from None
    if len(body) > bytes_max:
        raise UnreadableFile(
            f"is larger than {bytes_max:,} bytes", "Keep what the agent needs, and leave out the rest."
        )
    return body


def json_value(body: bytes) -> object:
    """Decode a JSON file. Errors: UnreadableFile, also for a key that occurs twice in one object."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        value = msgspec.json.decode(body)
    except RecursionError:
        raise too_deep(DEPTH_MAX) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableFile(_complaint(str(error), body), "Write it as JSON, in UTF-8.") from None
    if _keys(value) != _colons(body):
        raise _repeated(body)
    return value


def yaml_value(body: bytes) -> object:
    """What the one document of a YAML file says. Errors: UnreadableFile."""
    return _ScenarioYaml().read(body)


def _keys(value: object) -> int:
    """How many keys there are in a value, at any depth. Errors: UnreadableFile."""
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
    raise too_deep(DEPTH_MAX)


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
        return f"is not JSON: {said[0].lower()}{said[1:]}"
    at = int(found[1])
    line = body.count(b"\n", 0, at) + 1
    if (constant := _constant.match(body, at)) is not None:
        return f"is not JSON: line {line} has {constant[0].decode()}, which is not a number"
    return f"is not JSON: line {line}: {said[: found.start()].removeprefix('JSON is malformed: ').rstrip()}"


def _repeated(body: bytes) -> UnreadableFile:
    """Return the first key of a JSON file that occurs twice in one object."""
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
    raise AssertionError("the numbers of keys differ, and no key occurs twice")


def _twice(key: str, line: int) -> UnreadableFile:
    return UnreadableFile(f"has the key {key!r} twice, again in line {line}", "Keep one; only one of them could count.")


class _ScenarioYaml(YamlReader):
    """YAML that says what JSON can say: every key once, no tags, `<<` merges."""

    values_max = VALUES_MAX
    depth_max = DEPTH_MAX

    def scalar(self, event: yaml.ScalarEvent) -> object:
        return _scalar(event)

    def key(self, event: Any, value: object) -> str:  # noqa: ANN401 - PyYAML types no events
        if not isinstance(event, yaml.ScalarEvent):
            raise unreadable(event, "a key is not text", "Write a key as a word.")
        if value in self.stack[-1].value:
            raise _twice(str(value), line_of(event))
        return str(value)

    def check_tag(self, event: Any) -> None:  # noqa: ANN401 - PyYAML types no events
        if event.tag not in _COLLECTIONS[type(event)]:
            raise _tagged(event)

    def add(self, into: OpenCollection, key: str, value: object, event: yaml.Event) -> None:
        if key != "<<":
            into.value[key] = value
            return
        added = value if isinstance(value, list) else [value]
        if not all(isinstance(each, dict) for each in added):
            raise unreadable(event, "<< adds what has no keys", "Let it name a mapping, or several in a list.")
        into.merged.extend(added)

    def finish(self, done: OpenCollection) -> object:
        for added in done.merged:
            for key, value in added.items():
                done.value.setdefault(key, value)
        return done.value


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
        raise unreadable(event, f"{value[:40]!r} is not a number", "Correct it, or put it in quotes.") from None
    return value


def _tagged(event: Any) -> UnreadableFile:  # noqa: ANN401 - PyYAML types no events
    return unreadable(event, f"the tag {event.tag[:80]} makes it more than a plain value", "Leave the tag out.")

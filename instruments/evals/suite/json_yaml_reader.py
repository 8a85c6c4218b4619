"""Read the files of a scenario, JSON or YAML, as plain JSON values; refuse a key that occurs twice.

In YAML, keys and times are the texts in the file; other scalars follow YAML 1.1, as PyYAML reads it.
"""

import os
import re
import stat
from pathlib import Path
from typing import Any

import msgspec
import yaml

from events.json_check import TooDeep, count_colons, count_keys, find_repeated_key
from events.limits import EVIDENCE_BYTES_MAX
from instruments.yaml_reader import OpenCollection, UnreadableFile, YamlReader, line_of, too_deep, unreadable

INVESTIGATION_BYTES_MAX = EVIDENCE_BYTES_MAX
"""Bytes of `investigation.json`, which may be stored as one piece of evidence."""

DESCRIPTION_BYTES_MAX = 1024 * 1024
"""Bytes of `scenario.yaml`: far more than the largest number of patterns needs."""

VALUES_MAX = 50_000
"""Values of a YAML file; the values that an alias repeats are counted each time."""

DEPTH_MAX = 200
"""The deepest nesting of values, so that code that handles them does not run out of stack."""

_TAG = "tag:yaml.org,2002:"
_COLLECTIONS = {yaml.MappingStartEvent: {None, "!", f"{_TAG}map"}, yaml.SequenceStartEvent: {None, "!", f"{_TAG}seq"}}
_SCALARS = frozenset({f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null")})
_RESOLVERS: dict[str, list[tuple[str, re.Pattern[str]]]] = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in _SCALARS]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_constructor = yaml.constructor.SafeConstructor()
_byte = re.compile(r"\(byte (\d+)\)$")
_constant = re.compile(rb"-?(?:NaN|Infinity)")


def read_file(path: Path, bytes_max: int) -> bytes:
    """Return the bytes of a regular file. Errors: UnreadableFile, also for more than `bytes_max` bytes."""
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
        raise UnreadableFile(_describe_json_error(str(error), body), "Write it as JSON, in UTF-8.") from None
    try:
        has_each_once = count_keys(value, DEPTH_MAX) == count_colons(body)
    except TooDeep:
        raise too_deep(DEPTH_MAX) from None
    if not has_each_once:
        raise _key_twice(*find_repeated_key(body))
    return value


def yaml_value(body: bytes) -> object:
    """Return the value of a YAML file with one document. Errors: UnreadableFile."""
    return PlainYaml().read(body)


def _describe_json_error(message: str, body: bytes) -> str:
    """Return the message of the JSON decoder, with the number of the line in place of the byte's."""
    byte_match = _byte.search(message)
    if not body.strip():
        return "is empty"
    if byte_match is None:
        return f"is not JSON: {message[0].lower()}{message[1:]}"
    at = int(byte_match[1])
    line = body.count(b"\n", 0, at) + 1
    if (constant := _constant.match(body, at)) is not None:
        return f"is not JSON: line {line} has {constant[0].decode()}, which is not a number"
    problem = message[: byte_match.start()].removeprefix("JSON is malformed: ").rstrip()
    return f"is not JSON: line {line}: {problem}"


def _key_twice(key: str, line: int) -> UnreadableFile:
    return UnreadableFile(f"has the key {key!r} twice, again in line {line}", "Keep one; only one of them could count.")


class _MergeKey(str):
    """The key `<<`, which merges mappings. In quotes it is a key as any other."""

    __slots__ = ()


class PlainYaml(YamlReader):
    """Reads YAML with the values of JSON: every key once, no tags. `<<` merges mappings."""

    values_max = VALUES_MAX
    depth_max = DEPTH_MAX

    def scalar(self, event: yaml.ScalarEvent) -> object:
        return _scalar(event)

    def key(self, event: Any, value: object) -> str:  # noqa: ANN401 - PyYAML types no events
        if not isinstance(event, yaml.ScalarEvent):
            raise unreadable(event, "a key is not text", "Write a key as a word.")
        if value in self.stack[-1].value:
            raise _key_twice(str(value), line_of(event))
        return _MergeKey(value) if value == "<<" and event.implicit[0] else str(value)

    def check_tag(self, event: Any) -> None:  # noqa: ANN401 - PyYAML types no events
        if event.tag not in _COLLECTIONS[type(event)]:
            raise _tag_error(event)

    def add(self, into: OpenCollection, key: str, value: object, event: yaml.Event) -> None:
        if not isinstance(key, _MergeKey):
            into.value[key] = value
            return
        added = value if isinstance(value, list) else [value]
        if not all(isinstance(mapping, dict) for mapping in added):
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
        raise _tag_error(event)
    if tag is None and event.implicit[0]:
        resolvers = _RESOLVERS.get(value[:1], ())
        tag = next((name for name, pattern in resolvers if pattern.match(value)), None)
    node: Any = yaml.ScalarNode(tag, value)
    try:
        match (tag or "").removeprefix(_TAG):
            case "null":
                return None
            case "bool":
                return _constructor.construct_yaml_bool(node)
            case "int":
                return _constructor.construct_yaml_int(node)
            case "float":
                return _constructor.construct_yaml_float(node)
    except (ValueError, KeyError, IndexError, OverflowError):
        raise unreadable(event, f"{value[:40]!r} is not a number", "Correct it, or put it in quotes.") from None
    return value


def _tag_error(event: Any) -> UnreadableFile:  # noqa: ANN401 - PyYAML types no events
    return unreadable(event, f"the tag {event.tag[:80]} makes it more than a plain value", "Leave the tag out.")

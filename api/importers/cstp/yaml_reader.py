"""A YAML file to plain Python: mappings, lists, texts and None, of what nobody can make a bomb or an object.

A scalar stays the text that stands in the file (`0.80`, `0123456`, `2026-02-05`), because only the field it belongs to
knows what it should be; a plain `null` is None. CSTP's own files are dumps of JSON values: nothing else belongs there.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from api.importers.cstp.report import quoted

VALUES_MAX = 100_000
"""Values in one file, with every alias counted as what it stands for: a bomb of aliases ends here."""

PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser where it is there (ten times as fast); only its events are used, and no constructor of either."""

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp"))

_COLLECTIONS = frozenset({None, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})


class YamlError(Exception):
    """A file that says nothing; the text says why."""


class TaggedValue(NamedTuple):
    """A value that only its own program could make; kept as its tag, so that it is found where it stands."""

    tag: str


class _Open(NamedTuple):
    """A collection whose end has not come; `size` is counted when it has."""

    value: Any
    anchor: str | None
    began: int
    key: list[str]
    tag: str | None


class YamlTree(NamedTuple):
    """What a file says, and the keys of its outermost mapping that stand there twice."""

    value: object
    repeated: tuple[str, ...]


def read_tree(text: bytes) -> YamlTree:
    """The one document of a YAML file, UTF-8. Errors: Unreadable."""
    try:
        return _Builder().build(_events(text))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise YamlError(
            f"no YAML: {getattr(error, 'problem', None) or getattr(error, 'reason', error)}{where}"
        ) from None


def _events(text: bytes) -> Iterator[Any]:
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise YamlError(f"no UTF-8: byte {error.start} is 0x{text[error.start]:02x}") from None
    parser = PARSER(decoded)
    try:
        while (event := parser.get_event()) is not None:
            yield event
    finally:
        parser.dispose()


class _Builder:
    """Events to a value, without recursion: a file may nest as deep as it likes."""

    def __init__(self) -> None:
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._stack: list[_Open] = []
        self._repeated: list[str] = []
        self._count = 0
        self._root: list[Any] = []

    def build(self, events: Iterator[Any]) -> YamlTree:
        for event in events:
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._put(_scalar(event), event.anchor, 1)
            elif kind is yaml.MappingStartEvent:
                self._open({}, event)
            elif kind is yaml.SequenceStartEvent:
                self._open([], event)
            elif kind in {yaml.MappingEndEvent, yaml.SequenceEndEvent}:
                done = self._stack.pop()
                size = self._count - done.began + 1
                self._count = done.began
                self._put(TaggedValue(done.tag) if done.tag is not None else done.value, done.anchor, size)
            elif kind is yaml.AliasEvent:
                if event.anchor not in self._anchors:
                    raise YamlError(f"the alias *{event.anchor} stands for something that is not finished before it")
                value, size = self._anchors[event.anchor]
                self._put(value, None, size)
        if len(self._root) > 1:
            raise YamlError(f"{len(self._root)} documents in one file")
        return YamlTree(self._root[0] if self._root else None, tuple(self._repeated))

    def _open(self, value: object, event: Any) -> None:  # noqa: ANN401 - PyYAML types no events
        tag = None if event.tag in _COLLECTIONS else event.tag
        self._stack.append(_Open(value, event.anchor, self._count, [], tag))

    def _put(self, value: object, anchor: str | None, size: int) -> None:
        self._count += size
        if self._count > VALUES_MAX:
            raise YamlError(f"more than {VALUES_MAX:,} values")
        if anchor is not None:
            self._anchors[anchor] = value, size
        if not self._stack:
            self._root.append(value)
            return
        into = self._stack[-1]
        if isinstance(into.value, list):
            into.value.append(value)
        elif into.key:
            key = into.key.pop()
            if key in into.value and len(self._stack) == 1:
                self._repeated.append(key)
            into.value[key] = value
        else:
            into.key.append(value if isinstance(value, str) else quoted(value))


def _scalar(event: yaml.ScalarEvent) -> str | TaggedValue | None:
    plain, _ = event.implicit
    if event.tag is not None and event.tag not in _PLAIN_TAGS and event.tag != "!":
        return TaggedValue(event.tag)
    null = (plain and event.value in _NULLS) or event.tag == "tag:yaml.org,2002:null"
    return None if null else str(event.value)

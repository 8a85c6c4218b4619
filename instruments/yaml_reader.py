"""Read one YAML document as plain values, from untrusted bytes.

The values are built from PyYAML's parser events. Tags, deep nesting and alias bombs do no harm, because no constructor
runs, nothing recurses, and the values that an alias repeats are counted each time. A subclass converts scalars, and
handles tags, keys and repeated keys.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import yaml

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser if it is installed: ten times as fast. Only its events are used."""


class UnreadableFile(Exception):
    """A file that cannot be read. The text says why, `advice` what to do. `problem` is the text without its `verb`."""

    def __init__(self, problem: str, advice: str, *, verb: str = "") -> None:
        super().__init__(f"{verb} {problem}".lstrip())
        self.problem = problem
        self.advice = advice


class OpenCollection(NamedTuple):
    """A mapping or list that is being read."""

    value: Any
    tag: str | None
    anchor: str | None
    count_before: int
    key: list[str]
    """The key whose value comes next, as the only item; empty before a key."""
    merged: list[Any]
    """Mappings that `<<` merges in when the collection is complete."""


class YamlReader:
    """Build the value of one document. An instance reads one file."""

    values_max: ClassVar[int]
    """The most values of a document; keys are not counted."""

    depth_max: ClassVar[int | None] = None
    """The deepest nesting of collections; None if it is not limited."""

    def __init__(self) -> None:
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._count = 0
        self._roots: list[Any] = []
        self.stack: list[OpenCollection] = []

    def read(self, body: bytes) -> object:
        """Return the document's value; None for an empty file. Errors: UnreadableFile."""
        try:
            for event in _events(body):
                self._read_event(event)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = "" if mark is None else f"line {mark.line + 1}: "
            problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
            raise UnreadableFile(
                f"not YAML: {where}{problem}", "Correct it there, or just before.", verb="is"
            ) from None
        if len(self._roots) > 1:
            raise UnreadableFile(f"holds {len(self._roots)} documents", "Keep one in each file.")
        return self._roots[0] if self._roots else None

    def scalar(self, event: yaml.ScalarEvent) -> object:
        """Return the value of a scalar."""
        raise NotImplementedError

    def key(self, event: yaml.Event, value: object) -> str:
        """Return the text of a key; `value` is the value of the key node, which for a scalar is its text."""
        raise NotImplementedError

    def check_tag(self, event: Any) -> None:  # noqa: ANN401 - PyYAML types no events
        """Raise an error if a collection must not have its tag."""

    def add(self, into: OpenCollection, key: str, value: object, event: yaml.Event) -> None:
        """Add a pair to a mapping."""
        into.value[key] = value

    def finish(self, done: OpenCollection) -> object:
        """Return the value of a collection that is complete."""
        return done.value

    def _read_event(self, event: Any) -> None:  # noqa: ANN401 - PyYAML types no events
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._read_scalar(event)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self.check_tag(event)
            if self.depth_max is not None and len(self.stack) >= self.depth_max:
                raise too_deep(self.depth_max)
            value: object = {} if kind is yaml.MappingStartEvent else []
            self.stack.append(OpenCollection(value, event.tag, event.anchor, self._count, [], []))
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            closed = self.stack.pop()
            size, self._count = self._count - closed.count_before + 1, closed.count_before
            self._put(event, self.finish(closed), size, closed.anchor)
        elif kind is yaml.AliasEvent:
            if event.anchor not in self._anchors:
                raise unreadable(
                    event, f"the alias *{event.anchor} names nothing before it", "Name an anchor above it."
                )
            self._put(event, *self._anchors[event.anchor])

    def _read_scalar(self, event: Any) -> None:  # noqa: ANN401 - PyYAML types no events
        parent = self.stack[-1] if self.stack else None
        if parent is None or isinstance(parent.value, list) or parent.key:
            self._put(event, self.scalar(event), 1, event.anchor)
            return
        key = self.key(event, event.value)
        if event.anchor is not None:
            self._anchors[event.anchor] = key, 1
        parent.key.append(key)

    def _put(self, event: Any, value: Any, size: int, anchor: str | None = None) -> None:  # noqa: ANN401 - as above
        """Put a complete value into the innermost open collection."""
        if anchor is not None:
            self._anchors[anchor] = value, size
        self._count += size
        if self._count > self.values_max:
            raise UnreadableFile(f"has more than {self.values_max:,} values", "Write less, with fewer aliases.")
        if not self.stack:
            self._roots.append(value)
            return
        parent = self.stack[-1]
        if isinstance(parent.value, list):
            parent.value.append(value)
        elif parent.key:
            self.add(parent, parent.key.pop(), value, event)
        else:
            parent.key.append(self.key(event, value))


def too_deep(depth_max: int) -> UnreadableFile:
    """Return the error for values that nest too deep."""
    return UnreadableFile(f"nests more than {depth_max} deep", "Write it flatter.")


def line_of(event: Any) -> int:  # noqa: ANN401 - PyYAML types no events
    """Return the line of an event, 1-based."""
    return int(event.start_mark.line) + 1


def unreadable(event: Any, problem: str, advice: str) -> UnreadableFile:  # noqa: ANN401 - PyYAML types no events
    """Return the error for a problem at an event, with the line of the event."""
    return UnreadableFile(f"cannot be read: line {line_of(event)}: {problem}", advice)


def _events(body: bytes) -> Iterator[Any]:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise UnreadableFile(
            f"not UTF-8: line {line} has the byte 0x{body[error.start]:02x}", "Save it as UTF-8.", verb="is"
        ) from None
    parser = _PARSER(text)
    try:
        while (event := parser.get_event()) is not None:
            yield event
    finally:
        parser.dispose()

"""Read CSTP's YAML files as mappings, lists, texts and None.

A scalar stays the text that is in the file (`0.80`, `0123456`, `2026-02-05`): its type depends on the field, which the
reader does not know. A plain `null` is None. CSTP's own files are dumps of JSON values, so they need no more.
"""

from typing import NamedTuple

import yaml

from api.importers.cstp.report import quote
from instruments.yaml_reader import OpenCollection, YamlReader

_COLLECTION_TAGS = frozenset({None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})
_NULL_TAG = "tag:yaml.org,2002:null"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_SCALAR_TAGS = frozenset(
    {None, "!"} | {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp")}
)


class TaggedValue(NamedTuple):
    """A value with a tag of another program, which is not constructed. It fits no field."""

    tag: str


class CstpYaml(YamlReader):
    """Reads one file. `repeated` names the keys that occur twice in its outermost mapping; the last value is used."""

    values_max = 100_000

    def __init__(self) -> None:
        super().__init__()
        self.repeated: list[str] = []

    def scalar(self, event: yaml.ScalarEvent) -> str | TaggedValue | None:
        if event.tag not in _SCALAR_TAGS:
            return TaggedValue(str(event.tag))
        null = (event.implicit[0] and event.value in _NULLS) or event.tag == _NULL_TAG
        return None if null else str(event.value)

    def key(self, event: yaml.Event, value: object) -> str:
        key = self.scalar(event) if isinstance(event, yaml.ScalarEvent) else value
        return key if isinstance(key, str) else quote(key)

    def add(self, into: OpenCollection, key: str, value: object, event: yaml.Event) -> None:
        if key in into.value and len(self.stack) == 1:
            self.repeated.append(key)
        into.value[key] = value

    def finish(self, done: OpenCollection) -> object:
        return done.value if done.tag in _COLLECTION_TAGS else TaggedValue(str(done.tag))

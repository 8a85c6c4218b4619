"""Read rule files as YAML 1.2, and keep the text of what could be read in more than one way.

YAML 1.1 reads `on` as true and `22:30` as 1350. Here only `true` and `false` are booleans. A number that would be
printed in another way, such as 1.10, 0777 or 12e3, and the words `yes`, `no`, `on` and `off` are `Written`: the field
decides what they are.
"""

import re

import yaml

from instruments.evals.suite.json_yaml_reader import PlainYaml

_CONSTANTS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_BOOLEAN_WORDS = {"yes": True, "on": True, "no": False, "off": False}
_number = re.compile(
    r"[-+]?(?:[0-9][0-9_]*)?\.?[0-9_]*(?:e[-+]?[0-9]+)?|[-+]?\.(?:inf|nan)|0[xob][0-9a-f_]+",
    re.ASCII | re.IGNORECASE,
)


class Written(str):
    """A scalar without quotes, as it is written: a number in an unusual form, or a word that YAML 1.1 reads as one."""

    __slots__ = ()

    @property
    def boolean(self) -> bool | None:
        """The boolean that YAML 1.1 reads; None if it reads a number."""
        return _BOOLEAN_WORDS.get(self.lower())

    @property
    def number(self) -> float | None:
        """The decimal number; None if it is not one."""
        try:
            return float(self)
        except ValueError:
            return None


def read_rule_yaml(body: bytes) -> object:
    """Return the value of a rule file. Errors: UnreadableFile."""
    return _RuleYaml().read(body)


def plain_value(text: str) -> object:
    """Return what a scalar without quotes is: a constant, a number, a `Written`, or a text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text.lower() in _BOOLEAN_WORDS:
        return Written(text)
    if not any(sign.isdigit() for sign in text) or _number.fullmatch(text) is None:
        return text
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if repr(number) == text:
            return number
    return Written(text)


class _RuleYaml(PlainYaml):
    """Reads YAML 1.2 with the values of JSON."""

    def scalar(self, event: yaml.ScalarEvent) -> object:
        if event.tag is None and event.implicit[0]:
            return plain_value(event.value)
        return super().scalar(event)

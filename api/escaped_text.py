"""Escape the characters of a text that would command a terminal, or hide what a line says."""

import re

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Controls of a terminal, and characters that change the direction of the text around them."""

_HIDDEN_IN_JSON = re.compile(b"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]")
"""The same in UTF-8, without those that JSON always escapes."""


def escape_controls(text: str) -> str:
    """Replace control characters but line feed and tab, and those that change direction, by their codes, as in JSON."""
    return _HIDDEN.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def escape_json(encoded: bytes) -> bytes:
    """Escape the same characters in the strings of some JSON, by JSON's own rule: its content does not change."""
    return _HIDDEN_IN_JSON.sub(lambda match: b"\\u%04x" % ord(match.group().decode()), encoded)

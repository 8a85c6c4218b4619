"""Renaming in code, strings and comments left alone."""

import re
from collections.abc import Mapping

APART = r""""[^"\n]*"|'[^'\n]*'|//[^\n]*|#[^\n]*"""


def in_code(text: str, names: Mapping[str, str]) -> str:
    """The text with other names, wherever they stand as words outside strings and comments."""
    words = "|".join(names)
    return re.sub(rf"({APART})|\b({words})\b", lambda found: found[1] or names[found[2]], text)

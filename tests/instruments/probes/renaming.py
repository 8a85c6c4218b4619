"""Renaming in code, strings and comments left alone."""

import re
from collections.abc import Mapping

APART = r""""[^"\n]*"|'[^'\n]*'|//[^\n]*|#[^\n]*"""


def in_code(text: str, names: Mapping[str, str]) -> str:
    """Rename whole words in a text, except in strings and comments."""
    words = "|".join(names)
    return re.sub(rf"({APART})|\b({words})\b", lambda found: found[1] or names[found[2]], text)

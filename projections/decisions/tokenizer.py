"""Words: what a text is searched by, the same for what is indexed and for what is asked.

A word is a run of letters and digits, whatever its case and accents; a symbol such as an emoji is a word of its own;
everything else stands between words. `Café_№7 🚀` holds cafe, no7 and 🚀.
"""

import re
from unicodedata import category, combining, normalize

_ACCENT_CLASS_MIN = 10
"""Combining marks from this class on are accents and points. Those below it make another letter (か and が)."""

_word = re.compile(r"[a-z0-9]+")


def fold_text(text: str) -> str:
    """A text with its words lowered and bare. In ASCII, what is neither letter nor digit stands between words yet."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def split_words(text: str) -> set[str]:
    """The different words of a text."""
    return set(_word.findall(text.lower()) if text.isascii() else fold_text(text).split())


class _Folded(dict[int, str]):
    """What becomes of each character, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if category(character) == "So":
            folded = f" {character} "
        else:
            decomposed = normalize("NFKD", normalize("NFKD", character).casefold())
            folded = "".join(map(_bare, decomposed))
        self[code] = folded
        return folded


def _bare(character: str) -> str:
    kind = category(character)
    if kind[0] in "LN" or kind == "Co":
        return character
    if kind[0] == "M":
        inside = kind != "Me" and combining(character) < _ACCENT_CLASS_MIN and not _selects_variation(character)
        return character if inside else ""
    return "" if kind == "Cf" and character != "\N{ZERO WIDTH SPACE}" else " "


def _selects_variation(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


_FOLDED = _Folded()

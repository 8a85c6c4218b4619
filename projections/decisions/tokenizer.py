"""The tokenizer of full-text search, which splits indexed texts and queries into words in the same way.

A word is a run of letters and digits, without case and accents. A symbol such as an emoji is a word of its own.
Everything else separates words. `Café_№7 🚀` has the words cafe, no7 and 🚀.
"""

import re
from unicodedata import category, combining, normalize

_ACCENT_CLASS_MIN = 10
"""Combining marks of this class or above are accents and points. Lower ones make another letter (か and が)."""

_word = re.compile(r"[a-z0-9]+")


def fold_text(text: str) -> str:
    """Return a text with its words in lower case and without accents.

    ASCII text keeps its punctuation, which the FTS5 tokenizer removes.
    """
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def split_words(text: str) -> set[str]:
    """Return the different words of a text."""
    return set(_word.findall(text.lower()) if text.isascii() else fold_text(text).split())


class _Folded(dict[int, str]):
    """A translation table that computes the replacement of a character at its first use."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if category(character) == "So":
            folded = f" {character} "
        else:
            decomposed = normalize("NFKD", normalize("NFKD", character).casefold())
            folded = "".join(map(_strip_mark, decomposed))
        self[code] = folded
        return folded


def _strip_mark(character: str) -> str:
    """Return a letter or digit, nothing for an accent or an invisible character, and a space for anything else."""
    kind = category(character)
    if kind[0] in "LN" or kind == "Co":
        return character
    if kind[0] == "M":
        in_letter = kind != "Me" and combining(character) < _ACCENT_CLASS_MIN and not _selects_variation(character)
        return character if in_letter else ""
    return "" if kind == "Cf" and character != "\N{ZERO WIDTH SPACE}" else " "


def _selects_variation(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


_FOLDED = _Folded()

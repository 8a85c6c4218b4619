"""The sentence around a match, as the rules about language read it.

The terms are those of NegEx (Chapman et al., "A simple algorithm for identifying negated findings and diseases in
discharge summaries", 2001) and ConText (Harkema et al., 2009). A *trigger* is a word that negates or hedges. Its
*scope* begins beside it and ends at a *scope terminator*, such as "but" or the end of the sentence. A *pseudo-trigger*
is a phrase with a trigger that means something else ("not only").
"""

import re
from typing import NamedTuple

CONTEXT_CHARS_MAX = 400
"""Characters on each side of a match that are read."""

SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)[.!?](?=[\s\"')\]]|\Z)|[;\n]")
"""The end of a sentence. A point inside a name, such as `web:1.4`, is none."""

_CLAUSE_ENDS = (
    r"[:()\u2013\u2014]|\s-+\s|\b(?:but|however|although|though|whereas|while|because|since|so|therefore|thus|hence|which"
    r"|who|when|until|after|before|and then)\b"
)
CLAUSE_END = re.compile(_CLAUSE_ENDS)
"""The end of a clause inside a sentence, and so of the scope of a hedge."""

SCOPE_END = re.compile(rf"{_CLAUSE_ENDS}|\b(?:due to|caused by)\b")
"""The scope terminators of a negation. A comma is one too, unless it is part of an enumeration."""

_PUNCTUATION = str.maketrans({"\N{RIGHT SINGLE QUOTATION MARK}": "'", "\N{NO-BREAK SPACE}": " ", "*": " ", "`": " "})
_word_before = re.compile(r"(?<![\w'-])[\w'-]*\Z")
_word_after = re.compile(r"[\w'-]*")


class MentionContext(NamedTuple):
    """A match, extended to whole words, and the rest of its sentence on both sides; all in lower case."""

    before: str
    match: str
    after: str

    def clause(self) -> str:
        """Return the part of the sentence around the match."""
        start = max((end.end() for end in CLAUSE_END.finditer(self.before)), default=0)
        end = CLAUSE_END.search(self.after)
        return self.before[start:] + self.match + self.after[: end.start() if end else None]


def mention_context(text: str, start: int, end: int) -> MentionContext:
    """Return the context of characters `start` to `end` of a text: at most CONTEXT_CHARS_MAX on each side."""
    before = _normalize(text[max(0, start - CONTEXT_CHARS_MAX) : start])
    after = _normalize(text[end : end + CONTEXT_CHARS_MAX])
    match = _normalize(text[start:end][:CONTEXT_CHARS_MAX])
    head = _word_before.search(before)
    tail = _word_after.match(after)
    assert head is not None
    assert tail is not None
    match, before, after = head[0] + match + tail[0], before[: head.start()], after[tail.end() :]
    before_start = max((found.end() for found in SENTENCE_END.finditer(before)), default=0)
    after_end = SENTENCE_END.search(after)
    # a question mark stays: it is a hedge
    question = after_end.end() if after_end and after_end[0] == "?" else None
    after_stop = question or (after_end.start() if after_end else None)
    return MentionContext(before[before_start:], match, after[:after_stop])


def following_sentence(text: str, end: int) -> str:
    """Return the sentence after that of a match which ends at `end`."""
    after = _normalize(text[end : end + CONTEXT_CHARS_MAX])
    first = SENTENCE_END.search(after)
    if first is None:
        return ""
    second = SENTENCE_END.search(after, first.end())
    return after[first.end() : second.end() if second else None]


def _normalize(text: str) -> str:
    """Return a text in lower case, with plain apostrophes and without the signs of Markdown; lengths may change."""
    return text.translate(_PUNCTUATION).lower()

"""Recognize a list of keywords: many words or fragments, and almost none of the words that make a sentence.

About four of ten words of an English sentence are function words. Prepositions occur in keywords too ("out of memory"),
so they count for less than articles, pronouns, auxiliary verbs and conjunctions. A short text is never a list, since
headlines leave these words out. A longer headline without separators has participles ("causing"), which count too,
and a message of a program has signs, such as `rpc error: code = NotFound`.
"""

import re

WORDS_MIN = 10
"""Words of a list without separators."""

FRAGMENTS_MIN = 4
"""Fragments of a list with separators."""

FRAGMENT_WORDS_MAX = 3
"""The most words of a fragment, as a median."""

SENTENCE_SHARE_MIN = 0.08
"""The share of function words from which a text is a sentence."""

PREPOSITION_WEIGHT = 0.3
"""How much a preposition counts as a function word."""

TEXT_CHARS_MAX = 4_000
"""Characters of a text that are read."""

PARTICIPLE_WEIGHT = 0.5
"""How much a word that ends with "ing" counts as a function word in a text without separators."""

_message = re.compile(r"[:=\"()]")
_words = re.compile(r"[^\W_][\w'-]*(?:[./:@][\w-]+)*")
"""A name with dots, slashes or colons inside, such as that of an image, is one word."""
_fragment_ends = re.compile(r"[,;|\n]|\s[/#&+-]+\s|(?:^|\s)#")


def _weights(words: str, weight: float) -> dict[str, float]:
    return dict.fromkeys(words.split(), weight)


_function_words = (
    _weights("a an the this that these those every each all some any both", 1.0)
    | _weights("i we he she it they them us his her its our their there who which where whenever", 1.0)
    | _weights("is are was were be been being am has have had does do did can cannot will would could should must", 1.0)
    | _weights("may might isn't aren't wasn't weren't doesn't don't didn't hasn't haven't can't couldn't won't", 1.0)
    | _weights("and but because since while when after before until so if than then although though as instead", 1.0)
    | _weights("of on in to at for from with by into during between over under onto out", PREPOSITION_WEIGHT)
)


def keyword_list_size(text: str) -> int:
    """Return the number of keywords if a text is only a list of keywords; 0 if it is not."""
    text = text[:TEXT_CHARS_MAX].lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    words = _words.findall(text)
    function_words = sum(_function_words.get(word, 0.0) for word in words)
    if function_words >= SENTENCE_SHARE_MIN * len(words):
        return 0
    lengths = sorted(len(found) for part in _fragment_ends.split(text) if (found := _words.findall(part)))
    if len(lengths) >= FRAGMENTS_MIN and lengths[len(lengths) // 2] <= FRAGMENT_WORDS_MAX:
        return len(lengths)
    participles = sum(word.endswith("ing") and word not in {"missing", "existing"} for word in words)
    is_sentence = function_words + PARTICIPLE_WEIGHT * participles >= SENTENCE_SHARE_MIN * len(words)
    return 0 if is_sentence or len(words) < WORDS_MIN or _message.search(text) else len(words)

"""Extract from a benchmark's sentence the terms that an answer about the same fault would use.

If a sentence contains identifiers (`kafkaQueueProblems`, `QUOTE_ADDR`, `NetworkPolicy`), these are the terms; else each
pair of adjacent meaningful words is a term: `memory quota`, `invalid command`.
"""

import re
from collections.abc import Collection, Iterable
from itertools import pairwise

from instruments.evals.benchmarks.case import CaseError
from instruments.evals.benchmarks.term_patterns import phrase_pattern, split_words

TERMS_MAX = 24
"""The most terms of one expectation; a text with more is too long to be a condition or an action."""

_token = re.compile(r"[^\W_](?:[\w.-]*[^\W_])?")
_identifier = re.compile(r"\w*[a-z][A-Z]\w*|\w+_\w+|[A-Za-z]+[0-9]\w*")
_consequence = re.compile(r"\b(?:due to|because of|caused by|as a result of)\b", re.IGNORECASE)

_STOP = frozenset(
    split_words(
        "a all an and any are as at be been being by can cannot cause caused causes causing could current do does "
        "each every existing for from had has have if in into is it its new no not of off on or out over so such "
        "than that the their then these this those to up via was were when where which while will with without "
        "would"
    )
)
_GENERIC = frozenset(
    split_words(
        "application cluster component configuration container containers deployment environment instance namespace "
        "node nodes object pod pods resource server service services state status system variable workload"
    )
)


def cause_patterns(key: str, sentences: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    """Return patterns for the cause in a condition; of `A due to B` the cause is B. Errors: CaseError."""
    return term_patterns(key, (_consequence.split(sentence)[-1] for sentence in sentences), names)


def term_patterns(key: str, sentences: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    """Return patterns for the terms of related sentences. Errors: CaseError.

    Words of `names` are excluded, since names have patterns of their own. If no sentence has a term, single words are
    used.
    """
    all_sentences = list(sentences)
    name_words = {word.lower() for name in names for word in split_words(name)}
    terms = [term for sentence in all_sentences for term in _find_terms(sentence, names, name_words)]
    terms = terms or [
        word
        for sentence in all_sentences
        for word in meaningful_words(sentence)
        if not _is_filler(word, name_words | _GENERIC)
    ]
    patterns = dict.fromkeys(phrase_pattern(key, term) for term in terms)
    if len(patterns) > TERMS_MAX:
        problem = f"comes to {len(patterns)} terms; at most {TERMS_MAX} are allowed"
        raise CaseError(key, problem, "Say in one sentence what is wrong, or what puts it right.")
    return tuple(patterns)


def meaningful_words(sentence: str) -> list[str]:
    """Return the meaningful words of a sentence, in lower case, each once."""
    words = (token.lower() for token in _token.findall(sentence))
    return list(dict.fromkeys(word for word in words if word not in _STOP and not word.isdigit()))


def _find_terms(sentence: str, names: Collection[str], name_words: set[str]) -> list[str]:
    tokens = list(_token.finditer(sentence))
    if identifiers := [match[0] for match in tokens if _identifier.fullmatch(match[0]) and match[0] not in names]:
        return identifiers
    pairs = []
    for left, right in pairwise(tokens):
        pair = left[0].lower(), right[0].lower()
        if sentence[left.end() : right.start()].strip() or any(_is_filler(word, name_words) for word in pair):
            continue
        if not _GENERIC.issuperset(pair):
            pairs.append(" ".join(pair))
    return pairs


def _is_filler(word: str, name_words: set[str]) -> bool:
    return word in _STOP or word.isdigit() or name_words.issuperset(part.lower() for part in split_words(word))

"""From a sentence of a benchmark to the terms that an answer about the same thing would use.

A sentence that names something as programs do (`kafkaQueueProblems`, `QUOTE_ADDR`, `NetworkPolicy`) is about that; of
another, each two neighbouring words that mean something are a term: `memory quota`, `invalid command`.
"""

import re
from collections.abc import Collection, Iterable
from itertools import pairwise

from instruments.evals.benchmarks.case import CaseError
from instruments.evals.benchmarks.term_patterns import phrase, words

TERMS_MAX = 24
"""Terms of one expectation: a text that has more is no condition and no action, but a story."""

_token = re.compile(r"[^\W_](?:[\w.-]*[^\W_])?")
_identifier = re.compile(r"\w*[a-z][A-Z]\w*|\w+_\w+|[A-Za-z]+[0-9]\w*")
_consequence = re.compile(r"\b(?:due to|because of|caused by|as a result of)\b", re.IGNORECASE)

_STOP = frozenset(
    words(
        "a all an and any are as at be been being by can cannot cause caused causes causing could current do does "
        "each every existing for from had has have if in into is it its new no not of off on or out over so such "
        "than that the their then these this those to up via was were when where which while will with without "
        "would"
    )
)
_GENERIC = frozenset(
    words(
        "application cluster component configuration container containers deployment environment instance namespace "
        "node nodes object pod pods resource server service services state status system variable workload"
    )
)


def cause_terms(key: str, sentences: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    """Patterns of what a condition says is wrong; of `A due to B` that is B. Errors: Wrong."""
    return terms(key, (_consequence.split(sentence)[-1] for sentence in sentences), names)


def terms(key: str, sentences: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    """Patterns of the terms of sentences that belong together. Errors: Wrong.

    Words of `names`, which are looked for apart, make none. Where no sentence has a term, its words are.
    """
    told = list(sentences)
    known = {word.lower() for name in names for word in words(name)}
    said = [term for one in told for term in _terms(one, names, known)]
    said = said or [word for one in told for word in meaning(one) if not _says_nothing(word, known | _GENERIC)]
    found = dict.fromkeys(phrase(key, term) for term in said)
    if len(found) > TERMS_MAX:
        what = f"comes to {len(found)} terms, and {TERMS_MAX} are the most"
        raise CaseError(key, what, "Say in one sentence what is wrong, or what puts it right.")
    return tuple(found)


def meaning(sentence: str) -> list[str]:
    """The words of a sentence that mean something, in lower case, each once."""
    found = (token.lower() for token in _token.findall(sentence))
    return list(dict.fromkeys(word for word in found if word not in _STOP and not word.isdigit()))


def _terms(sentence: str, names: Collection[str], known: set[str]) -> list[str]:
    tokens = list(_token.finditer(sentence))
    if identifiers := [match[0] for match in tokens if _identifier.fullmatch(match[0]) and match[0] not in names]:
        return identifiers
    pairs = []
    for left, right in pairwise(tokens):
        pair = left[0].lower(), right[0].lower()
        if sentence[left.end() : right.start()].strip() or any(_says_nothing(word, known) for word in pair):
            continue
        if not _GENERIC.issuperset(pair):
            pairs.append(" ".join(pair))
    return pairs


def _says_nothing(word: str, known: set[str]) -> bool:
    return word in _STOP or word.isdigit() or known.issuperset(part.lower() for part in words(word))

"""Recognize that a sentence denies a match: "not an ImagePullBackOff", "memory was ruled out", "DNS is healthy".

Incident reports describe failures with negations too: "the registry does not know the tag" states a fault. Therefore
the negation of a fault ("no leak", "is not exhausted") denies, and the negation of something good ("no endpoints", "is
not ready", "cannot resolve") does not, except for a match directly after "not" or "never". A trigger inside the match
belongs to the pattern ("not found") and does not count. See `mention_context.py` for the terms.
"""

import re
from typing import NamedTuple

from instruments.evals.scoring.mention_context import SCOPE_END, MentionContext


class _Trigger(NamedTuple):
    """A trigger, and how many words may be between it and the match."""

    pattern: re.Pattern[str]
    words_max: int


def _trigger(words_max: int, *phrases: str) -> _Trigger:
    return _Trigger(re.compile("|".join(phrases)), words_max)


_IS = r"(?:is|are|was|were|be|been|being|has been|have been|had been|am|'s)"
_NOT = r"(?:not|never|n't)"
_IS_NOT = (
    r"(?:(?:is|are|was|were|be|been|has been|have been|has|have|had) (?:\w+ly )?(?:not|never)"
    r"|(?:is|are|was|were|has|have|had)n't)"
)
_DO_NOT = r"(?:(?:do|does|did|would|will|should|could)(?: not|n't)|won't|never)"
_FAULT = (
    r"\b(?:problems?|issues?|errors?|fail\w*|faults?|leak\w*|pressure|throttl\w*|mismatch\w*|outages?|exhaust\w*"
    r"|expir\w*|time-?outs?|timed out|kill\w*|oom\w*|crash\w*|overload\w*|shortages?|corrupt\w*|misconfigur\w*"
    r"|missing|wrong|broken|faulty|saturat\w*|congest\w*|deadlocks?|exceed\w*|full|invalid|incorrect|contention"
    r"|starv\w*|bottlenecks?|\w*backoff|\w+(?:killed|pressure|error|denied|exceeded))\b"
)
"""A noun or a predicate that says that something is wrong."""

_CAUSE = (
    r"(?:(?:the |a |an |our )?(?:\w+ )?(?:cause|culprit|problem|issue|reason|source|explanation|trigger|factor|fault"
    r"|suspect)|to blame|at fault|guilty|responsible|involved|related|relevant|implicated|the case|affected|necessary"
    r"|needed|required)\b"
)
_GOOD = (
    r"(?:fine|healthy|ok|okay|normal|correct|intact|unaffected|irrelevant|innocent|unlikely|unrelated|unremarkable"
    r"|stable|as expected|false|below|within|under (?:the|its)|(?:at )?(?:zero|0)\b|half full|excluded|ruled out"
    r"|dismissed)\b"
)
_DIRECTIVE_START = r"(?:^\s*|[,(:]\s*|\b(?:and|or|but|please|there (?:is|was)) )"

_pseudo = re.compile(
    r"\bnot (?:only|just|merely|least|yet|unlikely|uncommon)\b|\bno (?:longer|doubt|question|more|such|wonder|less)\b"
    r"|\bwithout (?:a |any )?doubt\b|\bnothing but\b|\b(?:no|none|nothing) other than\b|\bif not\b"
    r"|\b(?:cannot|can't|can not|could not|couldn't|not|nor) (?:yet |fully |completely |easily )?(?:be )?"
    r"(?:rul\w+ out|exclud\w*|dismiss\w*)"
)
"""Phrases with a trigger that deny nothing."""

_before = (
    _trigger(8, r"\brul(?:e|es|ed|ing) out\b", r"\b(?:exclud|dismiss|discount)(?:e|es|ed|ing)?\b"),
    _trigger(4, r"\brul(?:e|es|ed|ing)\b(?=.*\bout\b)"),
    _trigger(
        10,
        r"\bno (?:evidence|signs?|indications?|hints?|traces?|proof)\b(?: of| for| that| to)?",
        r"\bno reason to (?:suspect|believe|think|assume)\b",
    ),
    _trigger(8, r"\bnothing (?:to do with|(?:has|needs) to be|must be|suggests?|indicates?|wrong with)\b"),
    _trigger(8, r"\bnothing points? (?:to|at|towards)\b"),
    _trigger(6, r"\b(?:unrelated to|independent of|irrelevant to|innocent of|free of|far from)\b"),
    _trigger(8, r"\b(?:rather than|instead of|as opposed to|in contrast to)\b"),
    _trigger(8, r"\b(?:neither|nor)\b"),
    _trigger(8, rf"\b{_NOT} (?:because of|because|due to|caused by|related to|attributable to|about)\b"),
    _trigger(10, r"\bnot (?:the case )?that\b"),
    _trigger(6, rf"\b(?:{_IS} (?:\w+ly )?not|(?:is|are|was|were)n't|not be|have been) (?:a|an|the|any|some|our)\b"),
    _trigger(6, r"(?:^\s*|[,(:]\s*|\band |\bbut )not\b(?! (?:to|all|every|enough)\b)"),
    _trigger(8, r"\b(?:unlikely (?:to be|that)|hardly|doubtful (?:that|whether)|disproves?|contradicts?)\b"),
    _trigger(10, rf"{_DIRECTIVE_START}(?:do not|don't|never|avoid|no need (?:to|for)|need not)\b"),
    _trigger(10, r"\bno need (?:to|for)\b", r"\b(?:not necessary|unnecessary|pointless|no use) to\b"),
    _trigger(3, r"\b(?:should|must|would|need)(?: not|n't)\b"),
)
"""Triggers with a scope that follows them."""

_adjacent = re.compile(
    r"\b(?:not|never)\b(?: (?:a|an|the|any|really|actually|being|been|be|in|under|at|so))*\s*\Z"
    r"|n't (?:a |an |the |any |been )?\Z"
)
"""A negation directly before the match."""

_no_fault = re.compile(r"\b(?:no|without(?: an?y?)?|absence of(?: an?y?)?)\b")
"""Triggers that deny if a fault follows them."""

_after = (
    _trigger(6, rf"\b{_IS_NOT} {_CAUSE}"),
    _trigger(6, rf"\b{_IS_NOT} (?:\w+ ){{0,2}}?(?:{_FAULT}|(?:reached|low|short|elevated|high|unhealthy)\b)"),
    _trigger(
        6,
        r"\b(?:is|are|was|were|looks?|remains?|remained|stays?|stayed|seems?|has been|have been) "
        rf"(?:all |both |still |only |quite |also |well |far |\w+ly )*{_GOOD}",
    ),
    _trigger(
        6,
        r"\b(?:can|could|may|should|must|to) (?:\w+ly |therefore |also )*be (?:ruled out|excluded|dismissed)\b",
    ),
    _trigger(0, r"\b(?:ruled|rule|rules) out\b", r"\bout\b(?= (?:as|because|by|with|first)\b|\s*\Z)"),
    _trigger(6, r"\b(?:has|have|had) nothing to do with\b", r"\bunrelated\b", r"\bunaffected\b"),
    _trigger(
        6,
        rf"\b{_DO_NOT} (?:\w+ly )?(?:exceed|leak|fail|occur|apply|explain|fit|help|matter|appear|play|cause|contribute"
        r"|account|hold|change|have to|need to|need)\w*",
    ),
    _trigger(6, r"\b(?:should|must|need)(?: not|n't) be\b", r"\bneeds? (?:no|not)\b", r"\bneedn't\b"),
    _trigger(6, r"\bchanges? nothing\b"),
    _trigger(3, r"\b(?:unchanged|untouched|as (?:it|they) (?:is|are)|alone)\b"),
    _trigger(0, r"\A\s*nothing\b"),
)
"""Triggers with a scope that precedes them."""

_finite = re.compile(r"\b(?:is|are|was|were|has|have|had|does|do|did|will|would|can|cannot|could)\b|n't\b")
_words = re.compile(r"[\w'/.-]+")


def negation_of(context: MentionContext) -> str | None:
    """Return the words that deny a match; None if nothing does."""
    before, after = _mask(context.before), _mask(context.after)
    return _forward(before, context) or _denied_fault(before, context) or _backward(after)


def _forward(before: str, context: MentionContext) -> str | None:
    """Return a trigger before the match with the match in its scope."""
    adjacent = _adjacent.search(before)
    if adjacent is not None:
        return adjacent[0].strip()
    for trigger in _before:
        for found in trigger.pattern.finditer(before):
            if _reaches(before[found.end() :], context.after, trigger.words_max):
                return found[0].strip(" ,(:")
    return None


def _denied_fault(before: str, context: MentionContext) -> str | None:
    """Return "no" or "without" before the match if it denies a fault: "no memory leak", "no key is missing"."""
    for found in _no_fault.finditer(before):
        gap = before[found.end() :]
        if SCOPE_END.search(gap) or "," in gap:
            continue
        phrase = gap + context.match + _clause_after(context.after)
        words = _words.findall(phrase)
        verb_at = next((at for at, word in enumerate(words) if _finite.fullmatch(word)), len(words))
        noun_phrase, predicate = " ".join(words[: min(verb_at, 5)]), " ".join(words[verb_at : verb_at + 3])
        if re.search(_FAULT, noun_phrase) or (verb_at <= 4 and re.search(_FAULT, predicate)):
            return found[0]
    return None


def _backward(after: str) -> str | None:
    """Return a trigger after the match with the match in its scope."""
    for trigger in _after:
        for found in trigger.pattern.finditer(after):
            gap = after[: found.start()]
            if _finite.search(gap) or SCOPE_END.search(gap) or "," in gap:
                continue
            if len(_words.findall(gap)) <= trigger.words_max:
                return found[0].strip()
    return None


def _reaches(gap: str, after: str, words_max: int) -> bool:
    """Whether a scope extends over a gap: few words, no terminator, and no comma except in an enumeration."""
    if SCOPE_END.search(gap) or len(_words.findall(gap)) > words_max:
        return False
    return "," not in gap or re.search(r"\b(?:or|nor)\b", gap + _clause_after(after)) is not None


def _clause_after(after: str) -> str:
    end = SCOPE_END.search(after)
    return after[: end.start() if end else None].partition(",")[0]


def _mask(text: str) -> str:
    """Return a text with its pseudo-triggers replaced by words without meaning."""
    return _pseudo.sub(lambda found: re.sub(r"\w", "_", found[0]), text)

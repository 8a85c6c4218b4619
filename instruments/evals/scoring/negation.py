"""Recognize that a sentence denies a match: "not an ImagePullBackOff", "memory was ruled out", "DNS is healthy".

Incident reports describe failures with negations too: "the registry does not know the tag" states a fault. Therefore
the negation of a fault ("no leak", "is not exhausted") denies, and the negation of something good ("no endpoints", "is
not ready", "cannot resolve") does not, except for a match directly after "not" or "never". A trigger that the
pattern spells belongs to it ("not found") and does not count. One in words that a regex lets be between its own counts
(`stated_spans.py`).

A statement is denied as well if the text takes it back ("actually no", "that was a false alarm"), refuses to conclude
it ("it is premature to conclude that"), or says what would be seen if it were true. See `mention_context.py` for the
terms.
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
_ERROR = (
    r"(?:(?:a |an |the |just |only |merely |simply |clearly |likely |probably |pure |old |known |common |popular )*"
    r"(?:false (?:alarm|alert|positive|lead|impression|conclusion)|myth|red herring|misreading|misconception"
    r"|wrong (?:conclusion|theory|explanation|diagnosis|lead)|misunderstanding|misdiagnosis|fallacy|rumou?r|coincidence"
    r"|distraction)"
    r"|untrue|not (?:true|the case)|premature|debunked|disproved|disproven|refuted|unfounded|baseless|mistaken)\b"
)
"""What says of a statement, and not of a thing, that it does not hold."""

_CONCLUDE = r"(?:conclude|assume|say|think|believe|claim|state|suppose|blame|suspect|infer|call|declare)"
_NO_OPTION = (
    r"(?:a bad idea|no (?:option|solution|remedy)|not (?:an option|a (?:fix|solution|remedy)|advis(?:ed|able)"
    r"|recommended)|out of the question|pointless|unwise|inadvisable|discouraged)\b"
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
    _trigger(
        8,
        r"\bnothing (?:to do with|(?:has|needs) to be|must be|wrong with)\b",
        r"\bnothing (?:suggests?|indicates?|shows?|to show|proves?)\b",
    ),
    _trigger(3, r"\banything but\b"),
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
    _trigger(
        10,
        rf"\b(?:premature|too (?:early|soon|hasty)|wrong|incorrect|a mistake|an error|mistaken|misleading|hasty|unfair)"
        rf" to {_CONCLUDE}\b",
        rf"\b(?:would|should|could|can|do|does|did)(?: not|n't) (?:yet )?{_CONCLUDE} that\b"
        rf"|\bcannot (?:yet )?{_CONCLUDE} that\b|\b(?:nobody|no one|nothing) (?:\w+ )?{_CONCLUDE}s? that\b",
    ),
    _trigger(
        10,
        r"\b(?:myth|misconception|fallacy|rumou?r|illusion|false (?:claim|assumption|impression|alarm|alert|lead|idea)"
        r"|wrong (?:claim|assumption|idea|conclusion)|mistaken (?:belief|idea|assumption)) (?:that|of|about)\b",
        r"\b(?:wrongly|mistakenly|falsely|erroneously|incorrectly) (?:\w+ )?"
        r"(?:thought|assumed|believed|suspected|reported|claimed|blamed|concluded"
        r"|suggest\w*|stat\w+|says?|said|claims?)\b",
        r"\b(?:initially|originally|at first|earlier|first) (?:\w+ ){0,2}?"
        r"(?:thought|assumed|believed|blamed|concluded)\b",
        r"\b(?:contrary to|despite|in spite of) (?:\w+ ){0,3}?(?:claim|report|alert|rumou?r|suspicion|belief|impression"
        r"|assumption|suggestion)s? (?:that|of|about)\b|\b(?:doubts?|den(?:y|ies)|refut\w+|disprov\w+) that\b",
        r"\b(?:den(?:y|ies|ied)|refut\w+|disprov\w+|debunk\w*|reject\w*|retract\w*) "
        r"(?:(?:the|this|that) (?:\w+ )?(?:idea|claim|theory|hypothesis|suspicion|notion|assumption|report))\b",
    ),
    _trigger(
        10,
        r"\b(?:anyone|anybody)'s guess\b|\b(?:nobody|no one|who) (?:can (?:say|tell) |knows? )(?:if|whether|that)\b"
        r"|\b(?:impossible|no way|too early|too soon) to (?:say|tell|know|determine) (?:if|whether|that)\b"
        r"|\b(?:no idea|not know|n't know) (?:if|whether|that)\b|\bunknown (?:if|whether)\b",
    ),
    _trigger(
        10,
        r"\b(?:under no circumstances?|on no account|by no means|in no case)\b",
        r"\b(?:refrain|abstain|desist) from\b|\b(?:advis|recommend|warn|caution|decid|argu|counsel)\w* against\b",
        r"\bresist (?:the )?(?:urge|temptation) to\b|\b(?:stop short of|hold off(?: on)?|steer clear of)\b",
        r"\b(?:a mistake|wrong|unwise|pointless|dangerous|a bad idea|no sense|no point) to\b|\bno (?:sense|point) in\b",
    ),
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
    _trigger(
        4,
        rf"\b(?:is|are|was|were|be|been|proved|proves|turn(?:s|ed) out)(?: to be)? (?:{_ERROR}|{_NO_OPTION})",
        r"\b(?:is|was) (?:anyone|anybody)'s guess\b",
    ),
    _trigger(3, r"\b(?:unchanged|untouched|as (?:it|they) (?:is|are)|alone)\b"),
    _trigger(0, r"\A\s*nothing\b"),
)
"""Triggers with a scope that precedes them."""

_retraction = re.compile(
    r"[\s.!?;:,()\u2013\u2014-]*(?:but |and |or |yet |so )*(?:"
    r"(?:(?:actually|well|wait|oh|hm+|sorry|ah),? )+no\b|no[,.:;!\u2013\u2014]|no -|nope\b|not (?:so|true)\b"
    r"|on (?:second thoughts?|reflection)\b|correction[:,]"
    r"|(?:scratch|strike|disregard|ignore|forget) (?:that|this|it)\b"
    r"|never ?mind\b|i take (?:that|it) back\b|(?:i|we) (?:was|were) (?:wrong|mistaken)\b|false alarm\b"
    r"|(?:so|or so) (?:i|we|they|it|everyone) (?:thought|believed|assumed|seemed|looked)\b|(?:wrong|false)(?:[.!:,]|\Z)"
    rf"|(?:that|this|it|which),? (?:is|was|proved|turned out|turns out|has been|is now|was later)(?: to be)? {_ERROR}"
    r"|(?:that|this) (?:\w+ )?(?:theory|explanation|conclusion|reading|assumption|claim|hypothesis|idea"
    r"|alert|report|diagnosis|suspicion|statement|story) (?:(?:is|was|proved|turned out|has been)(?: to be)? "
    rf"(?:wrong|false|incorrect|{_ERROR})|(?:does|did)(?: not|n't) (?:hold|fit|match|explain)))"
)
"""What takes back the statement before it, at the beginning of the next clause or sentence."""

_clause_start = re.compile(rf",|{SCOPE_END.pattern}")
_hearsay = re.compile(
    r"\b(?:claim|say|said|suggest|believe|thought|assum|insist|seem|appear)\w*\b.{0,60}?"
    r"\b(?:but|yet|however|though|although|and|which)(?:,? (?:that|this|it|they|he|she))? "
    r"(?:is|was|are|were|proved|turned out)(?: to be)? (?:simply |just |plainly |completely )?"
    r"(?:wrong|false|incorrect|mistaken|outdated|stale|a mistake|an error)\b"
)
"""A source of the statement before it, and that the source is wrong."""

_condition = re.compile(
    r"(?:\A\s*|[,:(] ?|\b(?:but|and|that|yet|because|so) (?!had|were))(?P<word>if|unless|had|were)\b"
    r"(?! (?:possible|needed|necessary|required|so|in doubt)\b)[^,]*\Z"
)
"""A condition at the beginning of a clause. One at its end says when something happens: "it fails if it is slow"."""

_would_if = re.compile(r"\b(?:would|'d|should|might have|could have)\b[^,]*\bif\b[^,]*\Z")
_states_fault = re.compile(rf"{_FAULT}|{_CAUSE}|\b(?:not|never|no|lacks?|absent)\b|n't\b")
_hypothetical = re.compile(r"\b(?:would|should|'d|wouldn't|might have|could have)\b")
_finite = re.compile(r"\b(?:is|are|was|were|has|have|had|does|do|did|will|would|can|cannot|could)\b|n't\b")
_words = re.compile(r"[\w'/.-]+")


def negation_of(context: MentionContext) -> str | None:
    """Return the words that deny a match; None if nothing does."""
    before, after = _mask(context.before), _mask(context.after)
    return _forward(before, context) or _denied_fault(before, context) or _backward(after)


def retraction_of(context: MentionContext, following: str) -> str | None:
    """Return the words that take a match back, in the rest of its sentence or at the beginning of the next one."""
    ends = [end.start() for end in _clause_start.finditer(context.after)]
    found = next(filter(None, (_retraction.match(context.after, end) for end in ends)), None)
    found = found or _hearsay.search(context.after) or _retraction.match(following)
    return found[0].strip(" .!?;:,-\u2013\u2014") if found else None


def condition_of(context: MentionContext) -> str | None:
    """Return the condition that a match is a part of: "if the tag is missing, push it"; None if there is none."""
    found = _condition.search(context.before)
    # "had" and "were" begin a condition only if "would" follows
    is_open = found is not None and found["word"] in {"if", "unless"} and not _hypothetical.search(context.after)
    return found["word"] if found and is_open else None


def counterfactual_of(context: MentionContext) -> str | None:
    """Return the words that say that a fault is not the case: "if the tag were missing, we would see a 404".

    A condition that is something good describes a failure: "if the tag existed, the pod would start".
    """
    condition = _condition.search(context.before) if _hypothetical.search(context.after) else None
    found = condition or _would_if.search(context.before)
    if found is None:
        return None
    stated = context.before[found.start() :] + context.match + _clause_after(context.after)
    if _states_fault.search(stated) is None:
        return None
    return f"{condition['word']} ... would" if condition else "would ... if"


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

"""Version 2 of the scorer of the summarising probe: it checks who, what and when of each fact, within a sentence.

Total: kept * faithful * within * prose, each a dimension from 0 to 1:

|dimension|meaning|
|-|-|
|kept|share of the facts that a sentence asserts and no sentence contradicts|
|faithful|1 minus 0.3 for each invention: a number or a name that is not in the report, or a contradiction of it|
|within|as in version 1|
|prose|1 from a share of 0.16 of function words, falling to 0 at 0.06 (a list of keywords)|

A fact is a set of words near each other in one sentence. Payers and shares, road users and days are paired.
"""

from collections.abc import Iterator
from math import prod

from instruments.probes.probe import Probe
from instruments.probes.score import ProbeScore
from instruments.probes.text.fact_pairs import pair_up
from instruments.probes.text.prose import (
    Sentence,
    Status,
    function_share,
    phrase_spans,
    read_prose,
    read_sentences,
    takes_back,
)
from instruments.probes.text.summarising_facts import AUGUST, CONTRADICTIONS, FACTS, NOVEMBER, OPENING, Claim
from instruments.probes.text.summarising_probe import (
    ECHO_SHARE_MAX,
    INVENTION_PENALTY,
    LENGTH_WORDS,
    REPORT,
    TASK,
    TOPIC,
    TOPIC_WORDS_MIN,
    WORDS_MIN,
    SummarisingScorer,
    count_inventions,
    score_length,
)
from instruments.probes.text.synonyms import MOTOR, ON_FOOT, ONE_THIRD, THE_REST, TWO_THIRDS
from instruments.probes.text.tokens import PromptEcho, TokenizedAnswer, phrases_by_first_word

PROSE_FULL, PROSE_NONE = 0.16, 0.06
"""Shares of function words from which, and up to which, the dimension `prose` is 1 and 0."""

_BEFORE_DAY = frozenset(("until", "till", "before", "by", "til"))
_WAITING = (
    "wait|waits|waiting|closed|shut|not|no|cannot|barred|stay|stays|remain|remains|off limits|excluded|tunnel|detour|"
    "locked out|kept out|banned|diversion|ferry|meanwhile|reopening"
)
_CROSSING = "open|cross|use|allowed|usable|may|can|permitted|back|return"


_payers = phrases_by_first_word({"county": "county|county council", "port": "port|harbour authority|port authority"})
_shares = phrases_by_first_word({"two": TWO_THIRDS, "one": ONE_THIRD, "rest": THE_REST})
_ratio = phrases_by_first_word({"ratio": "2:1|two to one|2 to 1|two parts to one|twice the share"})
_users = phrases_by_first_word({"foot": ON_FOOT, "motor": MOTOR})
_days = phrases_by_first_word(
    {"august": AUGUST, "november": NOVEMBER, "june": OPENING, "other": "12 september|september 12|sunday at 11"}
)
_waiting = phrases_by_first_word({"wait": _WAITING, "cross": _CROSSING})
_reopening = frozenset(("reopen", "reopens", "reopening", "reopened", "opens"))

_task_echo, _report_echo = PromptEcho(read_prose(TASK)), PromptEcho(read_prose(REPORT))


class SummarisingScorer2:
    """Scores a summary of the report. An answer about something else, or a copy of the prompt, is not valid."""

    id = "summarising"
    version = "2"

    def score(self, output: str) -> ProbeScore:
        """Score any text; never raises."""
        answer, counted = read_prose(output), TokenizedAnswer.of(output)
        if answer is None or counted is None:
            return ProbeScore(valid=False)
        text = _task_echo.without_quotes(answer)
        if _report_echo.repeated_share(text) > ECHO_SHARE_MAX:
            text = _report_echo.without_quotes(text)
        if len(text) < WORDS_MIN or len(TOPIC.intersection(text.words)) < TOPIC_WORDS_MIN:
            return ProbeScore(valid=False)
        sentences = read_sentences(text)
        kept, contradicted = _facts(sentences)
        reversals = contradicted | {name for sentence in sentences for name in _contradictions(sentence)}
        invented = count_inventions(text) + len(reversals)
        dimensions = {
            "kept": 0.0 if takes_back(text) else len(kept - contradicted) / FACTS_ALL,
            "faithful": max(0.0, 1.0 - INVENTION_PENALTY * invented),
            "within": score_length(len(counted) / LENGTH_WORDS),
            "prose": min(1.0, max(0.0, (function_share(text) - PROSE_NONE) / (PROSE_FULL - PROSE_NONE))),
        }
        total = prod(dimensions.values())
        return ProbeScore.of_dimensions(total, dimensions, inventions=invented, words=len(counted))


PAIRED = {"county two thirds, port one", "cyclists and walkers from 3 August", "cars from 30 November"}
FACTS_ALL = len(FACTS) + len(PAIRED)


def _facts(sentences: list[Sentence]) -> tuple[set[str], set[str]]:
    """Return the facts that sentences assert, and those that they contradict."""
    kept: set[str] = set()
    contradicted: set[str] = set()
    for sentence in sentences:
        for name, claim in FACTS.items():
            status = _status(claim, sentence)
            if status is Status.ASSERTED:
                kept.add(name)
            elif status is Status.DENIED and claim.by_denial:
                contradicted.add(name)
        for name, right in (*_payments(sentence), *_access(sentence)):
            (kept if right else contradicted).add(name)
    return kept, contradicted


def _contradictions(sentence: Sentence) -> Iterator[str]:
    for name, claim in CONTRADICTIONS.items():
        expected = Status.DENIED if claim.by_denial else Status.ASSERTED
        if _status(claim, sentence) is expected:
            yield name


def _status(claim: Claim, sentence: Sentence) -> Status | None:
    """Return whether a sentence asserts or denies a claim; None if it does not make it."""
    exceptions = phrase_spans(sentence, claim.unless)
    if any(not start or sentence.words[start - 1] != "not" for start, _, _ in exceptions):
        return None
    spans = [phrase_spans(sentence, group) for group in claim.groups]
    result: Status | None = None
    for start, end, _ in spans[0]:
        near = [
            next(
                (
                    other
                    for other in group
                    if (other[0] >= end and other[0] - end < claim.within)
                    or (not claim.in_order and other[1] <= start and start - other[1] < claim.within)
                ),
                None,
            )
            for group in spans[1:]
        ]
        matched = [_stated(sentence, *span[:2]) for span in ((start, end), *near) if span is not None]
        if len(matched) < len(spans):
            continue
        if all(sentence.asserts(*each) for each in matched):
            return Status.ASSERTED
        if any(sentence.denies(*each) for each in matched):
            result = Status.DENIED
    return result


def _stated(sentence: Sentence, start: int, end: int) -> tuple[int, int]:
    """Return the words of a phrase that must be asserted: of `no traffic` the first, which denies the other."""
    return (start, start + 1) if sentence.words[start] in {"no", "not"} else (start, end)


def _payments(sentence: Sentence) -> Iterator[tuple[str, bool]]:
    name = "county two thirds, port one"
    pairs = pair_up(sentence, _payers, _shares)
    right = {("county", "two"), ("port", "one")}
    shares = {pair.value for pair in pairs} - {"rest"}
    rest = "one" if shares == {"two"} else "two"
    for pair in pairs if shares else ():
        value = rest if pair.value == "rest" else pair.value
        denied = sentence.denies(pair.start, pair.end)
        if sentence.asserts(pair.start, pair.end) or denied:
            yield name, ((pair.subject, value) in right) is not denied
    payers = [payer for _, _, payer in phrase_spans(sentence, _payers)]
    if not pairs and phrase_spans(sentence, _ratio) and not sentence.is_open and set(payers) == {"county", "port"}:
        yield name, payers[0] == "county"


def _access(sentence: Sentence) -> Iterator[tuple[str, bool]]:
    names = {"august": "cyclists and walkers from 3 August", "november": "cars from 30 November"}
    right = {("foot", "august"), ("motor", "november")}
    pairs = [pair for pair in pair_up(sentence, _users, _days) if pair.value in names]
    for pair in pairs:
        status = sentence.status[pair.start]
        if status is Status.OPEN:
            continue
        before = sentence.words[max(0, pair.start - 2) : pair.start]
        denied = status is Status.DENIED
        if not _BEFORE_DAY.isdisjoint(before):
            kinds = {kind for _, _, kind in phrase_spans(sentence, _waiting)}
            denied = "wait" not in kinds and "cross" in kinds
        yield names[pair.value], ((pair.subject, pair.value) in right) is not denied
    days = [day for _, _, day in phrase_spans(sentence, _days)]
    if not phrase_spans(sentence, _users) and days == ["november"] and not _reopening.isdisjoint(sentence.words):
        yield names["november"], True


SUMMARISING = Probe(
    id="summarising",
    version="1",
    kind="text",
    language=None,
    stimulus=REPORT,
    prompt=TASK + REPORT,
    scorer=SummarisingScorer2(),
    older_scorers=(SummarisingScorer(),),
)

"""weighting: sources that contradict one another and are not equally good. What is true, how surely, by which of them?

Total: .35 claim + .2 confidence + .25 evidence + .2 discounted. Each is a dimension, 0..1:

|dimension|what it is|
|-|-|
|claim|1 for the claim that the good sources bear out, divided by how many claims are made|
|confidence|claim, times 1 for 0.80..0.97 stated, falling to 0 at 0.40 and to 0.40 at certainty; 0 where nothing is|
|evidence|harmonic mean of how many of the sources relied on are good, and how many of the needed ones are relied on|
|discounted|over the poor sources: half for setting it aside, half for the reason why|

A source that is relied on and set aside at once is neither. An answer without labels is read as prose: a source is set
aside by a sentence that says what is wrong with it, and relied on where a sentence says nothing of the kind.
"""

from bisect import bisect_left
from collections.abc import Mapping

from instruments.probes.probe import Probe
from instruments.probes.score import ProbeScore
from instruments.probes.text.citations import Citation, CitationParser
from instruments.probes.text.mentions import Lexicon
from instruments.probes.text.tokens import PromptEcho, TokenizedAnswer, words

OWN_WORDS_MIN = 2

SOURCES = """\
Question: how many people entered the new library of Orrin on its opening day?

Claim P: about 400
Claim Q: about 900
Claim R: about 1,500

S1 Press office of the town, in a release sent out on the day before the opening: "more than 1,500 visitors".
S2 Regional paper, on the day after: "1,500 visitors". Its text is that of S1, word for word; it had no reporter there.
S3 Neighbourhood blog: "1,500, as the regional paper writes".
S4 Counter at the only entrance: 912 persons in. It was tested that morning with 50 persons, and counted 49.
S5 Fire warden, who may admit no more than 250 at a time and kept her own tally by hand: 887, signed off every hour.
S6 Member of the council who had voted against the library: "barely 400". He was abroad and has it from a friend.
S7 Cafe in the hall: 388 drinks sold, all receipts kept. Not every visitor buys a drink.
S8 Photograph of the hall at 14:30, persons counted by a geographer: 231.
S9 Letter of a reader who stayed for ten minutes: "it must have been a thousand".
"""

TASK = """\
The sources below contradict one another, and they are not equally reliable. Weigh them.

Answer in this form, each part once, in plain words:

CLAIM: the letter of the one claim that is best supported
CONFIDENCE: how probable it is that this claim is true, in percent
EVIDENCE: the numbers of the sources you rely on
DISCOUNTED: the sources you set aside, each with the reason, as: source, reason; source, reason

"""

CLAIM = "Q"
VALUES = {
    "P": "claim p|400|four hundred|option p",
    "Q": "claim q|900|912|887|nine hundred|890|option q|895",
    "R": "claim r|1500|fifteen hundred|option r|1.5 thousand",
}
LETTERS = {name: f"{text}|{name.lower()}" for name, text in VALUES.items()}
"""Where the claim is asked for, its letter alone names it."""

NEEDED = frozenset((4, 5))
RELIED_MAX = 6
"""Whoever relies on more sources than these has weighed none."""

BEARING = frozenset((7, 8))
"""Sources that agree with the claim and do not prove it."""

_COPY = (
    "copy copies copied copying repeat repeats repeated repeating word verbatim derived derivative"
    " derives quotes quoting"
    " quoted cites citing cited independent secondhand second-hand echo echoes echoing same relays"
    " recycled reprint reprints"
    " reporter circular based trace traces traced tracing single originate originates"
)
REASONS = {
    1: words(
        "before announcement announced forecast prediction predicted advance beforehand prior interest"
        " interested promotional"
        " promotion publicity pr biased bias self expectation expected planned organiser measured anticipated earlier"
    ),
    2: words(_COPY),
    3: words(_COPY),
    6: words(
        "hearsay abroad absent friend secondhand opponent opposed opposes biased bias interest interested"
        " voted against there"
        " motive partisan hostile second-hand witness present"
    ),
}
"""The poor sources, each with words of what is wrong with it."""

DISMISSING = words(
    "discount discounting ignore ignoring disregard disregarding dismiss dismissing reject rejecting"
    " exclude excluding not"
    " without"
)
"""What sets aside the sources named right behind it."""

WORTHLESS = words(
    "discounted ignored disregarded dismissed rejected excluded unreliable weak hearsay biased copy"
    " copies copied repeat"
    " repeats repeated worthless untrustworthy anecdotal guess"
)
"""What sets aside the sources named before it."""

DISMISSING_WORDS = 4
TOGETHER_WORDS = 2
"""Sources that stand no farther apart are spoken of together."""

CONCLUDING = words(
    "conclude conclusion therefore answer best supported likely probably believe credible correct true confident sure"
    " confidence estimate figure"
)
SURENESS = words("confident confidence certain certainty sure probability probable likely likelihood")
PERCENT = words("percent")
SCALE: Mapping[str, float] = {
    "almost certain": 0.95, "nearly certain": 0.95, "virtually certain": 0.97, "certain": 1.0, "very confident": 0.9,
    "very likely": 0.9, "very high": 0.9, "highly likely": 0.9, "high": 0.85, "highly confident": 0.9, "confident": 0.8,
    "likely": 0.75, "probable": 0.75, "moderate": 0.6, "medium": 0.6, "moderately": 0.6, "low": 0.3, "unsure": 0.4,
    "uncertain": 0.4,
}  # fmt: skip
"""What words of sureness mean, the first that stands there."""

SURE_FROM, SURE_TO = 0.80, 0.97
UNSURE, CERTAIN_WORTH = 0.40, 0.40
WEIGHTS = {"claim": 0.35, "confidence": 0.2, "evidence": 0.25, "discounted": 0.2}

LABELS = {
    "claim": "claim|best claim|conclusion|answer|verdict|the claim|best supported claim",
    "confidence": "confidence|certainty|probability|how sure|sureness|confidence level",
    "evidence": (
        "evidence|sources relied on|relied on|relying on|reliable sources|supporting sources|supporting evidence"
    ),
    "discounted": (
        "discounted|discounted sources|set aside|rejected|disregarded|dismissed|sources set aside|unreliable sources"
    ),
}

_citing = CitationParser("s", "source sources")
_echo = PromptEcho(TASK + SOURCES, kept={f"s{number}" for number in range(1, 10)})
_values, _letters = Lexicon(VALUES), Lexicon(LETTERS)
_scale = Lexicon(
    {str(value): "|".join(word for word in SCALE if SCALE[word] == value) for value in set(SCALE.values())}
)


class WeightingScorer:
    """Reads a judgement of the sources. No answer: one that makes no claim and weighs no source."""

    id = "weighting"
    version = "1"

    def score(self, output: str) -> ProbeScore:
        """The score of any text whatever."""
        whole = TokenizedAnswer.of(output)
        own = None if whole is None else _echo.own(whole)
        if whole is None or own is None or _echo.words(own) < OWN_WORDS_MIN:
            return ProbeScore(valid=False)
        sections = own.sections(LABELS, once=("evidence", "claim"))
        claimed = sections.get("claim")
        claims = _letters.affirmed(claimed) if claimed else _values.affirmed(own.about(CONCLUDING) or own)
        relied, aside = _weighed(sections, own)
        if not claims and not (relied or aside):
            return ProbeScore(valid=False)
        claim = 1 / len(claims) if CLAIM in claims else 0.0
        stated = _stated(sections.get("confidence") or own.about(SURENESS) or _last(own.about(PERCENT)))
        dimensions = {
            "claim": claim,
            "confidence": 0.0 if stated is None else claim * _sureness(stated),
            "evidence": _evidence(relied - set(aside)),
            "discounted": sum(0.5 + 0.5 * aside[number] for number in REASONS if number in aside.keys() - relied)
            / len(REASONS),
        }
        return ProbeScore(
            valid=True,
            total=round(sum(WEIGHTS[name] * value for name, value in dimensions.items()), 6),
            dimensions={name: round(value, 6) for name, value in dimensions.items()},
            apart={"claims_made": len(claims), "words": len(whole)},
        )


def _weighed(sections: Mapping[str, TokenizedAnswer], own: TokenizedAnswer) -> tuple[set[int], dict[int, bool]]:
    """The sources relied on, and those set aside, each with whether a reason is given."""
    evidence, discounted = sections.get("evidence"), sections.get("discounted")
    if discounted is None:
        return _told_apart(evidence or own, bare=evidence is not None)
    aside: dict[int, bool] = {}
    for numbers, before, behind in _groups(discounted, bare=True):
        for number in numbers:
            aside[number] = aside.get(number, False) or _reasoned(number, behind) or _reasoned(number, before)
    return {citation.number for citation in _citing.of(evidence, bare=True)} if evidence else set(), aside


def _told_apart(reading: TokenizedAnswer, *, bare: bool) -> tuple[set[int], dict[int, bool]]:
    relied: set[int] = set()
    aside: dict[int, bool] = {}
    for numbers, before, behind in _groups(reading, bare=bare):
        dismissed = not DISMISSING.isdisjoint(before[-DISMISSING_WORDS:]) or not WORTHLESS.isdisjoint(behind)
        for number in numbers:
            reasoned = _reasoned(number, behind)
            if dismissed or reasoned:
                aside[number] = aside.get(number, False) or reasoned
            else:
                relied.add(number)
    return relied - set(aside), aside


def _groups(reading: TokenizedAnswer, *, bare: bool) -> list[tuple[set[int], list[str], list[str]]]:
    """The sources that are spoken of together, with the words of their sentence before and behind them."""
    groups: list[list[Citation]] = []
    for citation in _citing.of(reading, bare=bare):
        if groups and citation.at - groups[-1][-1].at <= TOGETHER_WORDS:
            groups[-1].append(citation)
        else:
            groups.append([citation])
    stops = [-1, *(place for place, mark in enumerate(reading.marks) if mark == "."), len(reading)]
    found = []
    for place, group in enumerate(groups):
        first, last = group[0].at, group[-1].at
        low = stops[bisect_left(stops, first) - 1] + 1
        high = stops[bisect_left(stops, last)] + 1
        if place:
            low = max(low, groups[place - 1][-1].at + 1)
        if place + 1 < len(groups):
            high = min(high, groups[place + 1][0].at)
        numbers = {citation.number for citation in group}
        found.append((numbers, reading.words[low:first], reading.words[last + 1 : high]))
    return found


def _reasoned(number: int, spoken: list[str]) -> bool:
    return number in REASONS and not REASONS[number].isdisjoint(spoken)


def _evidence(relied: set[int]) -> float:
    needed = len(relied & NEEDED)
    if not needed or len(relied) > RELIED_MAX:
        return 0.0
    precision, recall = len(relied & (NEEDED | BEARING)) / len(relied), needed / len(NEEDED)
    return 2 * precision * recall / (precision + recall)


def _sureness(stated: float) -> float:
    """How well a stated probability fits what the sources carry."""
    if stated < SURE_FROM:
        return max(0.0, (stated - UNSURE) / (SURE_FROM - UNSURE))
    if stated > SURE_TO:
        return 1.0 - (1.0 - CERTAIN_WORTH) * (stated - SURE_TO) / (1.0 - SURE_TO)
    return 1.0


def _stated(reading: TokenizedAnswer) -> float | None:
    """The probability an answer states, 0..1: in percent, as a fraction, out of ten, or in words."""
    spoken = reading.words
    for place, word in enumerate(spoken):
        if (value := _number(word)) is None:
            continue
        follows = spoken[place + 1 : place + 4]
        if follows and (reading.marks[place] == "-" or follows[0] == "to"):
            follows = follows[follows[0] == "to" :]
            if follows and (upper := _number(follows[0])) is not None:
                value, follows = (value + upper) / 2, follows[1:]
        if follows[:1] == ["10"] or follows == ["out", "of", "10"]:
            return min(1.0, value / 10)
        if value <= 1.0 and follows[:1] != ["percent"]:
            return value
        if value <= 100.0:
            return value / 100
    return next((float(one.name) for one in _scale.mentions(reading) if not one.denied), None)


def _last(reading: TokenizedAnswer) -> TokenizedAnswer:
    """The last sentence, where a conclusion stands."""
    return reading.part(list(reading.sentences())[-1:])


def _number(word: str) -> float | None:
    if not word[0].isdecimal():
        return None
    try:
        return float(word)
    except ValueError:  # a version, a time, a power
        return None


WEIGHTING = Probe(
    id="weighting",
    version="1",
    kind="text",
    language=None,
    stimulus=SOURCES,
    prompt=TASK + SOURCES,
    scorer=WeightingScorer(),
)

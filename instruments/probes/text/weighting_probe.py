"""The weighting probe: weigh contradictory sources of different quality, and state a claim with a probability.

Total: .35 claim + .2 confidence + .25 evidence + .2 discounted, each a dimension from 0 to 1:

|dimension|meaning|
|-|-|
|claim|1 for the claim that the good sources support, divided by the number of claims made|
|confidence|claim times 1 for 0.80..0.97, falling to 0 at 0.40 and to 0.40 at certainty; 0 if none is stated|
|evidence|harmonic mean of precision (sources relied on that are good) and recall (needed sources that are relied on)|
|discounted|mean over the poor sources: half for discounting it, half for the reason|

A source that is both relied on and discounted is scored as neither. In an answer without labels, a sentence that gives
a flaw of a source discounts it, and any other sentence that cites it relies on it.
"""

from bisect import bisect_left
from collections.abc import Mapping

from instruments.probes.score import ProbeScore
from instruments.probes.text.citations import Citation, CitationParser, score_citations
from instruments.probes.text.mentions import Lexicon
from instruments.probes.text.tokens import PromptEcho, TokenizedAnswer, split_words

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
"""In the section of the claim, the letter alone is enough to name a claim."""

NEEDED = (frozenset((4,)), frozenset((5,)))
"""The needed evidence: one source of each set."""

RELIED_SOURCES_MAX = 6
"""If an answer relies on more sources, the dimension `evidence` is 0."""

CONSISTENT = frozenset((7, 8))
"""Sources that agree with the claim without proving it."""

_COPY = (
    "copy copies copied copying repeat repeats repeated repeating word verbatim derived derivative"
    " derives quotes quoting"
    " quoted cites citing cited independent secondhand second-hand echo echoes echoing same relays"
    " recycled reprint reprints"
    " reporter circular based trace traces traced tracing single originate originates"
)
REASONS = {
    1: split_words(
        "before announcement announced forecast prediction predicted advance beforehand prior interest"
        " interested promotional"
        " promotion publicity pr biased bias self expectation expected planned organiser measured anticipated earlier"
    ),
    2: split_words(_COPY),
    3: split_words(_COPY),
    6: split_words(
        "hearsay abroad absent friend secondhand opponent opposed opposes biased bias interest interested"
        " voted against there"
        " motive partisan hostile second-hand witness present"
    ),
}
"""The poor sources, each with words that describe its flaw."""

DISMISSING = split_words(
    "discount discounting ignore ignoring disregard disregarding dismiss dismissing reject rejecting"
    " exclude excluding not"
    " without"
)
"""Words that discount the sources named directly after them."""

WORTHLESS = split_words(
    "discounted ignored disregarded dismissed rejected excluded unreliable weak hearsay biased copy"
    " copies copied repeat"
    " repeats repeated worthless untrustworthy anecdotal guess"
)
"""Words that discount the sources named before them."""

DISMISSING_WORDS = 4
TOGETHER_WORDS = 2
"""Sources at most this many words apart belong to one group."""

CONCLUDING = split_words(
    "conclude conclusion therefore answer best supported likely probably believe credible correct true confident sure"
    " confidence estimate figure"
)
SURENESS = split_words("confident confidence certain certainty sure probability probable likely likelihood")
PERCENT = split_words("percent")
SCALE: Mapping[str, float] = {
    "almost certain": 0.95, "nearly certain": 0.95, "virtually certain": 0.97, "certain": 1.0, "very confident": 0.9,
    "very likely": 0.9, "very high": 0.9, "highly likely": 0.9, "high": 0.85, "highly confident": 0.9, "confident": 0.8,
    "likely": 0.75, "probable": 0.75, "moderate": 0.6, "medium": 0.6, "moderately": 0.6, "low": 0.3, "unsure": 0.4,
    "uncertain": 0.4,
}  # fmt: skip
"""The probability that words of confidence mean; the first one in the text is used."""

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

source_citations = CitationParser("s", "source sources")
_echo = PromptEcho(TokenizedAnswer.of(TASK + SOURCES), kept={f"s{number}" for number in range(1, 10)})
claim_values, claim_letters = Lexicon(VALUES), Lexicon(LETTERS)
_scale = Lexicon(
    {str(value): "|".join(word for word in SCALE if SCALE[word] == value) for value in set(SCALE.values())}
)


class WeightingScorer:
    """Scores an assessment of the sources. It is not valid if it makes no claim and weighs no source."""

    id = "weighting"
    version = "1"

    def score(self, output: str) -> ProbeScore:
        """Score any text; never raises."""
        answer = TokenizedAnswer.of(output)
        text = None if answer is None else _echo.without_quotes(answer)
        if answer is None or text is None or _echo.count_words(text) < OWN_WORDS_MIN:
            return ProbeScore(valid=False)
        sections = text.sections(LABELS, once=("evidence", "claim"))
        section = sections.get("claim")
        claims = (
            claim_letters.affirmed(section)
            if section
            else claim_values.affirmed(text.sentences_with(CONCLUDING) or text)
        )
        relied, rejected = _classify_sources(sections, text)
        if not claims and not (relied or rejected):
            return ProbeScore(valid=False)
        claim = 1 / len(claims) if CLAIM in claims else 0.0
        probability = stated_probability(
            sections.get("confidence") or text.sentences_with(SURENESS) or last_sentence(text.sentences_with(PERCENT))
        )
        dimensions = {
            "claim": claim,
            "confidence": 0.0 if probability is None else claim * score_confidence(probability),
            "evidence": score_citations(relied - set(rejected), NEEDED, CONSISTENT, RELIED_SOURCES_MAX),
            "discounted": sum(0.5 + 0.5 * rejected[number] for number in REASONS if number in rejected.keys() - relied)
            / len(REASONS),
        }
        total = sum(WEIGHTS[name] * value for name, value in dimensions.items())
        return ProbeScore.of_dimensions(total, dimensions, claims_made=len(claims), words=len(answer))


def _classify_sources(
    sections: Mapping[str, TokenizedAnswer], answer: TokenizedAnswer
) -> tuple[set[int], dict[int, bool]]:
    """Return the sources relied on, and the discounted ones, each with whether a reason is given."""
    evidence, discounted = sections.get("evidence"), sections.get("discounted")
    if discounted is None:
        return _classify_by_sentence(evidence or answer, bare=evidence is not None)
    rejected: dict[int, bool] = {}
    for numbers, before, after in _source_groups(discounted, bare=True):
        for number in numbers:
            rejected[number] = (
                rejected.get(number, False) or _gives_reason(number, after) or _gives_reason(number, before)
            )
    return {
        citation.number for citation in source_citations.parse(evidence, bare=True)
    } if evidence else set(), rejected


def _classify_by_sentence(answer: TokenizedAnswer, *, bare: bool) -> tuple[set[int], dict[int, bool]]:
    relied: set[int] = set()
    rejected: dict[int, bool] = {}
    for numbers, before, after in _source_groups(answer, bare=bare):
        dismissed = not DISMISSING.isdisjoint(before[-DISMISSING_WORDS:]) or not WORTHLESS.isdisjoint(after)
        for number in numbers:
            reasoned = _gives_reason(number, after)
            if dismissed or reasoned:
                rejected[number] = rejected.get(number, False) or reasoned
            else:
                relied.add(number)
    return relied - set(rejected), rejected


def _source_groups(answer: TokenizedAnswer, *, bare: bool) -> list[tuple[set[int], list[str], list[str]]]:
    """Return the groups of sources cited together, with the words before and after them in their sentence."""
    groups: list[list[Citation]] = []
    for citation in source_citations.parse(answer, bare=bare):
        if groups and citation.at - groups[-1][-1].at <= TOGETHER_WORDS:
            groups[-1].append(citation)
        else:
            groups.append([citation])
    stops = [-1, *(index for index, mark in enumerate(answer.marks) if mark == "."), len(answer)]
    groups_with_words = []
    for index, group in enumerate(groups):
        first, last = group[0].at, group[-1].at
        low = stops[bisect_left(stops, first) - 1] + 1
        high = stops[bisect_left(stops, last)] + 1
        if index:
            low = max(low, groups[index - 1][-1].at + 1)
        if index + 1 < len(groups):
            high = min(high, groups[index + 1][0].at)
        numbers = {citation.number for citation in group}
        groups_with_words.append((numbers, answer.words[low:first], answer.words[last + 1 : high]))
    return groups_with_words


def _gives_reason(number: int, answer_words: list[str]) -> bool:
    return number in REASONS and not REASONS[number].isdisjoint(answer_words)


def score_confidence(probability: float) -> float:
    """Return how well a stated probability fits the evidence, 0..1."""
    if probability < SURE_FROM:
        return max(0.0, (probability - UNSURE) / (SURE_FROM - UNSURE))
    if probability > SURE_TO:
        return 1.0 - (1.0 - CERTAIN_WORTH) * (probability - SURE_TO) / (1.0 - SURE_TO)
    return 1.0


def stated_probability(answer: TokenizedAnswer) -> float | None:
    """Return the probability that an answer states, 0..1: in percent, as a fraction, out of ten, or in words."""
    answer_words = answer.words
    for index, word in enumerate(answer_words):
        if (value := parse_number(word)) is None:
            continue
        following = answer_words[index + 1 : index + 4]
        if following and (answer.marks[index] == "-" or following[0] == "to"):
            following = following[following[0] == "to" :]
            if following and (upper := parse_number(following[0])) is not None:
                value, following = (value + upper) / 2, following[1:]
        if following[:1] == ["10"] or following == ["out", "of", "10"]:
            return min(1.0, value / 10)
        if value <= 1.0 and following[:1] != ["percent"]:
            return value
        if value <= 100.0:
            return value / 100
    return next((float(mention.name) for mention in _scale.mentions(answer) if not mention.denied), None)


def last_sentence(answer: TokenizedAnswer) -> TokenizedAnswer:
    """Return the last sentence, which usually contains the conclusion."""
    return answer.select(list(answer.sentences())[-1:])


def parse_number(word: str) -> float | None:
    """Return the number that a word is; None for a word that is none."""
    if not word[0].isdecimal():
        return None
    try:
        return float(word)
    except ValueError:  # a version, a time, a power
        return None

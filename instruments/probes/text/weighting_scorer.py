"""Version 2 of the scorer of the weighting probe: it checks what an answer says of each source, and of which.

Total: (.35 claim + .2 confidence + .2 discounted + claim * .25 evidence) * consistent, each a dimension from 0 to 1:

|dimension|meaning|
|-|-|
|claim, confidence, evidence|as in version 1; evidence counts as far as the claim is right|
|discounted|mean over the poor sources: 1 for discounting it with a reason that is true of it, .25 without|
|consistent|1 minus 0.3 for each contradiction of the sources|

A contradiction is praise of a poor source, a flaw of a good one, a copy turned round, a good source set aside, or one
that is said to show another claim. `Before` and `copies` are reasons only if their object belongs to the dispute.
"""

from typing import NamedTuple

from instruments.probes.probe import Probe
from instruments.probes.score import ProbeScore
from instruments.probes.text.citations import Citation, score_citations
from instruments.probes.text.prose import (
    FUNCTION_WORDS,
    Sentence,
    Status,
    is_keyword_list,
    phrase_spans,
    read_prose,
    read_sentences,
    takes_back,
)
from instruments.probes.text.synonyms import BEFORE_EVENT, COPYING, FLAWS, HEARSAY, PARTISAN, PRAISE, PROMOTIONAL
from instruments.probes.text.tokens import PUNCTUATION, PromptEcho, TokenizedAnswer, phrases_by_first_word, split_words
from instruments.probes.text.weighting_probe import (
    CLAIM,
    CONCLUDING,
    CONSISTENT,
    DISMISSING,
    DISMISSING_WORDS,
    LABELS,
    NEEDED,
    OWN_WORDS_MIN,
    PERCENT,
    REASONS,
    RELIED_SOURCES_MAX,
    SOURCES,
    SURENESS,
    TASK,
    TOGETHER_WORDS,
    WEIGHTS,
    WeightingScorer,
    claim_letters,
    claim_values,
    last_sentence,
    parse_number,
    score_confidence,
    source_citations,
    stated_probability,
)

CONTRADICTION_PENALTY = 0.3
KINDS_MAX = 2
"""If an answer gives more kinds of reasons for one source, it lists reasons, and gives none."""

OBJECT_WORDS = 5
"""So many words after `before` or `copies` are searched for their object."""

UNREASONED = 0.25
"""What it is worth to discount a poor source without a reason that is true of it."""

SPREAD_MAX = 0.3
"""Two probabilities that differ by more are a contradiction."""

REASON_KINDS = {
    1: {"before", "promotional"}, 2: {"copying"}, 3: {"copying"}, 6: {"hearsay", "partisan"},
}  # fmt: skip
"""For each poor source the kinds of reasons that are true of it."""

_reasons = phrases_by_first_word(
    {
        "before": BEFORE_EVENT, "promotional": PROMOTIONAL, "copying": COPYING, "hearsay": HEARSAY,
        "partisan": PARTISAN,
    }
)  # fmt: skip
_both = {"second hand": {"copying", "hearsay"}, "secondhand": {"copying", "hearsay"}}
_biased = {
    "biased": {"promotional", "partisan"},
    "bias": {"promotional", "partisan"},
    "interest": {"promotional", "partisan"},
}
_quality = phrases_by_first_word({"praise": PRAISE, "flaw": FLAWS})
_passive = phrases_by_first_word({"": "copied by|quoted by|cited by|repeated by|reprinted by|echoed by|copied in"})
_taking_object = split_words("before prior ahead preceded preceding predates")
_event = split_words(
    "event events anybody anyone anything happened opened place inauguration ceremony launch count counting "
    "visitors people person fact facts crowd public others official actual real reporting report reports article "
    "newspaper press words wording figure figures claim claims announcement material information statement story "
    "someone somebody nobody day"
)
_known = (
    FUNCTION_WORDS
    | _event
    | frozenset((read_prose(SOURCES) or TokenizedAnswer([], [], [])).words)
    | split_words(f"{BEFORE_EVENT} {PROMOTIONAL} {COPYING} {HEARSAY} {PARTISAN} {FLAWS}".replace("|", " "))
)
"""Words of the dispute. What comes before something else, or copies something else, has no true reason."""

_supporting = split_words(
    "show shows showing prove proves proving confirm confirms confirming say says support supports supporting "
    "indicate indicates demonstrate demonstrates establish establishes mean means report reports count counts counted"
)
_refuting = split_words("worst least false wrong weakest unsupported refuted disproved impossible unlikely opposite")
_unsure = split_words("wrong false not untrue incorrect against mistaken doubt")
_object_before = split_words(
    "of from by as than like on to with copies copied copying repeats repeat repeated quotes quote quoting cites cite"
    " echoes echo repeating which via contradicts after reprints parrots relays that"
)

_ranging = split_words("to through")
_good = frozenset[int]().union(*NEEDED)

_echo = PromptEcho(read_prose(TASK + SOURCES), kept={f"s{number}" for number in range(1, 10)})


class Item(NamedTuple):
    """Sources that a sentence speaks of together, with the words before and after them as a span of the sentence."""

    numbers: frozenset[int]
    sentence: Sentence
    first: int
    last: int
    low: int
    high: int


class WeightingScorer2:
    """Scores an assessment of the sources. It is not valid if it makes no claim and weighs no source."""

    id = "weighting"
    version = "2"

    def score(self, output: str) -> ProbeScore:
        """Score any text; never raises."""
        answer = read_prose(output)
        text = None if answer is None else _echo.without_quotes(answer)
        if answer is None or text is None or _echo.count_words(text) < OWN_WORDS_MIN:
            return ProbeScore(valid=False)
        sections = text.sections(LABELS, once=("evidence", "claim"), after_marks=True)
        claims = _claims(sections.get("claim"), text)
        relied, rejected, contradictions = _weigh(sections.get("evidence"), sections.get("discounted"), text)
        if not claims and not (relied or rejected):
            return ProbeScore(valid=False)
        claim = 1 / len(claims) if CLAIM in claims else 0.0
        sureness = sections.get("confidence") or text.sentences_with(SURENESS)
        probability = _probability(sureness or last_sentence(text.sentences_with(PERCENT)))
        good = {number for number in REASONS if number in rejected.keys() - relied}
        dimensions = {
            "claim": claim,
            "confidence": 0.0 if probability is None else claim * score_confidence(probability),
            "evidence": score_citations(relied - set(rejected), NEEDED, CONSISTENT, RELIED_SOURCES_MAX),
            "discounted": sum(1.0 if rejected[number] else UNREASONED for number in good) / len(REASONS),
        }
        consistent = 0.0 if takes_back(text) else max(0.0, 1.0 - CONTRADICTION_PENALTY * contradictions)
        worth = dimensions | {"evidence": claim * dimensions["evidence"]}
        total = consistent * sum(WEIGHTS[name] * value for name, value in worth.items())
        dimensions["consistent"] = consistent
        return ProbeScore.of_dimensions(total, dimensions, claims_made=len(claims), words=len(answer))


def _claims(section: TokenizedAnswer | None, text: TokenizedAnswer) -> set[str]:
    names = claim_values if section is None else claim_letters
    part = section or text.sentences_with(CONCLUDING) or text
    claims: set[str] = set()
    for sentence in read_sentences(part):
        for mention in names.mentions(sentence.as_answer()):
            if not mention.denied and sentence.asserts(mention.at, mention.end):
                claims.add(mention.name)
            near = sentence.words[max(0, mention.at - 6) : mention.end + 6]
            if mention.name == CLAIM and not _refuting.isdisjoint(near) and section is not None:
                return set()
    return claims


def _weigh(
    evidence: TokenizedAnswer | None, discounted: TokenizedAnswer | None, text: TokenizedAnswer
) -> tuple[set[int], dict[int, bool], int]:
    """Return the sources relied on, the discounted ones with whether a true reason is given, and the contradictions."""
    relied: set[int] = set()
    rejected: dict[int, bool] = {}
    contradictions = 0
    parts = [(evidence, True, False), (discounted, False, True)]
    if evidence is None and discounted is None:
        parts = [(text, False, False)]
    for part, is_evidence, is_discounted in parts:
        for item in _items(part, bare=is_evidence or is_discounted) if part is not None else ():
            wrong = _contradicts(item) or (is_discounted and not item.numbers.isdisjoint(_good))
            contradictions += wrong
            reasoned = {number for number in item.numbers if not wrong and _has_reason(item, number)}
            dismissed = is_discounted or (not is_evidence and _is_dismissed(item))
            for number in item.numbers:
                if dismissed or (not is_evidence and number in reasoned):
                    rejected[number] = rejected.get(number, False) or number in reasoned
                    if wrong and is_discounted:
                        rejected.pop(number)
                elif not _is_dismissed(item) and not _is_denied(item):
                    relied.add(number)
    return relied - (set(rejected) if evidence is None else set()), rejected, contradictions


def _items(part: TokenizedAnswer, *, bare: bool) -> list[Item]:
    """Return what a text says of which sources; a source that only explains another (`a copy of S1`) has no item."""
    items: list[Item] = []
    bare = bare and not source_citations.parse(part)
    for sentence in read_sentences(part):
        groups: list[list[Citation]] = []
        for citation in source_citations.parse(sentence.as_answer(), bare=bare):
            before = sentence.words[citation.at - 1] if citation.at else ""
            near = bool(groups) and citation.at - groups[-1][-1].at <= TOGETHER_WORDS
            if near and before not in _object_before - _ranging:
                groups[-1].append(citation)
            elif before not in _object_before or not groups:
                groups.append([citation])
        for index, group in enumerate(groups):
            low = groups[index - 1][-1].at + 1 if index else 0
            high = groups[index + 1][0].at if index + 1 < len(groups) else len(sentence.words)
            numbers = frozenset(citation.number for citation in group)
            items.append(Item(numbers, sentence, group[0].at, group[-1].at, low, high))
    return items


def _spans(
    item: Item, phrases: dict[str, list[tuple[tuple[str, ...], str]]], status: Status
) -> list[tuple[int, int, str]]:
    """Return the phrases that an item asserts or denies after its sources, or else before them."""
    spans = [span for span in phrase_spans(item.sentence, phrases) if item.sentence.status[span[0]] is status]
    after = [span for span in spans if item.last < span[0] < item.high]
    return after or [span for span in spans if item.low <= span[0] < item.first]


def _has_reason(item: Item, number: int) -> bool:
    words = item.sentence.words
    kinds: list[set[str]] = []
    for start, end, kind in _spans(item, _reasons, Status.ASSERTED):
        phrase = " ".join(words[start:end])
        if (kind == "copying" or words[start] in _taking_object) and not _has_known_object(item.sentence, end):
            continue
        kinds.append(_both.get(phrase) or _biased.get(phrase) or {kind})
    certain = {kind for each in kinds if len(each) == 1 for kind in each}
    if len(certain) > KINDS_MAX or _is_list(item):
        return False
    return any(number in REASON_KINDS and not each.isdisjoint(REASON_KINDS[number]) for each in kinds)


def _has_known_object(sentence: Sentence, end: int) -> bool:
    """Whether one of the next words of content after a phrase is of the dispute, or there is none before a mark."""
    stop = next((at + 1 for at in range(end - 1, len(sentence.words)) if sentence.marks[at] in PUNCTUATION), None)
    following = sentence.words[end : min(end + OBJECT_WORDS, stop or len(sentence.words))]
    content = [word for word in following if word not in FUNCTION_WORDS]
    return not content or not _known.isdisjoint(content)


def _supports_another_claim(item: Item) -> bool:
    """Whether an item says that its sources show the number of another claim: `S4 shows that 1,500 came`."""
    sentence = item.sentence
    values = {
        mention.name
        for mention in claim_values.mentions(sentence.as_answer())
        if item.last < mention.at < item.high
        and not mention.denied
        and sentence.asserts(mention.at, mention.end)
        and sentence.words[mention.at - 1] != "than"
    }
    verbs = [
        at for at in range(item.last, item.high) if sentence.words[at] in _supporting and sentence.asserts(at, at + 1)
    ]
    return bool(values and verbs) and CLAIM not in values


def _is_list(item: Item) -> bool:
    """Whether the words after an item's sources are a list of keywords."""
    after = slice(item.last + 1, item.high)
    words = item.sentence.words[after]
    return bool(words) and is_keyword_list(words, item.sentence.marks[after])


def _contradicts(item: Item) -> bool:
    """Whether an item says of its sources the opposite of what they are."""
    sentence = item.sentence
    praised = any(kind == "praise" for _, _, kind in _spans(item, _quality, Status.ASSERTED))
    flawed = any(kind == "flaw" for _, _, kind in _spans(item, _quality, Status.ASSERTED))
    good, poor = not item.numbers.isdisjoint(_good), not item.numbers.isdisjoint(REASON_KINDS)
    if (good and flawed and not poor) or (poor and praised and not good and not flawed):
        return True
    if good and any(kind == "praise" for _, _, kind in _spans(item, _quality, Status.DENIED)) and not poor:
        return True
    if good and not poor and _supports_another_claim(item):
        return True
    true_kinds = {kind for number in item.numbers for kind in REASON_KINDS.get(number, ())}
    denied = {kind for _, _, kind in _spans(item, _reasons, Status.DENIED)}
    if poor and not good and denied & true_kinds and not flawed and not _spans(item, _reasons, Status.ASSERTED):
        return True
    if item.numbers & {2, 3} and _spans(item, _passive, Status.ASSERTED) and 1 not in item.numbers:
        return True
    if item.numbers == {1}:
        copying = [end for _, end, kind in _spans(item, _reasons, Status.ASSERTED) if kind == "copying"]
        sources = source_citations.parse(sentence.as_answer())
        return any(each.number in {2, 3} and 0 <= each.at - end <= 2 for each in sources for end in copying)
    return False


def _is_dismissed(item: Item) -> bool:
    words = item.sentence.words
    before = words[max(item.low, item.first - DISMISSING_WORDS) : item.first]
    after = [kind for _, _, kind in _spans(item, _quality, Status.ASSERTED)]
    return not DISMISSING.isdisjoint(before) or ("flaw" in after and "praise" not in after)


def _is_denied(item: Item) -> bool:
    """Whether a sentence denies relying on the sources: `neither S4 nor S5`, `all but S4`."""
    before = item.sentence.words[max(0, item.first - 4) : item.first]
    excepted = before[-1:] in (["except"], ["but"]) and not {"all", "every", "any", "everything"}.isdisjoint(before)
    return excepted or item.sentence.denies(item.first, item.first + 1)


def _probability(answer: TokenizedAnswer) -> float | None:
    """Return the stated probability that the claim is true; None if it is denied, or if two contradict each other."""
    if not _unsure.isdisjoint(answer.words):
        return None
    numbers = [parse_number(word) for word in answer.words]
    shares = [
        number / (100 if number > 1 else 1)
        for number, following in zip(numbers, [*answer.words, ""][1:], strict=True)
        if number is not None and (following == "percent" or number <= 1)
    ]
    if shares and max(shares) - min(shares) > SPREAD_MAX:
        return None
    return stated_probability(answer)


WEIGHTING = Probe(
    id="weighting",
    version="1",
    kind="text",
    language=None,
    stimulus=SOURCES,
    prompt=TASK + SOURCES,
    scorer=WeightingScorer2(),
    older_scorers=(WeightingScorer(),),
)

"""The summarising probe: summarise a report within a given length.

Total: kept * faithful * within, each a dimension from 0 to 1:

|dimension|meaning|
|-|-|
|kept|share of the facts that the summary states: their words are near each other and not negated|
|faithful|1 minus 0.3 for each invention: a number or a name that is not in the report, or a reversed fact|
|within|1 up to 105 % of the length, then falling linearly to 0 at 150 %|

Sentences copied from the report are a valid summary, since the length forces a choice.
"""

from math import prod

import msgspec

from instruments.probes.score import ProbeScore
from instruments.probes.text.mentions import denied_before
from instruments.probes.text.tokens import PromptEcho, TokenizedAnswer, split_words

LENGTH_WORDS = 80
LENGTH_RATIO_FREE = 1.05
"""Up to this ratio to the length, `within` is 1: editors count hyphenated words differently."""

LENGTH_RATIO_MAX = 1.5
"""At this ratio to the length the dimension `within` is 0."""

WORDS_MIN = 8
TOPIC_WORDS_MIN = 2
"""An answer with fewer words of the topic is about something else, and not valid."""

ECHO_SHARE_MAX = 0.5
"""If an answer repeats more than this share of the report, its quotations are removed."""

INVENTION_PENALTY = 0.3

REPORT = """\
The Halm Bridge, which carries 41,000 vehicles a day over the Orrin estuary, has been closed to all traffic since 14
June. During a routine inspection, engineers found cracks in 9 of its 64 hangers. Nobody was hurt, and at no time
was the bridge in danger of falling, the county says. Many residents had suspected the heavy lorries that use the
bridge since the port was extended. The investigation came to another result: the cracks go back to faulty welds
made when the hangers were replaced in 1987; the load has always stayed below what the bridge was designed for. All
64 hangers will now be exchanged, not only those that are cracked, because the others were welded by the same
method. The work costs 8.4 million. Two thirds are paid by the county and one third by the port. Cyclists and
pedestrians may cross again from 3 August; cars and lorries will have to wait until 30 November. Until then drivers
take the tunnel at Sund, a detour of 26 minutes on average. A free ferry runs every 20 minutes between the two
banks; it takes 150 passengers and no cars. Shopkeepers on the west bank report that sales have fallen by 35 percent
and ask for compensation, on which the county council votes on 12 September. The summer fair, which is usually held
on the bridge, moves to the old harbour, where the brass band plays on Sunday at 11.
"""

TASK = f"""\
Summarise the report below for somebody who has to plan around it, in at most {LENGTH_WORDS} words of plain
text: what happened and why, what is done about it and who pays, and what holds until when. Keep to what the
report says; leave out what does not matter. Give the summary alone.

The report:

"""

Groups = tuple[frozenset[str], ...]


class KeyFact(msgspec.Struct, frozen=True):
    """A fact: a word of each group, none negated, at most `within` words from a word of the first group."""

    groups: Groups
    within: int = 6
    in_order: bool = False
    """Whether the other words must come after the first."""


def _fact(*groups: str, within: int = 6, in_order: bool = False) -> KeyFact:
    return KeyFact(tuple(map(split_words, groups)), within, in_order)


_CLOSED = "closed closure closing close closes shut"

FACTS = {
    "closed since 14 June": _fact("14", "june", _CLOSED, within=9),
    "cracks in the hangers": _fact("cracks cracked cracking crack", "hangers hanger", within=9),
    "faulty welds of 1987": _fact("welds weld welding welded", "1987 faulty defective bad poor flawed", within=8),
    "all hangers exchanged": _fact(
        "hangers hanger", "exchanged exchange replaced replace replacing replacement", "all 64 every", within=8
    ),
    "costs 8.4 million": _fact("8.4", "million m"),
    "county two thirds, port one": _fact("county", "port", "thirds third 67 66 33 1", within=14),
    "cyclists and walkers from 3 August": _fact(
        "august", "3", "cyclists cyclist bikes bicycles cycling pedestrians walkers foot", within=6
    ),
    "cars from 30 November": _fact(
        "november",
        "30",
        "cars car vehicles lorries motor motorists drivers traffic wait fully reopen reopens",
        within=8,
    ),
    "detour or ferry": _fact("detour tunnel ferry", "26 free sund", within=8),
}
"""The facts that a summary must keep."""

REVERSALS = {
    "the lorries did it": _fact(
        "caused due because blame blamed", "lorries lorry overload overloading", within=4, in_order=True
    ),
    "lorries caused it": _fact("lorries lorry overload overloading", "caused damaged cracked", within=3, in_order=True),
    "people were hurt": _fact("injured injuries hurt dead killed died", "people were several some persons", within=4),
    "it nearly fell": _fact(
        "collapse collapsed collapsing", "near nearly almost risk danger imminent feared", within=5
    ),
    "the port pays most": _fact("port", "two", "thirds", within=4, in_order=True),
    "cars in August": _fact("cars lorries", "august", within=4, in_order=True),
    "only the cracked ones": _fact("only", "cracked", within=4, in_order=True),
}
"""Statements that contradict the report."""

TOPIC = split_words(
    "bridge halm orrin estuary hangers hanger cracks welds county port ferry tunnel detour cyclists closed reopens"
)
DERIVED = split_words("5.6 2.8 67 66 33 66.7 33.3 55 100")
"""Numbers that can be calculated from those of the report."""

NAMING = split_words(
    "in at by of from with near between mayor minister engineer mr mrs ms dr professor director called named"
)
"""Words after which a word with a capital is a name."""

_report = TokenizedAnswer.of(REPORT)
assert _report is not None, "the report is shorter than an answer may be"
_report_words = frozenset(_report.words) | DERIVED
_task_echo, _report_echo = PromptEcho(TokenizedAnswer.of(TASK)), PromptEcho(_report)


class SummarisingScorer:
    """Scores a summary of the report. An answer about something else, or a copy of the prompt, is not valid."""

    id = "summarising"
    version = "1"

    def score(self, output: str) -> ProbeScore:
        """Score any text; never raises."""
        answer = TokenizedAnswer.of(output)
        if answer is None:
            return ProbeScore(valid=False)
        text = _task_echo.without_quotes(answer)
        if _report_echo.repeated_share(text) > ECHO_SHARE_MAX:
            text = _report_echo.without_quotes(text)
        if len(text) < WORDS_MIN or len(TOPIC.intersection(text.words)) < TOPIC_WORDS_MIN:
            return ProbeScore(valid=False)
        kept = sum(_states(fact, text) for fact in FACTS.values())
        invented = count_inventions(text) + sum(_states(fact, text) for fact in REVERSALS.values())
        dimensions = {
            "kept": kept / len(FACTS),
            "faithful": max(0.0, 1.0 - INVENTION_PENALTY * invented),
            "within": score_length(len(answer) / LENGTH_WORDS),
        }
        return ProbeScore.of_dimensions(prod(dimensions.values()), dimensions, inventions=invented, words=len(answer))


def score_length(ratio: float) -> float:
    """Return the dimension `within` for the ratio of a summary's length to the requested one."""
    if ratio <= LENGTH_RATIO_FREE:
        return 1.0
    return max(0.0, (LENGTH_RATIO_MAX - ratio) / (LENGTH_RATIO_MAX - LENGTH_RATIO_FREE))


def _states(fact: KeyFact, answer: TokenizedAnswer) -> bool:
    first, others = fact.groups[0], fact.groups[1:]
    for index in [index for index, word in enumerate(answer.words) if word in first]:
        if denied_before(answer, index):
            continue
        near = range(index if fact.in_order else max(0, index - fact.within), min(len(answer), index + fact.within + 1))
        if all(any(answer.words[at] in group and not denied_before(answer, at) for at in near) for group in others):
            return True
    return False


def count_inventions(answer: TokenizedAnswer) -> int:
    """Count the different numbers of two or more digits, and the names, that are not in the report."""
    numbers = {word for word in answer.words if word[0].isdigit() and len(word) > 1 and word not in _report_words}
    if 2 * sum(answer.capitals) > len(answer):
        return len(numbers)
    names = {
        word
        for index, word in enumerate(answer.words)
        if index and answer.capitals[index] and word not in _report_words and not word[0].isdigit()
        if answer.marks[index - 1] == "" and answer.words[index - 1] in NAMING and not answer.capitals[index - 1]
    }
    return len(numbers) + len(names)

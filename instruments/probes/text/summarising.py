"""summarising: a report and a length. What is kept, what is invented, and is it as short as asked?

Total: kept * faithful * within. Each is a dimension, 0..1:

|dimension|what it is|
|-|-|
|kept|how many of the facts are told, each as its words stand near one another and are not negated|
|faithful|1, less 0.3 for each invention: a number or a name that is not in the report, or a fact turned round|
|within|1 up to the length and a margin of 5 %, then falling to 0 at one and a half times the length|

An extract in the report's own sentences is a summary, too: the length is what makes it choose.
"""

import msgspec

from instruments.probes.probe import Probe
from instruments.probes.score import ProbeScore
from instruments.probes.text.mentions import denied_before
from instruments.probes.text.tokens import PromptEcho, TokenizedAnswer, words

LENGTH_WORDS = 80
MARGIN = 1.05
"""Words are counted without hyphens, and editors do not agree how many there are."""

FAR = 1.5
"""At so many times the length nothing is left of a summary's brevity."""

WORDS_MIN = 8
TOPIC_MIN = 2
"""An answer that holds fewer words of the topic is about something else."""

ECHOED = 0.5
"""An answer that repeats more of the prompt than this share hands it back."""

INVENTION = 0.3

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
    """Something told: a word of each group, none negated, at most `within` words from one of the first group."""

    groups: Groups
    within: int = 6
    behind: bool = False
    """Whether the others have to stand behind the first."""


def _fact(*groups: str, within: int = 6, behind: bool = False) -> KeyFact:
    return KeyFact(tuple(map(words, groups)), within, behind)


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
"""What a summary has to keep."""

REVERSALS = {
    "the lorries did it": _fact(
        "caused due because blame blamed", "lorries lorry overload overloading", within=4, behind=True
    ),
    "lorries caused it": _fact("lorries lorry overload overloading", "caused damaged cracked", within=3, behind=True),
    "people were hurt": _fact("injured injuries hurt dead killed died", "people were several some persons", within=4),
    "it nearly fell": _fact(
        "collapse collapsed collapsing", "near nearly almost risk danger imminent feared", within=5
    ),
    "the port pays most": _fact("port", "two", "thirds", within=4, behind=True),
    "cars in August": _fact("cars lorries", "august", within=4, behind=True),
    "only the cracked ones": _fact("only", "cracked", within=4, behind=True),
}
"""What the report denies, or says of something else."""

TOPIC = words(
    "bridge halm orrin estuary hangers hanger cracks welds county port ferry tunnel detour cyclists closed reopens"
)
DERIVED = words("5.6 2.8 67 66 33 66.7 33.3 55 100")
"""Numbers that follow from those of the report."""

NAMING = words(
    "in at by of from with near between mayor minister engineer mr mrs ms dr professor director called named"
)
"""Words behind which a capital begins a name."""

_report = TokenizedAnswer.of(REPORT)
assert _report is not None, "the report is shorter than an answer may be"
_known = frozenset(_report.words) | DERIVED
_task, _source = PromptEcho(TASK), PromptEcho(REPORT)


class SummarisingScorer:
    """Reads a summary of the report. No answer: one that is about something else, or hands the prompt back."""

    id = "summarising"
    version = "1"

    def score(self, output: str) -> ProbeScore:
        """The score of any text whatever."""
        whole = TokenizedAnswer.of(output)
        if whole is None:
            return ProbeScore(valid=False)
        own = _task.own(whole)
        if _source.share(own) > ECHOED:
            own = _source.own(own)
        if len(own) < WORDS_MIN or len(TOPIC.intersection(own.words)) < TOPIC_MIN:
            return ProbeScore(valid=False)
        kept = sum(_told(fact, own) for fact in FACTS.values())
        invented = _inventions(own) + sum(_told(fact, own) for fact in REVERSALS.values())
        length = len(whole) / LENGTH_WORDS
        dimensions = {
            "kept": kept / len(FACTS),
            "faithful": max(0.0, 1.0 - INVENTION * invented),
            "within": 1.0 if length <= MARGIN else max(0.0, (FAR - length) / (FAR - MARGIN)),
        }
        return ProbeScore(
            valid=True,
            total=round(dimensions["kept"] * dimensions["faithful"] * dimensions["within"], 6),
            dimensions={name: round(value, 6) for name, value in dimensions.items()},
            apart={"inventions": invented, "words": len(whole)},
        )


def _told(fact: KeyFact, reading: TokenizedAnswer) -> bool:
    first, others = fact.groups[0], fact.groups[1:]
    for place in [place for place, word in enumerate(reading.words) if word in first]:
        if denied_before(reading, place):
            continue
        near = range(place if fact.behind else max(0, place - fact.within), min(len(reading), place + fact.within + 1))
        if all(any(reading.words[at] in group and not denied_before(reading, at) for at in near) for group in others):
            return True
    return False


def _inventions(reading: TokenizedAnswer) -> int:
    """Different numbers of two digits or more, and names, that the report does not hold."""
    numbers = {word for word in reading.words if word[0].isdigit() and len(word) > 1 and word not in _known}
    if 2 * sum(reading.capitals) > len(reading):
        return len(numbers)
    names = {
        word
        for place, word in enumerate(reading.words)
        if place and reading.capitals[place] and word not in _known and not word[0].isdigit()
        if reading.marks[place - 1] == "" and reading.words[place - 1] in NAMING and not reading.capitals[place - 1]
    }
    return len(numbers) + len(names)


SUMMARISING = Probe(
    id="summarising",
    version="1",
    kind="text",
    language=None,
    stimulus=REPORT,
    prompt=TASK + REPORT,
    scorer=SummarisingScorer(),
)

"""What a summary of the report must keep, and what would contradict the report, as phrases near each other."""

import msgspec

from instruments.probes.text.synonyms import (
    BLAME_WORDS,
    CLOSED,
    CRACKS,
    DETOUR,
    EVERY,
    FAULTY,
    HANGERS,
    LORRIES,
    MONEY,
    OTHER_DAMAGE,
    REPLACED,
    SUSPECTED,
    WELDS,
)
from instruments.probes.text.tokens import Phrases, phrases_by_first_word

OPENING = "14 june|june 14|14th june|14th of june|june 14th|14 of june|june the 14th"
AUGUST = "3 august|august 3|3rd august|3rd of august|august 3rd|third of august|early august|3 aug|aug 3"
NOVEMBER = (
    "30 november|november 30|30th november|30th of november|november 30th|end of november|late november|30 nov|nov 30"
)


class Claim(msgspec.Struct, frozen=True):
    """Words near each other: a phrase of each group, at most `within` words from a phrase of the first group.

    `unless` are phrases that end the claim where they occur in its sentence.
    """

    groups: tuple[Phrases, ...]
    within: int
    in_order: bool
    """Whether the other phrases come after the first."""
    unless: Phrases
    by_denial: bool
    """Whether denying it contradicts the report."""


def _claim(*groups: str, within: int = 10, in_order: bool = False, unless: str = "", by_denial: bool = False) -> Claim:
    phrases = tuple(phrases_by_first_word({"": group}) for group in groups)
    return Claim(phrases, within, in_order, phrases_by_first_word({"": unless}) if unless else {}, by_denial)


_NOT_ALL = "few of|all but|not all|hardly any|most of|some of|almost all|half of"
_ONLY_CRACKED = (
    "only the cracked|only cracked|only 9|only nine|only the nine|only those|just the cracked|just 9|just nine"
)

FACTS = {
    "closed since 14 June": _claim(
        CLOSED, OPENING, within=14, unless="until 14 june|reopened|till 14 june|before 14 june", by_denial=True
    ),
    "cracks in the hangers": _claim(CRACKS, HANGERS),
    "faulty welds of 1987": _claim(WELDS, FAULTY, within=8, by_denial=True),
    "all hangers exchanged": _claim(HANGERS, REPLACED, EVERY, unless=f"{_ONLY_CRACKED}|{_NOT_ALL}", by_denial=True),
    "costs 8.4 million": _claim(MONEY, by_denial=True),
    "detour or ferry": _claim(DETOUR, "26|free|sund|twenty six|no charge|free of charge", by_denial=True),
}
"""The facts that a summary must keep, besides the pairs of payers and shares, and of road users and days."""

CONTRADICTIONS = {
    "lorries caused it": _claim(BLAME_WORDS, LORRIES, within=5, in_order=True, unless=SUSPECTED),
    "lorries did it": _claim(
        LORRIES,
        "caused|damaged|cracked|broke|to blame|responsible|cause|at fault|ruined|tore|weakened|strained|overstrained|"
        "wore|bent|harmed|destroyed|left cracks|made cracks|put cracks",
        within=6, in_order=True, unless=SUSPECTED,
    ),
    "the load was too high": _claim(
        "load|loads|weight", "exceeded|exceeds|above|over|too high|too heavy|beyond",
        within=6, in_order=True, unless=SUSPECTED,
    ),
    "people were hurt": _claim(
        "injured|injuries|hurt|dead|killed|died|casualties|victims|killing|injuring|kills|fatalities",
        "people|were|was|several|some|persons|many|person|there|forty|dozens|hundreds|workers|drivers|"
        "worker|driver|man|woman|child", within=6,
    ),
    "it fell": _claim("collapsed|collapses|caved in|fell down|fell into", "bridge|halm|span|deck", within=6),
    "something else did it": _claim(OTHER_DAMAGE),
    "it nearly fell": _claim(
        "collapse|collapsed|collapsing|fall|falling|fell",
        "near|nearly|almost|risk|danger|imminent|feared|about to|into", within=6,
    ),
    "only the cracked ones": _claim(
        f"{_ONLY_CRACKED}|only the damaged|only the faulty|none but the cracked", REPLACED,
        within=12, unless="not only|not just",
    ),
    "hangers are kept": _claim(
        HANGERS, "stay in place|are kept|be kept|remain in place|stay as they are|left as they are|are fine", within=8
    ),
    "sound welds": _claim(WELDS, "sound|flawless|perfect|good|excellent|faultless|impeccable|strong", within=7),
    "no faulty welds": _claim(
        WELDS, "fault|faults|faulty|flaw|flaws|defect|defects|defective|bad|poor", within=5, by_denial=True
    ),
    "open again": _claim(
        "reopened|open again|opened again", "yesterday|already|today|now|long ago|in july|last week", within=6
    ),
    "only some hangers": _claim(_NOT_ALL, HANGERS, REPLACED, within=8, in_order=True),
    "open since": _claim("open|opened|reopened", OPENING, within=6),
    "closed until June": _claim(CLOSED, "until 14 june|till 14 june|before 14 june|until june 14", within=8),
    "closed from November": _claim(
        CLOSED,
        "since 30 november|on 30 november|from 30 november|since 3 august|on 3 august|from 3 august|since november 30|"
        "on november 30|from november 30|since august 3|on august 3|from august 3|since 12 september|on 12 september",
        within=4, in_order=True,
    ),
    "the ferry takes cars": _claim(
        "ferry", "takes|transports|for|takes all|with", "cars|vehicles|lorries|car", within=5, in_order=True
    ),
    "the ferry is not free": _claim(
        "ferry|ferries", "paid|toll|charges|fee|ticket|expensive|costs", within=5, unless="nothing"
    ),
    "the tunnel is shorter": _claim(
        "tunnel|detour", "saves|faster|quicker|shorter|saving|closed|shut", within=6, in_order=True
    ),
    "no cracks": _claim(
        "cracks|crack|damage", "engineers|inspection|hangers|found", within=8, unless="other|others|uncracked",
        by_denial=True,
    ),
}  # fmt: skip
"""Statements that contradict the report; `no cracks` does so by its denial only."""

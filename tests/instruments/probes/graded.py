"""Answers to the probes of text, each graded by a person, best first, with the figures that a scorer must find."""

from typing import NamedTuple

from instruments.probes.text.debugging_probe import TASK as DEBUGGING_TASK
from instruments.probes.text.debugging_probe import TIMELINE
from instruments.probes.text.summarising_probe import REPORT
from instruments.probes.text.summarising_probe import TASK as SUMMARISING_TASK
from instruments.probes.text.weighting_probe import SOURCES
from instruments.probes.text.weighting_probe import TASK as WEIGHTING_TASK


class Graded(NamedTuple):
    """An answer, and what it is worth: each dimension, and the total."""

    name: str
    answer: str
    dimensions: tuple[float, ...]
    total: float


_POOL = "change 4417 cut the connection pool of inv-1 and inv-2 from 50 to 5, so requests queued until they timed out"

DEBUGGING = [
    Graded(
        "in the form asked for",
        f"CAUSE: {_POOL}.\nEVIDENCE: L07, L09, L12\n"
        "REJECTED: cache restart (L03); campaign (L05); release 88 (L17); payment provider (L18); backup (L10)\n"
        "FIX: Revert change 4417; validate pool sizes before they are rolled out.",
        (1, 1, 1, 1), 1,
    ),
    Graded(
        "the same under headings and bullets, without a colon",
        "## Root cause\nThe connection pool on inv-1 and inv-2 shrank from 50 to 5\n\n## Evidence\n- "
        "L07\n- L09\n- L12\n\n"
        "## Rejected suspects\n- **Cache**: back at 97 % (L03)\n- **Campaign**: less traffic than on Monday (L05)\n"
        "- **Release 88**: no change after the rollback (L16-L17)\n- **Payment provider**: none came so far (L18)\n"
        "- **Backup**: the database was idle (L10)\n\n## Fix\nSet `pool_max` back to 50; add an alert on "
        "waiting requests\n",
        (1, 1, 1, 1), 1,
    ),
    Graded(
        "the same as a numbered list, by numbers of lines",
        "1. CAUSE: `pool_max` was lowered to 5 by change 4417.\n2. EVIDENCE: lines 7, 9 and 12\n3. "
        "REJECTED: cache (line 3); "
        "campaign (line 5); release (line 17); payment (line 18); backup (line 10)\n4. FIX: revert it to "
        "50, and validate.",
        (1, 1, 1, 1), 1,
    ),
    Graded(
        "prose that denies before and behind",
        "The root cause is change 4417: it reduced the connection pool to 5 on two hosts (L07), where 38 requests were "
        "waiting (L09), while inv-3 had none (L12). The cache is not the cause, it had recovered (L03). "
        "The campaign can "
        "be ruled out, since traffic was below Monday's (L05). Neither release 88 (L17) nor the payment "
        "provider (L18) is "
        "to blame. Restore the pool to 50, and add an alert on waiting requests.",
        (1, 1, 0.8, 1), 0.96,
    ),
    Graded(
        "JSON, two suspects rejected",
        '{"cause": "change 4417 lowered pool_max from 50 to 5", "evidence": ["L07", "L09", "L12"], "rejected": '
        '[{"suspect": "cache", "line": "L03"}, {"suspect": "campaign", "line": "L05"}], '
        '"fix": "restore pool_max to 50 and review such changes"}',
        (1, 1, 0.4, 1), 0.88,
    ),
    Graded(
        "right, by the times of the lines, and nothing more",
        f"CAUSE: {_POOL}\nEVIDENCE: 13:47, 13:53 and 13:57\nREJECTED: -\nFIX: restart the hosts",
        (1, 1, 0, 0), 0.65,
    ),
    Graded(
        "prose without a line, and a guess at the fix",
        "The release went out at 14:02, but errors had begun before, so it cannot be responsible. The "
        "payment provider was "
        "slow; no failed checkout got that far. I believe the culprit is the config push: the pool "
        "dropped from 50 to 5, "
        "and inv-1 had 5 of 5 connections in use. To fix it, restore the pool.",
        (1, 0, 0.2, 0.7), 0.545,
    ),
    Graded(
        "right in kind",
        "CAUSE: a configuration change\nEVIDENCE: L06\nREJECTED: release 88 (L17)\nFIX: revert the configuration",
        (0.3, 0.5, 0.2, 0.7), 0.39,
    ),
    Graded(
        "right, and the campaign with it",
        f"CAUSE: {_POOL}, which the traffic spike of the campaign made worse\nEVIDENCE: L04, L05, L07\n"
        "REJECTED: cache (L02)\nFIX: add hosts, and slow the campaign down",
        (0.5, 0.333333, 0.1, 0), 0.303333,
    ),
    Graded(
        "every suspect is the cause, every line the proof",
        "CAUSE: cache, campaign, release 88, payment provider, backup and the pool of 5\nEVIDENCE: L01-L21\n"
        "REJECTED: cache; campaign; release 88; payment provider; backup\n"
        "FIX: set the pool to 50, restart the cache, roll back release 88, stop the campaign and the "
        "backup, add alerts",
        (0.166667, 0, 0, 0.2), 0.096667,
    ),
    Graded(
        "wrong, though it names the pool to deny it",
        "CAUSE: release 88, not the connection pool of 5\nEVIDENCE: L13, L14\nREJECTED: cache (L03); campaign (L05)\n"
        "FIX: roll back release 88",
        (0, 0, 0.4, 0), 0.08,
    ),
    Graded(
        "names nothing but what it was not",
        "CAUSE: not the cache\nEVIDENCE: L03\nREJECTED: cache\nFIX: none",
        (0, 0, 0.1, 0), 0.02,
    ),
]  # fmt: skip

_HALM = (
    "The Halm Bridge has been closed since 14 June after engineers found cracks in its hangers, caused by "
    "faulty welds of "
    "1987, not by lorries. "
)
_REST = (
    "All 64 hangers will be exchanged for 8.4 million; the county pays two thirds, the port one third. Cyclists and "
    "pedestrians may cross from 3 August, cars from 30 November. Until then: the tunnel at Sund, 26 "
    "minutes longer, or a "
    "free ferry for passengers."
)
_FILL = (
    " It should be added that all of this matters a great deal to everybody who lives nearby, since plans "
    "that are made in"
    " good time are the better ones, and nobody likes to be late."
)

SUMMARISING = [
    Graded("everything, in 70 words", _HALM + _REST, (1, 1, 1), 1),
    Graded(
        "notes that say the same",
        "- **Closed** since 14 June (cracked hangers)\n- Cause: bad welds, 1987\n- All hangers replaced: "
        "8.4m (county 2/3, "
        "port 1/3)\n- Bikes 3 August, cars 30 November\n- Detour through the tunnel: 26 min",
        (1, 1, 1), 1,
    ),
    Graded(
        "everything, twelve words too long",
        _HALM + _REST + " ".join(_FILL.split(" ")[:24]) + ".",
        (1, 1, 0.75), 0.75,
    ),
    Graded(
        "its own sentences, some of them",
        "The cracks go back to faulty welds made when the hangers were replaced in 1987. All 64 hangers will now be "
        "exchanged. The work costs 8.4 million. Cyclists and pedestrians may cross again from 3 August; "
        "cars and lorries "
        "will have to wait until 30 November.",
        (0.666667, 1, 1), 0.666667,
    ),
    Graded("less than half of it", _HALM + "Use the ferry, which is free, and be patient.", (0.444444, 1, 1), 0.444444),
    Graded("everything, half as long again", _HALM + _REST + _FILL, (1, 1, 0.416667), 0.416667),
    Graded(
        "all there but two inventions",
        _HALM + _REST.replace("8.4", "9.2").replace("free ferry", "free ferry by Kowalski"),
        (0.888889, 0.4, 1), 0.355556,
    ),
    Graded(
        "little",
        "The Halm Bridge is closed because cracks were found in the hangers. Cars can use it again on 30 November.",
        (0.222222, 1, 1), 0.222222,
    ),
    Graded(
        "the right days for the wrong things",
        "The bridge at Halm closed on 30 November; cars return on 3 August and cyclists on 14 June, all "
        "due to lorries.",
        (0.222222, 0.4, 1), 0.088889,
    ),
    Graded(
        "what the report denies",
        "The Halm Bridge has been closed since 14 June: overloading lorries caused cracks in its hangers, "
        "several people "
        "were hurt, and only the cracked hangers are exchanged. The port pays two thirds.",
        (0.222222, 0, 1), 0,
    ),
    Graded(
        "a list of its words",
        " ".join(sorted({word.strip(".,;").lower() for word in REPORT.split()})),
        (0.111111, 1, 0), 0,
    ),
]  # fmt: skip

WEIGHTING = [
    Graded(
        "in the form asked for",
        "CLAIM: Q\nCONFIDENCE: 90%\nEVIDENCE: S4, S5\nDISCOUNTED: S1, written before the opening; S2 and "
        "S3, copies of S1; "
        "S6, hearsay from a friend; S9, a guess",
        (1, 1, 1, 1), 1,
    ),
    Graded(
        "under headings, out of ten",
        "## Claim\n**Q** (about 900)\n## Confidence\n9/10\n## Evidence\n- S4\n- S5\n- S7 fits\n## "
        "Discounted\n- S1: announced "
        "before the day\n- S2: verbatim copy\n- S3: quotes S2\n- S6: was abroad",
        (1, 1, 1, 1), 1,
    ),
    Graded(
        "prose with a range",
        "About 900 is best supported. The tested counter (S4) and the tally of the warden (S5) agree and "
        "know nothing of each "
        "other. S1 was issued before the opening, S2 and S3 merely repeat it, and S6 is hearsay. I am 80 "
        "to 90 percent sure.",
        (1, 1, 1, 1), 1,
    ),
    Graded(
        "prose with another percentage before the one that counts",
        "The counter (S4) and the warden (S5) are independent and agree within 3%. S1, S2 and S3 all "
        "trace back to a single "
        "release that was sent before the event. S6 was not there. So claim Q is best supported; I would "
        "put it at 95%.",
        (1, 1, 1, 1), 1,
    ),
    Graded(
        "JSON, two sources set aside",
        '{"claim": "Q", "confidence": 0.9, "evidence": ["S4", "S5"], "discounted": [{"source": "S1", '
        '"reason": "sent before'
        ' the event"}, {"source": "S2", "reason": "copies S1"}]}',
        (1, 1, 1, 0.5), 0.9,
    ),
    Graded(
        "certain, and without a reason",
        "CLAIM: Q\nCONFIDENCE: 100%\nEVIDENCE: S4, S5\nDISCOUNTED: S1, S2, S3, S6",
        (1, 0.4, 1, 0.5), 0.78,
    ),
    Graded(
        "right by one source, and unsure",
        "CLAIM: Q\nCONFIDENCE: 45%\nEVIDENCE: S4",
        (1, 0.125, 0.666667, 0), 0.541667,
    ),
    Graded(
        "right by the wrong sources, and says nothing of its confidence",
        "CLAIM: Q, the middle of all of them\nEVIDENCE: S1, S6, S9",
        (1, 0, 0, 0), 0.35,
    ),
    Graded(
        "every claim, every source for it and against it",
        "CLAIM: P, Q or R\nCONFIDENCE: 90%\nEVIDENCE: S1 to S9\nDISCOUNTED: S1 to S9",
        (0.333333, 0.333333, 0, 0), 0.183333,
    ),
    Graded(
        "counts heads",
        "CLAIM: R\nCONFIDENCE: 90%\nEVIDENCE: S1, S2, S3\nDISCOUNTED: S4, S5 and S6, a minority",
        (0, 0, 0, 0.125), 0.025,
    ),
    Graded("names the right claim to deny it", "CLAIM: not Q but R\nCONFIDENCE: high\nEVIDENCE: S1", (0, 0, 0, 0), 0),
]  # fmt: skip

GRADED = {"debugging": DEBUGGING, "summarising": SUMMARISING, "weighting": WEIGHTING}

NO_ANSWERS = {
    "debugging": ["Caches make reads fast, because memory is fast.", TIMELINE, DEBUGGING_TASK + TIMELINE],
    "summarising": [
        "I like bridges a lot; they are useful to people who have to cross a river on their way to work.",
        REPORT,
        SUMMARISING_TASK + REPORT,
        "Bridge closed.",
    ],
    "weighting": ["That is for historians to say, and I would not presume.", SOURCES, WEIGHTING_TASK + SOURCES],
}
"""Texts that do not answer the probe, by probe."""

NEVER = ["", " \n\t", "***", "I am sorry, but I cannot help with that.", "word " * 10_000, "```\n```"]
"""Texts that do not answer any probe."""

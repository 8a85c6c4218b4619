"""The debugging probe: find the root cause in the timeline of an incident, and the evidence for it.

Total: .4 cause + .25 evidence + .2 rejection + .15 fix, each a dimension from 0 to 1:

|dimension|meaning|
|-|-|
|cause|.6 for the component (.3 if only its kind is named) + .4 for what happened to it; divided by the suspects blamed|
|evidence|harmonic mean of precision (cited lines that are evidence) and recall (needed lines that are cited)|
|rejection|mean over the other suspects: half for rejecting it, half for a line that clears it (at most four cited)|
|fix|.7 for undoing the cause + .3 for a safeguard; divided by 1 + the other suspects that it treats|

A suspect that is blamed is not scored as rejected, and the cause is not scored as blamed if it is rejected. In an
answer without labels, sentences about causes name the blamed suspects, and a denied suspect is rejected.
"""

from collections.abc import Mapping

import msgspec

from instruments.probes.score import ProbeScore
from instruments.probes.text.citations import CitationParser, cited_beside, score_citations
from instruments.probes.text.mentions import Lexicon, denied_before
from instruments.probes.text.tokens import PromptEcho, TokenizedAnswer, split_words

OWN_WORDS_MIN = 3
CLEARING_LINES_MAX = 4
"""If more lines are cited for one suspect, none of them clears it."""

EVIDENCE_LINES_MAX = 10
"""If more lines are cited as evidence, the dimension is 0."""

FIX_WORDS = 8
"""The longest distance from the verb of a fix to its object."""

TIMELINE = """\
L01 09:10 database: the delayed nightly backup of the orders begins
L02 13:20 cache: both nodes are restarted for a kernel patch; hit rate 41 %
L03 13:29 cache: hit rate 97 %, and it stays there for the rest of the day
L04 13:40 marketing: the autumn campaign is mailed to 210,000 subscribers
L05 13:44 front page: 310 requests/s (last Monday, a day without errors: 335)
L06 13:46 configuration: change 4417 goes to inventory hosts inv-1, inv-2; inv-3, out of reach, keeps what it has
L07 13:47 inv-1, inv-2: settings reloaded, pool_max 50 -> 5
L08 13:51 checkout: the first 504 from inventory
L09 13:53 inv-1: 5 of 5 connections in use, 38 requests waiting, the oldest for 2.9 s
L10 13:54 orders database: 14 of 400 connections open, CPU 6 %, mean query 4 ms
L11 13:55 alert: 31 % of checkouts fail
L12 13:57 inv-3: nothing waits, not one 504 today; it takes a third of the requests
L13 14:02 checkout: release 88 goes out as planned, with a new text of the receipt
L14 14:04 checkout: 32 % fail
L15 14:08 status page of the payment provider: card confirmations are slow, p95 3.1 s
L16 14:09 checkout: release 88 is rolled back
L17 14:12 checkout: 32 % fail
L18 14:16 checkout: of those that failed, none had come as far as the payment
L19 14:18 database: the backup ends
L20 14:21 checkout: 33 % fail
L21 14:25 inv-1 is restarted; a minute later 41 requests are waiting there
"""

TASK = """\
Below is the timeline of an incident in a ticket shop. Several things happened that afternoon. One of them is the root
cause of the checkouts that failed; the others only look as if they were.

Answer in this form, each part once, in plain words:

CAUSE: the one root cause, what it was and what it did, in one or two sentences
EVIDENCE: the fewest lines that together prove it, by their numbers
REJECTED: each of the other suspects with the line that clears it, as: suspect (line); suspect (line)
FIX: what to change now, and what would keep it from happening again

The timeline:

"""


class SuspectCause(msgspec.Struct, frozen=True):
    """A possible cause: the phrases that name it, separated by `|`, and the lines that clear it."""

    names: str
    also: str = ""
    """Phrases that name it only in the section of rejected suspects."""
    clearing: frozenset[int] = frozenset()
    """The lines that clear it; one of them is enough."""


CAUSE = "pool"

SUSPECTS: Mapping[str, SuspectCause] = {
    CAUSE: SuspectCause(
        "pool|pools|pooling|connection pool|connections pool|4417|database connection pool|"
        "database connections|database pool|connection limit|"
        "connections limit|max connections|config|configs|configuration|configurations|settings|config deploy|"
        "config deployment|config rollout|configuration deploy|configuration deployment|configuration rollout|"
        "deploy of change|deployment of change|rollout of change|deploy of 4417|deployment of 4417|rollout of 4417|"
        "deployment of configuration|rollout of configuration|deployment of the configuration"
    ),
    "cache": SuspectCause("cache|caches|caching|cached", clearing=frozenset((3,))),
    "campaign": SuspectCause(
        "campaign|mailing|newsletter|subscribers|traffic spike|spike in traffic|spikes in traffic|traffic surge|"
        "surge in traffic|surge of traffic|load spike|traffic peak|increased traffic|higher traffic|heavy traffic|"
        "extra traffic|marketing",
        also="traffic|load|mail|visitors",
        clearing=frozenset((5,)),
    ),
    "release": SuspectCause(
        "88|release|release 88|releases|deploy|deployment|rollout|code change|new code",
        clearing=frozenset((8, 11, 13, 16, 17)),
    ),
    "payment": SuspectCause(
        "payment|payments|payment provider|card|cards", also="provider", clearing=frozenset((18, 8))
    ),
    "backup": SuspectCause(
        "backup|backups|slow database|database overload|overloaded database|database load|slow queries|slow query",
        also="database|databases|orders|query|queries",
        clearing=frozenset((10, 19, 20)),
    ),
}

UNSUSPICIOUS = (
    "payment step|payment stage|before payment|before the payment|reach payment|reached payment|reached the payment|"
    "release connections|release a connection|release the connection|connection release|released"
)
"""Phrases that contain the name of a suspect, but do not mean the suspect."""

COMPONENT = split_words("pool pools pooling 4417 connections")
EFFECT = split_words(
    "5 five small smaller reduced reduces reducing reduction lowered lowers lowering shrunk shrank"
    " shrinks shrinking cut"
    " cuts cutting limited limits exhausted exhausts exhaustion exhausting starved starves starvation"
    " low dropped drops"
    " decreased decreases decrease capped undersized tiny tenth"
)
DECISIVE = (frozenset((6, 7)), frozenset((9,)), frozenset((12,)))
"""The needed evidence: one line of each set."""

SUPPORTING = frozenset((8, 10, 21))
"""Further lines that are evidence."""

UNDOING = split_words(
    "revert reverts reverting reverted rollback roll rolling rolled restore restores restoring restored raise raising"
    " increase increasing reset resetting set setting return returning undo undoing put bring bump"
)
UNDONE = split_words("pool 4417 50 fifty config configuration connections limit max")
GUARDING = split_words(
    "validate validated validates validation review reviewed reviews alert alerts alerting monitor"
    " monitors monitoring"
    " canary staged gradual gradually guard guards guardrail guardrails bound bounds minimum floor check"
    " checks test tests"
    " tested lint policy approval approve dashboard warn refuse reject schema gate"
)
CAUSAL = split_words(
    "cause caused causes causing because due root culprit led triggered trigger source reason blame responsible"
)

WEIGHTS = {"cause": 0.4, "evidence": 0.25, "rejection": 0.2, "fix": 0.15}

LABELS = {
    "cause": "cause|root cause|causes|the cause|the root cause|culprit|diagnosis",
    "evidence": "evidence|proof|decisive lines|key lines|supporting evidence|evidence lines",
    "rejected": (
        "rejected|rejected suspects|rejected causes|ruled out|not the cause|not a cause|decoys|red herrings|"
        "eliminated|"
        "other suspects|other causes|alternatives|rejected alternatives|not the root cause"
    ),
    "fix": "fix|fixes|remedy|proposed fix|solution|recommendation|recommendations|remediation|the fix|action|actions",
}

_ids = {line[:3].lower(): number for number, line in enumerate(TIMELINE.splitlines(), 1)}
_times = {line[4:9]: number for number, line in enumerate(TIMELINE.splitlines(), 1)}
line_citations = CitationParser("l", "line lines", _times)
_echo = PromptEcho(TokenizedAnswer.of(TASK + TIMELINE), kept=_ids)
suspect_names = Lexicon({name: suspect.names for name, suspect in SUSPECTS.items()} | {"": UNSUSPICIOUS})
_loose = Lexicon(
    {name: "|".join(filter(None, (suspect.names, suspect.also))) for name, suspect in SUSPECTS.items()}
    | {"": UNSUSPICIOUS}
)


class DebuggingScorer:
    """Scores an analysis of the incident. It is not valid without words of its own, or without any suspect."""

    id = "debugging"
    version = "1"

    def score(self, output: str) -> ProbeScore:
        """Score any text; never raises."""
        answer = TokenizedAnswer.of(output)
        text = None if answer is None else _echo.without_quotes(answer)
        if answer is None or text is None or _echo.count_words(text) < OWN_WORDS_MIN:
            return ProbeScore(valid=False)
        sections = text.sections(LABELS, once=("evidence",))
        cause_text = sections.get("cause") or text.sentences_with(CAUSAL) or text
        blamed = suspect_names.affirmed(cause_text)
        rejected = find_rejected(sections, text)
        suspects = blamed | set(rejected)
        if not suspects or not (
            "cause" in sections or line_citations.parse(text) or CAUSE in suspects or len(suspects) > 1
        ):
            return ProbeScore(valid=False)
        dimensions = {
            "cause": 0.0 if CAUSE in rejected else _score_cause(blamed, cause_text),
            "evidence": _score_evidence(sections, text),
            "rejection": score_rejection(rejected, blamed),
            "fix": _score_fix(sections.get("fix") or text, labelled="fix" in sections),
        }
        total = sum(WEIGHTS[name] * value for name, value in dimensions.items())
        return ProbeScore.of_dimensions(total, dimensions, suspects_blamed=len(blamed), words=len(answer))


def _score_cause(blamed: set[str], cause_text: TokenizedAnswer) -> float:
    if CAUSE not in blamed:
        return 0.0
    component = 0.6 if cause_text.contains_any(COMPONENT) else 0.3
    return (component + (0.4 if cause_text.contains_any(EFFECT) else 0.0)) / len(blamed)


def _score_evidence(sections: Mapping[str, TokenizedAnswer], answer: TokenizedAnswer) -> float:
    section = sections.get("evidence")
    cited = {
        citation.number
        for citation in line_citations.parse(section or _without_denials(answer), bare=section is not None)
    }
    return score_citations(cited, DECISIVE, SUPPORTING, EVIDENCE_LINES_MAX)


def _without_denials(answer: TokenizedAnswer) -> TokenizedAnswer:
    """Return the sentences that deny no suspect: lines cited in the others clear a suspect."""
    denied = [mention.at for mention in suspect_names.mentions(answer) if mention.denied]
    return answer.select(span for span in answer.sentences() if not any(index in span for index in denied))


def find_rejected(sections: Mapping[str, TokenizedAnswer], answer: TokenizedAnswer) -> dict[str, set[int]]:
    """Return the rejected suspects, each with the lines cited next to it; the cause only if it begins an item."""
    rejected: dict[str, set[int]] = {}
    section = sections.get("rejected")
    if section is not None:
        mentions = _loose.mentions(section)
        cited = cited_beside(section, mentions, line_citations.parse(section))
        for mention, lines in zip(mentions, cited, strict=True):
            if mention.name != CAUSE or mention.at == 0 or section.marks[mention.at - 1] in {".", ",", ":"}:
                rejected.setdefault(mention.name, set()).update(lines)
    mentions = suspect_names.mentions(answer)
    cited = cited_beside(answer, mentions, line_citations.parse(answer))
    for mention, lines in zip(mentions, cited, strict=True):
        if mention.denied and mention.name != CAUSE and (section is None or mention.name not in rejected):
            rejected.setdefault(mention.name, set()).update(lines)
    return rejected


def score_rejection(rejected: Mapping[str, set[int]], blamed: set[str]) -> float:
    """Return the mean over the other suspects: half for rejecting it, half for a line that clears it."""
    decoys = [name for name in SUSPECTS if name != CAUSE]
    total = 0.0
    for name in decoys:
        if name in rejected and name not in blamed:
            lines = rejected[name]
            total += 0.5 + (0.5 if len(lines) <= CLEARING_LINES_MAX and lines & SUSPECTS[name].clearing else 0.0)
    return total / len(decoys)


def _score_fix(answer: TokenizedAnswer, labelled: bool) -> float:
    undoes_cause = any(
        word in UNDOING
        and not denied_before(answer, index)
        and not UNDONE.isdisjoint(answer.words[index + 1 : index + 1 + FIX_WORDS])
        for index, word in enumerate(answer.words)
    )
    value = (0.7 if undoes_cause else 0.0) + (0.3 if answer.contains_any(GUARDING) else 0.0)
    treated = suspect_names.affirmed(answer) - {CAUSE} if labelled else set()
    return value / (1 + len(treated))

"""Version 2 of the scorer of the debugging probe: it checks what an answer says of the cause, and in which direction.

Total: .4 cause + .2 rejection + cause * (.25 evidence + .15 fix), each a dimension from 0 to 1:

|dimension|meaning|
|-|-|
|cause|1 if a sentence says that the pool became smaller, less for less (below); divided by the suspects blamed|
|evidence|as in version 1, without lines that the answer denies|
|rejection|as in version 1, but a suspect that its item blames counts as blamed|
|fix|.7 for undoing the change + .3 for a safeguard; divided by 1 + the other suspects that it treats|

A cause is worth .8 if the pool only ran out of connections, .5 if only the pool or the change is named, .4 if only a
configuration is, and half as much if it is a guess. A cause that is contradicted (`the pool was increased from 5 to
50`, `was not reduced`, `in response to`, `on the checkout hosts`), or set aside under REJECTED, is worth nothing, and
neither are its evidence and its fix. A cause that the timeline does not have (`a DDoS attack`) is a suspect, too.
"""

from collections.abc import Mapping, Sequence

from instruments.probes.probe import Probe
from instruments.probes.score import ProbeScore
from instruments.probes.text.change_direction import ChangeFinder
from instruments.probes.text.citations import score_citations
from instruments.probes.text.debugging_probe import (
    CAUSE,
    DECISIVE,
    EVIDENCE_LINES_MAX,
    LABELS,
    OWN_WORDS_MIN,
    SUPPORTING,
    TASK,
    TIMELINE,
    WEIGHTS,
    DebuggingScorer,
    find_rejected,
    line_citations,
    score_rejection,
    suspect_names,
)
from instruments.probes.text.fact_pairs import pair_up
from instruments.probes.text.prose import Sentence, Status, phrase_spans, read_prose, read_sentences, takes_back
from instruments.probes.text.synonyms import (
    BLAMING,
    CONFIGURATION,
    ELSEWHERE,
    EXHAUSTING,
    FAILING,
    HARMLESS,
    HEDGES,
    ITS_EFFECTS,
    KEEPING,
    OTHER_CAUSES,
    POOL,
    PRESCRIBING,
    SAFEGUARDS,
    STRAINED,
    THE_CHANGE,
    UNDECIDED,
    UNDOING,
)
from instruments.probes.text.tokens import PromptEcho, TokenizedAnswer, phrases_by_first_word, split_words

NAMED, KIND, EXHAUSTED, HEDGED = 0.5, 0.4, 0.8, 0.5
"""Shares of `cause`: pool or change named, only a configuration, `ran out of connections`; factor of a mere guess."""

HEALTHY_HOST = "3"
"""The host that the change did not reach."""

OTHER = "other"
"""The name of a cause that the timeline does not have."""

STRAIN_WORDS = 4
"""The longest distance between `database` and `overloaded`."""

BACK_WORDS = 9
"""The longest distance from `put` to `back`."""

SAFEGUARDS_MAX = 4
"""More words for safeguards in one sentence are a list of keywords."""

_placing = split_words("on of at for")
_DENYING = split_words("not neither nor except ignore ignoring")

_lines = {line[:3].lower(): number for number, line in enumerate(TIMELINE.splitlines(), 1)}
_echo = PromptEcho(read_prose(TASK + TIMELINE), kept=_lines)
_hosts = phrases_by_first_word({"healthy": f"inv {HEALTHY_HOST}", "changed": "inv 1|inv 2"})
_sizes = phrases_by_first_word({"low": "5|five", "high": "50|fifty"})
_contrast = split_words("while whereas but and")
_sparing = split_words("except apart besides spared excepted untouched")
_pool = ChangeFinder(POOL, low="5 five", high="50 fifty")
_words = phrases_by_first_word(
    {
        "change": f"{THE_CHANGE}|in response to change|in response to 4417",
        "configuration": CONFIGURATION,
        "exhausted": EXHAUSTING,
        "hedge": HEDGES,
        "blame": BLAMING,
        "harmless": HARMLESS,
        "prescribe": PRESCRIBING,
        OTHER: OTHER_CAUSES,
        "failing": FAILING,
    }
)
_places = phrases_by_first_word(
    {"elsewhere": ELSEWHERE, "database": "database", "": "database connections|database connection|database pool"}
)
_undecided = phrases_by_first_word({"undecided": UNDECIDED})
_fixes = phrases_by_first_word({"undo": UNDOING, "keep": KEEPING, "guard": SAFEGUARDS})


class DebuggingScorer2:
    """Scores an analysis of the incident. It is not valid without words of its own, or without any suspect."""

    id = "debugging"
    version = "2"

    def score(self, output: str) -> ProbeScore:
        """Score any text; never raises."""
        answer = read_prose(output)
        text = None if answer is None else _echo.without_quotes(answer)
        if answer is None or text is None or _echo.count_words(text) < OWN_WORDS_MIN:
            return ProbeScore(valid=False)
        sections = text.sections(LABELS, once=("evidence",), after_marks=True)
        rejected = _rejected(sections, text)
        stated = _statements(sections, text)
        blamed = _blamed(sections, stated, text)
        suspects = blamed | set(rejected)
        if not suspects and not _pool_named(stated):
            return ProbeScore(valid=False)
        taken_back = takes_back(text, sections.get("rejected"))
        sound = CAUSE not in rejected and not taken_back and not _contradicts(sections.get("fix"), text)
        cause = _score_cause(stated, blamed) if sound else 0.0
        dimensions = {
            "cause": cause,
            "evidence": _score_evidence(sections, text),
            "rejection": 0.0 if taken_back else score_rejection(rejected, blamed),
            "fix": _score_fix(sections.get("fix") or text, labelled="fix" in sections),
        }
        worth = {name: value * (cause if name in {"evidence", "fix"} else 1.0) for name, value in dimensions.items()}
        total = sum(WEIGHTS[name] * value for name, value in worth.items())
        return ProbeScore.of_dimensions(total, dimensions, suspects_blamed=len(blamed), words=len(answer))


def _statements(sections: Mapping[str, TokenizedAnswer], text: TokenizedAnswer) -> list[Sentence]:
    """Return the sentences about what happened: those under CAUSE and EVIDENCE, or in prose all but proposals."""
    if "cause" in sections:
        parts = [sections[name] for name in ("cause", "evidence") if name in sections]
        return [sentence for part in parts for sentence in read_sentences(part)]
    return [sentence for sentence in read_sentences(text) if not _prescribes(sentence)]


def _rejected(sections: Mapping[str, TokenizedAnswer], text: TokenizedAnswer) -> dict[str, set[int]]:
    """Return the rejected suspects with the lines beside them; without decoys if REJECTED says that some may be it."""
    rejected = find_rejected(sections, text)
    for sentence in read_sentences(sections["rejected"]) if "rejected" in sections else ():
        for start, _, _ in phrase_spans(sentence, _undecided):
            if start == 0 or sentence.words[start - 1] not in _DENYING:
                return {name: lines for name, lines in rejected.items() if name == CAUSE}
    return rejected


def _prescribes(sentence: Sentence) -> bool:
    """Whether a sentence says what to do: it begins with `restore`, or contains `should`."""
    spans = phrase_spans(sentence, _words)
    if any(name == "prescribe" for _, _, name in spans):
        return True
    return any(start == 0 for start, _, name in phrase_spans(sentence, _fixes) if name != "keep")


def _named(sentence: Sentence, name: str) -> bool:
    return any(found == name and sentence.asserts(start, end) for start, end, found in phrase_spans(sentence, _words))


def _pool_named(stated: list[Sentence]) -> bool:
    return any(_pool.spans(sentence) for sentence in stated)


def _contradicts(fix: TokenizedAnswer | None, text: TokenizedAnswer) -> bool:
    """Whether a sentence outside the fix says that the pool grew, did not shrink, shrank elsewhere or was harmless."""
    proposals = [] if fix is None else [sentence.words for sentence in read_sentences(fix)]
    for sentence in read_sentences(text):
        changes = {change[:2] for change in _pool.find(sentence)}
        if not changes or sentence.words in proposals or _prescribes(sentence):
            continue
        if changes & {("up", Status.ASSERTED), ("down", Status.DENIED)}:
            return True
        if ("down", Status.ASSERTED) in changes and (_named(sentence, "harmless") or _is_elsewhere(sentence)):
            return True
    return False


def _is_elsewhere(sentence: Sentence) -> bool:
    """Whether the pool shrank on hosts that the change did not reach: `from 50 to 5 on the checkout hosts`."""
    after = {end for _, end, _ in _pool.spans(sentence)}
    after |= {index + 1 for index, word in enumerate(sentence.words) if word in {"5", "five", "50", "fifty"}}
    places = [start for start, end, name in phrase_spans(sentence, _places) if name == "elsewhere"]
    return _only_on_healthy_host(sentence) or not after.isdisjoint(places)


def _only_on_healthy_host(sentence: Sentence) -> bool:
    """Whether the pool shrank on the host that the change did not reach: the only one named, or paired with 5."""
    healthy = [span for span in phrase_spans(sentence, _hosts) if span[2] == "healthy"]
    named = [start for start, end, _ in healthy if sentence.asserts(start, end)]
    for pair in pair_up(sentence, _hosts, _sizes) if _sparing.isdisjoint(sentence.words) else ():
        between = [sentence.words[min(at, pair.start) : max(at, pair.start)] for at in named]
        if (pair.subject, pair.value) == ("healthy", "low") and any(_contrast.isdisjoint(words) for words in between):
            return True
    words = sentence.words
    hosts = {(words[index - 1], words[index + 1]) for index in range(1, len(words) - 1) if words[index] == "inv"}
    return {number for _, number in hosts} == {HEALTHY_HOST} and not _placing.isdisjoint(word for word, _ in hosts)


def _score_cause(stated: list[Sentence], blamed: set[str]) -> float:
    values = [value for sentence in stated if (value := _value_of(sentence)) > 0]
    return max(values, default=0.0) / max(1, len(blamed | {CAUSE}))


def _value_of(sentence: Sentence) -> float:
    """Return what one sentence is worth as a statement of the cause, 0..1."""
    pool = any(sentence.asserts(start, end) for start, end, _ in _pool.spans(sentence))
    if ("down", Status.ASSERTED) in {change[:2] for change in _pool.find(sentence)}:
        value = 1.0
    elif pool and _named(sentence, "exhausted"):
        value = EXHAUSTED
    elif pool or _named(sentence, "change"):
        value = NAMED
    else:
        value = KIND if _named(sentence, "configuration") else 0.0
    return value * HEDGED if _named(sentence, "hedge") else value


def _blamed(sections: Mapping[str, TokenizedAnswer], stated: list[Sentence], text: TokenizedAnswer) -> set[str]:
    """Return the suspects that an answer blames: those under CAUSE, and any that a sentence calls the cause."""
    blamed: set[str] = set()
    for sentence in stated if "cause" not in sections else read_sentences(sections["cause"]):
        if "cause" in sections or any(name == "blame" for _, _, name in phrase_spans(sentence, _words)):
            blamed |= _suspects(sentence)
            blamed |= {OTHER} if _named(sentence, OTHER) or _fails_otherwise(sentence) else set()
            blamed |= {"backup"} if _strains_database(sentence) else set()
    for sentence in read_sentences(text):
        if _named(sentence, "blame") and sentence.words[0] not in {"cause", "rejected"}:
            spans = [span for span in phrase_spans(sentence, _words) if span[2] == "blame"]
            blamed |= {
                mention.name
                for mention in suspect_names.mentions(sentence.as_answer())
                if not mention.denied
                and sentence.asserts(mention.at, mention.end)
                and any(mention.at - 6 <= end and start <= mention.end + 6 for start, end, _ in spans)
            }
    return blamed


def _fails_otherwise(sentence: Sentence) -> bool:
    """Whether a sentence says what made the checkouts fail, and names nothing of the change or its effects."""
    own = bool(_pool.spans(sentence)) or not ITS_EFFECTS.isdisjoint(sentence.words)
    own = own or any(_named(sentence, name) for name in ("change", "configuration", "exhausted"))
    return _named(sentence, "failing") and not own


def _strains_database(sentence: Sentence) -> bool:
    """Whether a sentence says that the database was overloaded or slow, which it was not."""
    return any(
        name == "database" and sentence.words[at] in STRAINED and sentence.asserts(at, at + 1)
        for start, end, name in phrase_spans(sentence, _places)
        for at in range(max(0, start - STRAIN_WORDS), min(len(sentence.words), end + STRAIN_WORDS))
    )


def _suspects(sentence: Sentence, besides: Sequence[tuple[int, int, str]] = ()) -> set[str]:
    """Return the suspects that a sentence does not deny, outside of the safeguards of `besides` (`staged rollout`)."""
    mentions = suspect_names.mentions(sentence.as_answer())
    guards = [range(start, end) for start, end, name in besides if name == "guard"]
    return {
        mention.name
        for mention in mentions
        if not mention.denied
        and Status.DENIED not in sentence.status[mention.at : mention.end]
        and not any(mention.at in guard for guard in guards)
    }


def _put_back(sentence: Sentence) -> list[tuple[int, int, str]]:
    """Return the verbs of `put the old limit back` as undoing."""
    words = sentence.words
    puts = [at for at, word in enumerate(words) if word in {"put", "putting", "bring"}]
    return [(at, at + 1, "undo") for at in puts if "back" in words[at + 1 : at + BACK_WORDS]]


def _score_evidence(sections: Mapping[str, TokenizedAnswer], text: TokenizedAnswer) -> float:
    section = sections.get("evidence")
    cited: set[int] = set()
    bare = section is not None and not line_citations.parse(section)
    for sentence in read_sentences(section or text):
        denies_suspect = section is None and any(
            mention.denied for mention in suspect_names.mentions(sentence.as_answer())
        )
        if not denies_suspect:
            citations = line_citations.parse(sentence.as_answer(), bare=bare)
            cited |= {
                each.number for each in citations if _DENYING.isdisjoint(sentence.words[max(0, each.at - 2) : each.at])
            }
    return score_citations(cited, DECISIVE, SUPPORTING, EVIDENCE_LINES_MAX)


def _score_fix(answer: TokenizedAnswer, *, labelled: bool) -> float:
    undone = guarded = False
    treated: set[str] = set()
    for sentence in read_sentences(answer):
        if not labelled and not _prescribes(sentence):
            continue
        changes = _pool.find(sentence)
        spans = [*phrase_spans(sentence, _fixes), *_put_back(sentence)]
        low = bool(_pool.spans(sentence)) and not {"5", "five"}.isdisjoint(sentence.words)
        keeps = any(name == "keep" and sentence.asserts(start, end) for start, end, name in spans)
        undoes = any(name == "undo" and sentence.asserts(start, end) for start, end, name in spans)
        worse = keeps and not undoes and (low or _named(sentence, "change"))
        lowered = any(change[:2] == ("down", Status.ASSERTED) and not change.is_state for change in changes)
        if worse or lowered or ("up", Status.DENIED) in {change[:2] for change in changes}:
            return 0.0
        undo = [(start, end) for start, end, name in spans if name == "undo"]
        if any(sentence.denies(start, end) for start, end in undo):
            return 0.0
        names = _pool.spans(sentence) or _named(sentence, "change") or _named(sentence, "configuration")
        high = not {"50", "fifty"}.isdisjoint(sentence.words)
        undone |= any(sentence.asserts(start, end) for start, end in undo) and bool(names or high)
        undone |= ("up", Status.ASSERTED) in {change[:2] for change in changes}
        guards = sum(name == "guard" and sentence.asserts(start, end) for start, end, name in spans)
        guarded |= 0 < guards <= SAFEGUARDS_MAX and len(sentence.words) > guards
        treated |= _suspects(sentence, spans) - {CAUSE} if labelled else set()
    return ((0.7 if undone else 0.0) + (0.3 if guarded else 0.0)) / (1 + len(treated))


DEBUGGING = Probe(
    id="debugging",
    version="1",
    kind="text",
    language=None,
    stimulus=TIMELINE,
    prompt=TASK + TIMELINE,
    scorer=DebuggingScorer2(),
    older_scorers=(DebuggingScorer(),),
)

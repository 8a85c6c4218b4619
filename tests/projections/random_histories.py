"""Random histories of decisions and discoveries, valid by construction: every draft is admitted."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from hypothesis import strategies as st

from events.decision import (
    Bridge,
    DecisionAmended,
    DecisionAsked,
    DecisionPreserved,
    DecisionRecorded,
    DecisionRetracted,
    DecisionReviewed,
    DecisionThought,
    Deliberation,
    DeliberationStep,
    Reason,
    ReasonType,
    Stakes,
)
from events.discovery import DiscoveryAttempted, DiscoveryFinished, DiscoverySignalled, DiscoveryStarted
from events.envelope import Draft, EventFacts
from events.link import DecisionLinked, LinkType
from events.model import ModelAliased, ModelIdentity, ModelRegistered
from events.payload import Payload
from events.probe import ProbeScored
from events.registry import VOCABULARY
from events.thought import ThoughtAdopted, ThoughtRecorded
from ledger.admission import GroupAdmission, Lookups, prepare
from ledger.log import Head
from ledger.sqlite.schema import COLUMNS
from projections.event_slice import EventSlice
from tallystick.shapes.decisions import Outcome
from tests.projections.drafts import post
from tests.projections.random_evaluations import (
    captured,
    concluded,
    evaluated,
    marked,
    revised,
)

AGENTS = ("ada", "bo", "cyd")
CATEGORIES = (None, "process", "tooling")
STAKES: tuple[Stakes | None, ...] = (None, "low", "high", "critical")
PROJECTS = (None, "ledger", "probes")
FEATURES = (None, "export")
OUTCOMES: tuple[Outcome, ...] = ("success", "partial", "failure", "abandoned")
QUESTIONS = ("q1", "q2", "q3")
TAGS = ("a", "b", "c")
PRS = (1, 7)

DAWN = datetime(2026, 1, 5, 6, 0, tzinfo=UTC)
"""When the first event is recorded; each later one a second after."""

_MICROSECOND = timedelta(microseconds=1)
NOON = datetime(2025, 12, 31, 12, 0, tzinfo=UTC)
MOMENTS = (
    None,
    NOON - _MICROSECOND,
    NOON,
    NOON + _MICROSECOND,
    datetime(2025, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 0, tzinfo=UTC),
    datetime(2026, 1, 1, tzinfo=UTC),
)
"""Backdated times around a few instants; None: the time of recording."""

Verb = Literal[
    "ask", "record", "amend", "think", "review", "retract", "preserve", "ponder", "adopt", "link",
    "start", "attempt", "signal", "finish", "register", "alias", "score",
    "capture", "revise", "evaluate", "mark", "conclude",
]  # fmt: skip


class Step(NamedTuple):
    """One thing that may be posted. `pick` chooses among what is open when its turn comes: decisions, or thoughts."""

    verb: Verb
    pick: int
    agent: str
    time: datetime | None
    payload: Payload


confidences = st.one_of(
    st.sampled_from([0.0, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 1.0]),
    st.integers(0, 1000).map(lambda thousandths: thousandths / 1000),
)
"""Stated confidences of at most three digits: what an agent writes, and exact as decimal fractions."""

words = st.lists(st.sampled_from(("ship", "wait", "later", "hmm", "Café", "🚀", "a-b")), min_size=1, max_size=2).map(
    " ".join
)
"""Short texts of words that others share."""

tags = st.lists(st.sampled_from(TAGS), max_size=3).map(tuple)
KINDS: tuple[ReasonType, ...] = ("analysis", "pattern", "intuition")
strengths = st.sampled_from([None, 0.0, 0.3, 0.8, 1.0])
reasons = st.lists(st.builds(Reason, type=st.sampled_from(KINDS), text=words, strength=strengths), max_size=3).map(
    tuple
)
_pick = st.integers(0, 1_000)
_agent = st.sampled_from(AGENTS)
_time = st.sampled_from(MOMENTS)


def _amendment(fields: Mapping[str, Any]) -> DecisionAmended:
    return DecisionAmended(decision_id="?", **fields)


_recorded = st.builds(
    DecisionRecorded,
    decision=st.sampled_from(["ship", "wait", "Ship the café, not later"]),
    context=st.none() | words,
    reasons=reasons,
    pattern=st.none() | words,
    bridge=st.none() | st.builds(Bridge, structure=st.none() | words, function=words, tolerance=st.just(("a lot",))),
    deliberation=st.none() | words.map(lambda text: Deliberation(steps=(DeliberationStep(thought=text),))),
    pr=st.none() | st.sampled_from(PRS),
    review_by=st.sampled_from(MOMENTS),
    confidence=st.none() | confidences,
    category=st.sampled_from(CATEGORIES),
    stakes=st.sampled_from(STAKES),
    project=st.sampled_from(PROJECTS),
    feature=st.sampled_from(FEATURES),
    tags=tags,
)
_change = st.fixed_dictionaries(
    {},
    optional={
        "confidence": confidences,
        "tags": tags,
        "context": st.just("later"),
        "decision": words,
        "bridge": st.builds(Bridge, structure=words),
        "pattern": words,
        "reasons": reasons,
    },
)
_amended = _change.filter(bool).map(_amendment)
_reviewed = st.builds(
    DecisionReviewed,
    decision_id=st.just("?"),
    outcome=st.sampled_from(OUTCOMES),
    actual_result=st.none() | words,
    lessons=st.none() | words,
    notes=st.none() | words,
)
_thought = st.builds(DecisionThought, decision_id=st.just("?"), text=st.sampled_from(["hmm", "aha"]))
_pondered = st.builds(
    ThoughtRecorded,
    text=st.sampled_from(["hmm", "aha"]),
    agent_id=st.sampled_from((None, "a1", "a2")),
    decision_id=st.sampled_from((None, "next")),
)
_asked = st.builds(DecisionAsked, decision_id=st.just("?"), question=st.sampled_from(QUESTIONS))
_retracted = st.builds(DecisionRetracted, decision_id=st.just("?"), reason=words)
_preserved = st.builds(DecisionPreserved, decision_id=st.just("?"), preserve=st.booleans())
_adopted = st.builds(ThoughtAdopted, thought_id=st.just("?"), decision_id=st.sampled_from(["d0", "d1"]))

LINK_TYPES: tuple[LinkType, ...] = ("relates_to", "supersedes", "depends_on")
LINKED = ("d0", "d1", "elsewhere")
_linked = st.permutations(LINKED).flatmap(
    lambda names: st.builds(
        DecisionLinked,
        source_id=st.just(names[0]),
        target_id=st.just(names[1]),
        edge_type=st.sampled_from(LINK_TYPES),
        weight=st.none() | st.sampled_from([0.01, 0.5, 0.75, 1.0]),
    )
)
"""Links between decisions that are recorded, that will be, and that another ledger has."""

_steps = st.one_of(
    st.builds(Step, st.just("record"), _pick, _agent, _time, _recorded),
    st.builds(Step, st.just("review"), _pick, _agent, _time, _reviewed),
    st.builds(Step, st.just("amend"), _pick, _agent, _time, _amended),
    st.builds(Step, st.just("record"), _pick, _agent, _time, _recorded),
    st.builds(Step, st.just("review"), _pick, _agent, _time, _reviewed),
    st.builds(Step, st.just("retract"), _pick, _agent, _time, _retracted),
    st.builds(Step, st.just("preserve"), _pick, _agent, _time, _preserved),
    st.builds(Step, st.just("think"), _pick, _agent, _time, _thought),
    st.builds(Step, st.just("ask"), _pick, _agent, _time, _asked),
    st.builds(Step, st.just("ponder"), _pick, _agent, _time, _pondered),
    st.builds(Step, st.just("adopt"), _pick, _agent, _time, _adopted),
    st.builds(Step, st.just("link"), _pick, _agent, _time, _linked),
)


ROUTERS = (None, "command:ide", "openai:local")
NAMES = ("model-a", "Model-A-20250101", "lab/model-a", "model-b", "Auto", "cursor", "unknown", "", "other")
"""Names as answers claim them: of few models, of hosts, of nothing."""

KEYS = ("model-a", "model-b-20250101", "Model-B", "auto")
"""Names under which models are registered, in this order."""

TEXTS = ("", "one", "two", "three")
"""Outputs of which some are the same, byte for byte."""

_claimed = st.builds(
    ModelIdentity,
    model_name=st.sampled_from(NAMES),
    provider=st.sampled_from((None, "Lab", "lab")),
    version=st.sampled_from((None, "1")),
    wrapper=st.sampled_from((None, "Cursor")),
)
_started = st.builds(
    DiscoveryStarted,
    router=st.sampled_from(ROUTERS),
    requested_model=st.sampled_from((None, "auto", "model-a", "never-sighted")),
)
_attempted = st.builds(
    DiscoveryAttempted,
    run_id=st.just("?"),
    attempt=st.integers(1, 9),
    outcome=st.sampled_from(("accepted", "repeat", "wrapper", "refused", "unparsable")),
    claimed=st.none() | _claimed,
    reported_model=st.none() | st.sampled_from(NAMES[:5]),
    output_digest=st.none() | st.sampled_from([sha256(text.encode()).hexdigest() for text in TEXTS]),
)
_scored = st.builds(
    ProbeScored,
    probe_id=st.sampled_from(("refactor", "persist")),
    probe_version=st.sampled_from((None, "1")),
    scorer_id=st.sampled_from(("reported", "syntax")),
    scorer_version=st.sampled_from((None, "2")),
    model_name=st.none() | st.sampled_from([name for name in NAMES if name]),
    valid=st.sampled_from((None, True, False)),
    counts=st.none() | st.dictionaries(st.sampled_from(("renames", "splits")), st.integers(-3, 9)),
    total_score=st.none() | confidences,
    dimension_scores=st.none() | st.dictionaries(st.sampled_from(("speed", "depth")), confidences),
)
_signalled = st.builds(DiscoverySignalled, run_id=st.just("?"), event=st.just("ORANGE"))
_finished = st.builds(DiscoveryFinished, run_id=st.just("?"), reason=st.just("report_requested"))
_registered = st.builds(
    ModelRegistered, name=st.none() | words, provider=st.sampled_from((None, "Lab")), version=st.none() | words
)
_aliased = st.builds(ModelAliased, key=st.just("?"), alias=st.sampled_from([name for name in NAMES if name]))

_discovery_steps = st.one_of(
    st.builds(Step, st.just("start"), _pick, _agent, _time, _started),
    st.builds(Step, st.just("attempt"), _pick, _agent, _time, _attempted),
    st.builds(Step, st.just("attempt"), _pick, _agent, _time, _attempted),
    st.builds(Step, st.just("attempt"), _pick, _agent, _time, _attempted),
    st.builds(Step, st.just("score"), _pick, _agent, _time, _scored),
    st.builds(Step, st.just("score"), _pick, _agent, _time, _scored),
    st.builds(Step, st.just("signal"), _pick, _agent, _time, _signalled),
    st.builds(Step, st.just("finish"), _pick, _agent, _time, _finished),
    st.builds(Step, st.just("register"), _pick, _agent, _time, _registered),
    st.builds(Step, st.just("alias"), _pick, _agent, _time, _aliased),
)
_evaluation_steps = st.one_of(
    st.builds(Step, st.just("capture"), _pick, _agent, _time, captured),
    st.builds(Step, st.just("revise"), _pick, _agent, _time, revised),
    st.builds(Step, st.just("evaluate"), _pick, _agent, _time, evaluated),
    st.builds(Step, st.just("mark"), _pick, _agent, _time, marked),
    st.builds(Step, st.just("mark"), _pick, _agent, _time, marked),
    st.builds(Step, st.just("mark"), _pick, _agent, _time, marked),
    st.builds(Step, st.just("conclude"), _pick, _agent, _time, concluded),
)

_STREAMS: Mapping[Verb, tuple[str, str]] = {
    "record": ("d", "opens"), "amend": ("d", "continues"), "think": ("d", "continues"),
    "review": ("d", "continues"), "ask": ("d", "continues"), "retract": ("d", "closes"),
    "preserve": ("d", "continues"), "link": ("l", "opens"),
    "ponder": ("t", "opens"), "adopt": ("t", "closes"),
    "start": ("r", "opens"), "attempt": ("r", "continues"), "signal": ("r", "continues"), "finish": ("r", "closes"),
    "register": ("m", "opens"), "alias": ("m", "continues"), "score": ("s", "opens"),
    "capture": ("c", "opens"), "revise": ("c", "continues"),
    "evaluate": ("e", "opens"), "mark": ("e", "continues"), "conclude": ("e", "closes"),
}  # fmt: skip
"""The stream of each verb, by the first letter of its names, and its place in the life of the stream."""


def drafts_of(steps: Sequence[Step]) -> list[Draft]:
    """Return the drafts of some steps. A step that needs an open stream is left out if none is open."""
    drafts: list[Draft] = []
    made: Counter[str] = Counter()
    going: dict[str, list[str]] = {letter: [] for letter, _ in _STREAMS.values()}
    for step in steps:
        letter, life = _STREAMS[step.verb]
        names = going[letter]
        if life == "opens":
            number = made[letter]
            made[letter] += 1
            names.append(KEYS[number] if letter == "m" and number < len(KEYS) else f"{letter}{number}")
            name = names[-1]
        elif names:
            place = step.pick % len(names)
            name = names.pop(place) if life == "closes" else names[place]
        else:
            continue
        drafts.append(post(step.payload, name=name, agent=step.agent, time=step.time))
    return drafts


def histories(max_size: int = 40, min_size: int = 0) -> st.SearchStrategy[list[Draft]]:
    """Histories of up to so many events, as drafts in the order in which they are posted.

    Of `min_size` steps at least, of which some may have nothing to continue.
    """
    return st.lists(_steps, min_size=min_size, max_size=max_size).map(drafts_of)


def discoveries(max_size: int = 40) -> st.SearchStrategy[list[Draft]]:
    """Histories of runs, models and scores."""
    return st.lists(_discovery_steps, max_size=max_size).map(drafts_of)


def evaluations(max_size: int = 40) -> st.SearchStrategy[list[Draft]]:
    """Histories of scenarios and of evaluations on them."""
    return st.lists(_evaluation_steps, max_size=max_size).map(drafts_of)


def everything(max_size: int = 40, min_size: int = 0) -> st.SearchStrategy[list[Draft]]:
    """Histories of decisions, and of all there is."""
    steps = _steps | _discovery_steps | _evaluation_steps
    return histories(max_size, min_size) | st.lists(steps, min_size=min_size, max_size=max_size).map(drafts_of)


def lines_of(drafts: Sequence[Draft]) -> list[bytes]:
    """The lines that a ledger stores for these drafts, posted one by one a second apart."""
    rng, known, head = random.Random(0), Lookups({}, {}), Head(0, 0)
    lines: list[bytes] = []
    for number, draft in enumerate(drafts):
        group = GroupAdmission(VOCABULARY, head, DAWN + timedelta(seconds=number), known, rng)
        group.admit([prepare(VOCABULARY, draft, 0)])
        head = Head(group.position, group.recorded_us)
        line = group.rows[COLUMNS.index("line")]
        assert isinstance(line, bytes)
        lines.append(line)
    return lines


def events_of(drafts: Sequence[Draft]) -> EventSlice:
    """The events that a ledger holds for these drafts."""
    return sliced(VOCABULARY.event(line) for line in lines_of(drafts))


def sliced(events: Iterable[EventFacts]) -> EventSlice:
    """The events of a whole log, each with the position at which its stream begins."""
    firsts: dict[str, int] = {}
    kept = list(events)
    return EventSlice(kept, [firsts.setdefault(event.subject, event.position) for event in kept])

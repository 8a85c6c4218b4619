"""The view of circuit breakers: a fold over reviews whose states are those of any moment."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from events.breaker import BreakerReset, BreakerRule, BreakersConfigured
from events.decision import DecisionAmended, DecisionRecorded, DecisionRetracted, DecisionReviewed
from events.envelope import Draft, EventFacts
from events.payload import Payload
from events.registry import VOCABULARY
from projections.breaker_states import BreakerStates, BreakerView
from tests.projections.random_histories import events_of

START = datetime(2026, 11, 20, 8, tzinfo=UTC)
HOUR_MS = 3_600_000

_number = count()


def rule(scope: str = "stakes:high", failures: int = 2) -> BreakerRule:
    return BreakerRule(scope=scope, failure_threshold=failures, window_ms=4 * HOUR_MS, cooldown_ms=2 * HOUR_MS)


def at(hours: float, payload: Payload, source: str = "/agents/ada") -> Draft:
    return VOCABULARY.draft_of(payload, source=source, time=START + timedelta(hours=hours))


def decided(name: str, hours: float, **fields: object) -> Draft:
    payload = DecisionRecorded(decision_id=name, decision="x", **{"stakes": "high", **fields})  # type: ignore[arg-type]
    return at(hours, payload)


def reviewed(name: str, hours: float, outcome: str = "failure") -> Draft:
    return at(hours, DecisionReviewed(decision_id=name, outcome=outcome), "/agents/ann")  # type: ignore[arg-type]


def configured(*rules: BreakerRule, hours: float = 0) -> Draft:
    return at(hours, BreakersConfigured(config_id=f"c{next(_number)}", breakers=rules))


def folded(events: Sequence[EventFacts]) -> BreakerStates:
    projection = BreakerStates()
    projection.fold(events)
    return projection


def one(drafts: Sequence[Draft], hours: float) -> BreakerView:
    (breaker,) = folded(events_of(drafts)).view(START + timedelta(hours=hours))
    return breaker


def test_the_state_follows_the_clock_without_an_event() -> None:
    drafts = [configured(rule()), *(decided(name, 1) for name in "ab"), reviewed("a", 2), reviewed("b", 3)]
    states = [(one(drafts, hours).state, one(drafts, hours).blocks) for hours in (3, 4.9, 5, 90)]
    assert states == [("open", True), ("open", True), ("half_open", False), ("half_open", False)]
    assert one(drafts, 4).cooldown_remaining_ms == HOUR_MS
    assert one(drafts[:-1], 3).failure_count == 1
    assert one(drafts[:-1], 6).failure_count == 0, "the window is over"


def test_a_probe_decides_what_a_half_open_breaker_becomes() -> None:
    opened = [configured(rule()), *(decided(name, 1) for name in "ab"), reviewed("a", 2), reviewed("b", 3)]
    probing = [*opened, decided("c", 6), decided("d", 6.5)]
    assert (one(probing, 7).state, one(probing, 7).probe, one(probing, 7).blocks) == ("half_open", "c", True)
    assert one([*probing, reviewed("c", 7, "partial")], 7).state == "closed"
    again = one([*probing, reviewed("c", 7)], 8)
    assert (again.state, again.opened_at) == ("open", START + timedelta(hours=7))
    retracted = [*probing, at(7, DecisionRetracted(decision_id="c", reason="twice"))]
    assert (one(retracted, 8).state, one(retracted, 8).probe) == ("half_open", None)


def test_scopes_select_by_what_the_decision_says() -> None:
    amended = at(1.5, DecisionAmended(decision_id="a", tags=("deploy",)))
    drafts = [decided("a", 1, category="tooling"), amended, reviewed("a", 2)]
    for scope, failures in {
        "global": 1, "category:tooling": 1, "tag:deploy": 1, "agent:ada": 1, "agent:ann": 0, "stakes:low": 0,
    }.items():  # fmt: skip
        assert one([configured(rule(scope)), *drafts], 2).failure_count == failures, scope
    earlier = [drafts[0], configured(rule("global")), reviewed("a", 2)]
    assert one(earlier, 2).failure_count == 0, "a decision before the first configuration does not count"


def test_a_configuration_keeps_the_state_of_a_scope_that_stays() -> None:
    opened = [configured(rule()), *(decided(name, 1) for name in "ab"), reviewed("a", 2), reviewed("b", 3)]
    assert one([*opened, configured(rule(failures=9), hours=3)], 4).state == "open"
    ended = [*opened, configured(hours=3), configured(rule(), hours=3.5)]
    assert one(ended, 4).state == "closed"


_names = st.sampled_from("abcd")
_steps = st.one_of(
    st.tuples(st.just("decide"), _names),
    st.tuples(st.just("review"), _names, st.sampled_from(["failure", "success", "abandoned", "partial"])),
    st.tuples(st.just("reset"), st.sampled_from(["closed", "half_open"])),
    st.tuples(st.just("configure"), st.integers(1, 3)),
)


def drafts_of(steps: Sequence[tuple[object, ...]]) -> list[Draft]:
    drafts, made = [configured(rule())], set[str]()
    for hours, (verb, *words) in enumerate(steps):
        if verb == "decide" and words[0] not in made:
            made.add(str(words[0]))
            drafts.append(decided(str(words[0]), hours))
        elif verb == "review" and words[0] in made:
            drafts.append(reviewed(str(words[0]), hours, str(words[1])))
        elif verb == "reset":
            drafts.append(at(hours, BreakerReset(reset_id=f"r{hours}", scope="stakes:high", state=words[0])))  # type: ignore[arg-type]
        elif verb == "configure":
            drafts.append(configured(rule(failures=int(str(words[0]))), hours=hours))
    return drafts


@given(st.lists(_steps, max_size=25), st.integers(1, 5))
def test_the_state_depends_on_the_events_alone(steps: list[tuple[object, ...]], size: int) -> None:
    events = events_of(drafts_of(steps))
    whole, pieces = folded(events), BreakerStates()
    for start in range(0, len(events), size):
        pieces.fold(events[start : start + size])
        pieces = BreakerStates.decode(pieces.encode())
    assert pieces.encode() == whole.encode()
    assert pieces.view(START + timedelta(hours=30)) == whole.view(START + timedelta(hours=30))

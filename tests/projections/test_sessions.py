"""Sessions of coding agents: the state, and the figures by program."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from events.call import CallRecorded
from events.session import SessionRecorded
from projections.sessions.program_sessions import describe_programs
from projections.sessions.session_index import SessionIndex
from projections.stats.intervals import wilson_interval

MORNING = "2026-11-01T08:00:00.000000Z"


def session(name: str, **shown: Any) -> SessionRecorded:  # noqa: ANN401 - fields of the payload
    return SessionRecorded(session_id=name, program="claude-code", reader=1, **shown)


def call(name: str, of: str, **fields: Any) -> CallRecorded:  # noqa: ANN401 - fields of the payload
    return CallRecorded(call_id=name, operation="chat", agent="claude-code", conversation_id=of, **fields)


def test_a_later_event_of_a_session_replaces_the_one_before() -> None:
    index = SessionIndex()
    exported = call("1-2", "cc-s", trace_id="0" * 31 + "1", span_id="0" * 15 + "2")  # a call with a trace is no part
    for data in (
        call("cc-m1", "cc-s", output_tokens=5), session("cc-s", prompts=1), exported,
        call("cc-t1", "cc-s", tool="Bash"), session("cc-s", prompts=2),
    ):  # fmt: skip
        index.add(data, MORNING)
    restored = index.copy()
    assert restored.encode() == index.encode()
    (state,) = restored.sessions()
    assert state.shown is not None
    assert state.shown.prompts == 2
    assert [use.answers for use in state.models] == [use.calls for use in state.tools] == [1]
    assert restored.summary() == {"sessions": 1}


def test_a_change_of_the_served_models_raises_an_alarm() -> None:
    index = SessionIndex()
    for number in range(50):
        model, day = ("old", "new")[number >= 40], f"2026-09-{1 + number // 2:02d}"
        index.add(
            session(f"cc-{number}", first_time=f"{day}T0{number % 2}:00:00Z", last_time=f"{day}T09:00:00Z"), MORNING
        )
        index.add(call(f"cc-m{number}", f"cc-{number}", reported_model=model, agent_version="2.1"), f"{day}T08:00:00Z")
        index.add(call(f"cc-n{number}", f"cc-{number}", reported_model=model, switch="announced"), f"{day}T08:01:00Z")
    (program,) = describe_programs(index)
    (change,) = program.mix_changes
    assert (change.first, change.before, change.since) == ("2026-09-21T00:00:00Z", {"old": 40}, {"new": 10})
    assert change.alarm > change.first
    assert change.e_value >= 40
    old = next(model for model in program.models if model.served == "old")
    assert (old.answers, old.sessions, old.share, old.switches.announced) == (80, 40, 0.8, 40)
    assert old.interval.low < wilson_interval(80, 100).low  # answers of a session are alike
    assert [(row.version, row.served, row.answers) for row in program.days if row.day == "2026-09-25"] == [
        (None, "new", 2), ("2.1", "new", 2),
    ]  # fmt: skip
    (late,) = describe_programs(index, datetime(2026, 9, 24, tzinfo=UTC))
    assert (late.sessions, late.mix_changes, {row.day for row in late.days}) == (4, [], {"2026-09-24", "2026-09-25"})


def test_without_a_time_or_a_served_model_nothing_is_said_of_a_change() -> None:
    index = SessionIndex()
    for number in range(60):
        times = {} if number % 2 else {"first_time": f"2026-09-01T00:{number:02d}:00Z"}
        index.add(session(f"cx-{number}", **times), MORNING)
        index.add(call(f"cx-m{number}", f"cx-{number}", model=("a", "b")[number >= 30]), MORNING)
    (program,) = describe_programs(index)
    assert program.mix_changes == []
    assert {model.requested: model.answers for model in program.models} == {"a": 30, "b": 30}
    assert msgspec.json.decode(msgspec.json.encode(program))["first"] == "2026-09-01T00:00:00Z"

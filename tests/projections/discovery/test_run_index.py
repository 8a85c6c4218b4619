"""The runs view and the report: any way to fold gives the same, and a report survives conversion to events and back."""

from collections import Counter
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.importers.runs.reader import decode_report
from api.importers.runs.to_events import run_events
from events.discovery import (
    DiscoveryAttempted,
    DiscoveryFinished,
    DiscoverySignalled,
    DiscoverySignalledLate,
    DiscoveryStarted,
)
from events.envelope import Draft
from events.model import ModelIdentity
from events.probe import ProbeScored
from projections.discovery.run_index import ATTEMPT_OUTCOMES, RunIndex, RunSelection
from projections.discovery.run_report import DiscoveryRun, build_attempts, build_report, build_signals
from tests.projections.drafts import post
from tests.projections.random_histories import events_of
from tests.support.run_reports import (
    REAL,
    Json,
    report,
    reports,
)

ROUTERS = (None, "command:one", "openai:two")


@st.composite
def histories(draw: st.DrawFn) -> list[Draft]:
    """Runs side by side: begun, attempted, signalled, scored, ended; scores and late signals also name absent runs."""
    drafts: list[Draft] = []
    going: dict[str, int] = {}
    for number in range(draw(st.integers(0, 30))):
        verb = draw(st.sampled_from(("start", "attempt", "attempt", "signal", "late", "score", "finish")))
        agent = draw(st.sampled_from(("ada", "bo")))
        if verb == "start" or not going:
            name = f"r{number}"
            going[name] = 0
            router = draw(st.sampled_from(ROUTERS))
            drafts.append(post(DiscoveryStarted(run_id=name, router=router, probe_id="refactor-v1"), agent=agent))
            continue
        name = draw(st.sampled_from(sorted(going)))
        if verb == "attempt":
            going[name] += 1
            outcome = draw(st.sampled_from(ATTEMPT_OUTCOMES))
            drafts.append(post(DiscoveryAttempted(run_id=name, attempt=going[name], outcome=outcome), agent=agent))
        elif verb == "signal":
            drafts.append(post(DiscoverySignalled(run_id=name, event="ORANGE"), agent=agent))
        elif verb == "late":
            name = draw(st.sampled_from((*(f"r{one}" for one in range(number)), "elsewhere")))
            drafts.append(post(DiscoverySignalledLate(run_id=name, event="checked"), agent=agent))
        elif verb == "score":
            named = draw(st.sampled_from((name, "elsewhere", None)))
            scored = ProbeScored(score_id=f"s{number}", probe_id="refactor-v1", scorer_id="x", run_id=named)
            drafts.append(post(scored, agent=agent))
        else:
            drafts.append(post(DiscoveryFinished(run_id=name, reason=draw(st.sampled_from(("a", "b" * 999))))))
            del going[name]
    return drafts


@given(drafts=histories(), cuts=st.lists(st.integers(0, 30)))
@settings(max_examples=100)
def test_how_a_history_is_cut_makes_no_difference(drafts: list[Draft], cuts: list[int]) -> None:
    events = events_of(drafts)
    whole, decoded = RunIndex(), RunIndex()
    whole.fold(events)
    for start, end in pairwise([0, *sorted(cuts), len(events)]):
        decoded = RunIndex.decode(decoded.encode())
        decoded.fold(events[start:end])
    assert whole.encode() == decoded.encode()
    assert whole.summary() == decoded.summary()


@given(drafts=histories(), router=st.sampled_from(ROUTERS), agent=st.sampled_from((None, "ada")))
@settings(max_examples=100)
def test_the_index_says_what_a_plain_reading_says(drafts: list[Draft], router: str | None, agent: str | None) -> None:
    events = events_of(drafts)
    projection = RunIndex()
    projection.fold(events)
    begun = {
        data.run_id: event
        for event in events
        if isinstance(data := event.data, DiscoveryStarted)
        and router in (None, data.router)
        and agent in (None, event.agent)
    }
    entries = projection.entries(projection.find(RunSelection(router=router, agent=agent)))
    assert [entry.run_id for entry in entries] == list(reversed(begun))
    for entry in entries:
        run = [event for event in events if getattr(event.data, "run_id", None) == entry.run_id]
        counted = Counter(event.data.outcome for event in run if isinstance(event.data, DiscoveryAttempted))
        assert entry.outcomes == counted
        assert (entry.attempts, entry.models) == (counted.total(), counted["accepted"])
        assert entry.signals == sum(isinstance(event.data, DiscoverySignalled) for event in run)
        scores = [event.position for event in run if isinstance(event.data, ProbeScored)]
        assert projection.scores(entry.run_id) == scores
        assert entry.scores == len(scores)
        ends = [event.data.reason for event in run if isinstance(event.data, DiscoveryFinished)]
        assert entry.reason == (ends[0][:256] if ends else None)
        assert (entry.end_time is None) == (not ends)


def shown(one: Json) -> Json:
    """Convert a report to events, and read it back from them."""
    converted = run_events("file", decode_report(msgspec.json.encode(one)), "ada")
    events = events_of([said.draft for said in converted.drafts])
    run = DiscoveryRun.of(
        [event for event in events if not isinstance(event.data, ProbeScored)],
        [event for event in events if isinstance(event.data, ProbeScored)],
    )
    back: Json = msgspec.json.decode(msgspec.json.encode(build_report(run, {})))
    return back


@pytest.mark.slow
@given(one=reports())
@settings(max_examples=300)
def test_any_report_is_given_back_field_for_field(one: Json) -> None:
    assert shown(one) == one


@pytest.mark.skipif(not REAL, reason="the shared data is not here")
def test_the_real_reports_are_given_back_field_for_field() -> None:
    for path in REAL:
        assert shown(msgspec.json.decode(path.read_bytes())) == msgspec.json.decode(path.read_bytes())


def test_whole_numbers_are_written_whole() -> None:
    events = events_of(
        [said.draft for said in run_events("file", decode_report(msgspec.json.encode(report("r", "m"))), "ada").drafts]
    )
    scores = [event for event in events if isinstance(event.data, ProbeScored)]
    run = DiscoveryRun.of([event for event in events if event not in scores], scores)
    assert b'"total_score":1}' in msgspec.json.encode(build_report(run, {}))


def test_a_run_that_was_not_imported_is_reported_as_measured() -> None:
    drafts = [
        post(DiscoveryStarted(run_id="r", probe_id="refactor-v1", max_iterations=3, terminate_on_repeat=True)),
        post(DiscoveryAttempted(run_id="r", attempt=1, outcome="timeout", elapsed_ns=5, detail="late")),
        post(
            DiscoveryAttempted(
                run_id="r", attempt=2, outcome="accepted", iteration=0, claimed=ModelIdentity(model_name="m"),
                exclusion_prompt="", response="code", elapsed_ns=7, tokens_used=9, response_digest="a" * 64,
                output_digest="a" * 64,
            )
        ),
        post(ProbeScored(score_id="by-bo", probe_id="refactor-v1", scorer_id="s", run_id="r", attempt=2), agent="bo"),
        post(ProbeScored(score_id="other", probe_id="other", scorer_id="s", run_id="r", attempt=2, total_score=0.1)),
        post(
            ProbeScored(
                score_id="own", probe_id="refactor-v1", scorer_id="s", run_id="r", attempt=2, valid=True,
                counts={"renames": 3}, total_score=0.25, apart={"closures": 1},
            )
        ),
        post(ProbeScored(score_id="new", probe_id="refactor-v1", scorer_id="t", run_id="r", attempt=2)),
        post(DiscoverySignalled(run_id="r", event="ORANGE", meta={"length": "4"})),
    ]  # fmt: skip
    events = events_of(drafts)
    scores = [event for event in events if isinstance(event.data, ProbeScored)]
    run = DiscoveryRun.of([event for event in events if event not in scores], scores)
    going = msgspec.to_builtins(build_report(run, {}))
    assert going == {
        "run_id": "r",
        "start_time": events[0].time,
        "config": {"max_iterations": 3, "probe_id": "refactor-v1", "terminate_on_repeat": True},
        "results": (
            {
                "iteration": 0,
                "model": {"model_name": "m"},
                "exclusion_prompt": "",
                "probe": {
                    "probe_id": "refactor-v1",
                    "raw_output": "code",
                    "score": {"renames": 3, "total_score": 0.25},
                    "elapsed_ns": 7,
                    "tokens_used": 9,
                },
                "timestamp": events[2].time,
            },
        ),
        "unique_models": ({"model_name": "m"},),
    }
    late, accepted = build_attempts(run, {})
    assert (late.outcome, late.detail, late.scores) == ("timeout", "late", ())
    assert [score.score_id for score in accepted.scores] == ["by-bo", "other", "own", "new"]
    assert (accepted.scores[0].agent, accepted.scores[2].apart) == ("bo", {"closures": 1})
    (signal,) = build_signals(run)
    assert (signal.event, signal.agent, signal.meta, signal.ts) == ("ORANGE", "ada", {"length": "4"}, events[-1].time)


def test_an_output_beside_the_log_is_shown_by_its_digest_until_it_is_at_hand() -> None:
    drafts = [
        post(DiscoveryStarted(run_id="r", probe_id="p")),
        post(
            DiscoveryAttempted(
                run_id="r", attempt=1, outcome="accepted", claimed=ModelIdentity(model_name="m"), output_digest="b" * 64
            )
        ),
    ]
    run = DiscoveryRun.of(events_of(drafts), [])
    assert run.evidence() == {"b" * 64}
    for texts, wanted in (
        ({}, {"probe_id": "p", "output_digest": "b" * 64}),
        ({"b" * 64: "text"}, {"probe_id": "p", "raw_output": "text"}),
        ({"b" * 64: None}, {"probe_id": "p", "output_digest": "b" * 64, "erased": True}),
    ):
        (result,) = build_report(run, texts).results or ()
        assert msgspec.to_builtins(result.probe) == wanted
    assert [build_attempts(run, {"b" * 64: gone})[0].erased for gone in ("text", None)] == [None, True]

"""Random payloads of scenarios and evaluations, as runners of any kind post them: what is optional may be missing."""

from typing import Any

from hypothesis import strategies as st

from events.evaluation import (
    EvalFinished,
    EvalScenarioCaptured,
    EvalScenarioRevised,
    EvalScored,
    EvalStarted,
    ScoreState,
)

SUITES = ("incidents", "drills")
AGENTS = (None, "rca", "rival")
VERSIONS = (None, "1", "2")
SCENARIOS = ("c0", "c1", "c2", "elsewhere")
"""Names of scenarios, of which some are captured."""

SCORERS = ((None, None), ("rca", None), ("rca", "1"), ("rca", "2"), ("other", "1"))
DIGESTS = (None, None, "a" * 64, "b" * 64)
STATES: tuple[ScoreState, ...] = ("scored", "scored", "scored", "error", "skipped")
POINTS = (0.0, 20.0, 50.0, 69.9, 70.0, 100.0)
WEIGHTS = (None, None, 0.0, 0.5, 1.0, 3.0)

_about = {"name": st.none() | st.sampled_from(("Image pull", "Café")), "family": st.sampled_from((None, "pods"))}

_tokens = st.none() | st.sampled_from((0, 1, 1_200, 2**53 - 1))
_used: st.SearchStrategy[dict[str, Any]] = st.just({}) | st.fixed_dictionaries(
    {
        "input_tokens": _tokens,
        "output_tokens": _tokens,
        "cost_usd": st.none() | st.sampled_from((0.0, 0.1, 0.2, 0.0123, 3.0, 1e6)),
        "elapsed_ns": st.none() | st.integers(0, 10**12),
    }
)

captured = st.builds(EvalScenarioCaptured, fixture_digest=st.just("a" * 64), **_about)
revised = st.builds(EvalScenarioRevised, scenario_id=st.just("?"), fixture_digest=st.just("b" * 64), **_about)


@st.composite
def _starts(draw: st.DrawFn) -> EvalStarted:
    scorer_id, scorer_version = draw(st.sampled_from(SCORERS))
    return EvalStarted(
        suite=draw(st.sampled_from(SUITES)),
        agent=draw(st.sampled_from(AGENTS)),
        agent_version=draw(st.sampled_from(VERSIONS)),
        baseline=draw(st.sampled_from((None, None, None, "empty", "most_frequent"))),
        scenarios=draw(st.none() | st.integers(0, 3)),
        attempts=draw(st.none() | st.integers(1, 3)),
        scorer_id=scorer_id,
        scorer_version=scorer_version,
        selection=draw(st.sampled_from((None, "image"))),
        meta=draw(st.sampled_from((None, {"commit": "abc"}))),
    )


@st.composite
def _scores(draw: st.DrawFn) -> EvalScored:
    state = draw(st.sampled_from(STATES))
    scorer_id, scorer_version = draw(st.sampled_from(SCORERS))
    points = draw(st.sampled_from(POINTS)) if state == "scored" else None
    return EvalScored(
        run_id="?",
        scenario_id=draw(st.sampled_from(SCENARIOS)),
        attempt=draw(st.integers(1, 3)),
        state=state,
        failure=draw(st.sampled_from((None, "crash"))) if state == "error" else None,
        total_score=points,
        passed=None if points is None else points >= 70,
        weight=draw(st.sampled_from(WEIGHTS)),
        fixture_digest=draw(st.sampled_from(DIGESTS)),
        expectation_digest=draw(st.sampled_from(DIGESTS)),
        scorer_id=scorer_id,
        scorer_version=scorer_version,
        agent=draw(st.sampled_from(AGENTS)),
        agent_version=draw(st.sampled_from(VERSIONS)),
        **draw(_used),
    )


evaluated = _starts()
marked = _scores()
concluded = st.builds(EvalFinished, run_id=st.just("?"), reason=st.none() | st.just("stopped"), elapsed_ns=st.just(7))

"""One payload for each published type, with every field filled, and the envelope that carries it in tests/golden/."""

from datetime import UTC, datetime

from events import VOCABULARY, Line, Payload, encode_line
from events.decision import (
    Bridge,
    DecisionAmended,
    DecisionAsked,
    DecisionRecorded,
    DecisionReviewed,
    DecisionThought,
    Deliberation,
    DeliberationInput,
    DeliberationStep,
    PreDecision,
    Reason,
    TraceStep,
)
from events.thought import ThoughtAdopted, ThoughtRecorded

_REASON = Reason(type="analysis", text="One writer is enough", strength=0.75)
_BRIDGE = Bridge(
    structure="one file beside the process",
    function="durable memory",
    tolerance=("page size",),
    enforcement=("synced commits",),
    prevention=("a second writer",),
)
_DELIBERATION = Deliberation(
    inputs=(DeliberationInput(id="i1", text="Load figures", source="benchmark", timestamp="2026-11-21T08:00:00Z"),),
    steps=(
        DeliberationStep(
            step=1,
            thought="The load fits one writer",
            inputs_used=("i1",),
            timestamp="2026-11-21T08:01:00Z",
            duration_ms=1500,
            type="comparison",
            conclusion=True,
        ),
    ),
    total_duration_ms=1500,
    convergence_point=1,
)

SAMPLES: dict[str, Payload] = {
    "decision.recorded.v1": DecisionRecorded(
        decision_id="3f2a9c1e",
        decision='Use SQLite: "één bestand" \\ one file\nno server',
        confidence=0.8,
        category="architecture",
        stakes="high",
        context="Choosing the embedded store",
        reasons=(_REASON,),
        tags=("storage", "sqlite"),
        pattern="Prefer the embedded engine",
        mental_state="deliberate",
        review_by=datetime(2026, 12, 24, 18, 0, tzinfo=UTC),
        kpi_indicators=("appends_per_s",),
        pre_decision=PreDecision(query_run=True, similar_found=2, guardrails_checked=True, guardrails_passed=False),
        trace=(TraceStep(step=1, thought="Compare", output="SQLite", confidence=0.6, tags=("compare",)),),
        deliberation=_DELIBERATION,
        bridge=_BRIDGE,
        project="tallystick",
        feature="ledger",
        pr=17,
        file="ledger/sqlite.py",
        line=42,
        commit="ecbda25",
    ),
    "decision.amended.v1": DecisionAmended(
        decision_id="3f2a9c1e",
        decision="Use SQLite in WAL mode",
        confidence=0.85,
        context="After measuring",
        reasons=(_REASON,),
        tags=("wal",),
        pattern="Measure, then decide",
        bridge=_BRIDGE,
    ),
    "decision.thought.v1": DecisionThought(decision_id="3f2a9c1e", text="Checkpoints are the writer's alone"),
    "decision.asked.v1": DecisionAsked(decision_id="3f2a9c1e", question="Which store? (é)"),
    "decision.reviewed.v1": DecisionReviewed(
        decision_id="3f2a9c1e",
        outcome="success",
        actual_result="5,000 synced commits a second",
        lessons="Batch commits",
        notes="Measured on two cores",
        affected_kpis={"appends_per_s": 4.5, "p99_ms": -0.25},
    ),
    "thought.recorded.v1": ThoughtRecorded(
        thought_id="51f0c3aa",
        text='One writer could be enough: "één"',
        agent_id="planner",
        decision_id="storage-choice",
    ),
    "thought.adopted.v1": ThoughtAdopted(thought_id="51f0c3aa", decision_id="3f2a9c1e"),
}


def line_of(type_: str, payload: Payload) -> bytes:
    """The stored line of a payload, every attribute filled with the same values."""
    kind = VOCABULARY.kinds[type_]
    return encode_line(
        Line(
            specversion="1.0",
            id="0193abcd-0000-7001-8000-00000000002a",
            source="/agents/claude",
            type=type_,
            subject=f"{kind.stream}/{kind.stream_id(payload)}",
            time="2026-11-21T08:30:00.000001Z",
            recordedtime="2026-11-21T08:30:00.250000Z",
            position=42,
            streamversion=3,
            traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            correlationid="order-66",
            causationid="0193abcc-0000-7001-8000-000000000001",
            data=payload,
        )
    )

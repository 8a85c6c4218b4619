"""One payload for each published type, with every field filled, and its envelope in tests/golden/."""

from datetime import UTC, datetime

from msgspec import structs

from events.call import CallRecorded, CallRecordedV1
from events.decision import (
    Bridge,
    DecisionAmended,
    DecisionAsked,
    DecisionPreserved,
    DecisionRecorded,
    DecisionRecordedV1,
    DecisionRetracted,
    DecisionReviewed,
    DecisionReviewedV1,
    DecisionTestStated,
    DecisionThought,
    Deliberation,
    DeliberationInput,
    DeliberationStep,
    PreDecision,
    Reason,
    TraceStep,
)
from events.discovery import (
    BatteryProbe,
    DiscoveryAttempted,
    DiscoveryFinished,
    DiscoverySignalled,
    DiscoverySignalledLate,
    DiscoveryStarted,
    DiscoveryStartedV1,
)
from events.envelope import Line, encode_line
from events.evaluation import EvalScoredV2, EvalStarted
from events.evidence import EvidenceErased, EvidenceStored
from events.link import DecisionLinked
from events.model import (
    ModelAliased,
    ModelIdentity,
    ModelRegistered,
    ModelRegisteredV1,
    WrapperDeclared,
    WrapperWithdrawn,
)
from events.payload import Payload
from events.probe import ProbeScored, ProbeScoredV1
from events.registry import VOCABULARY
from events.session import SessionFile, SessionRecorded
from events.thought import RelatedDecision, ThoughtAdopted, ThoughtRecorded, ThoughtTracked
from events.vector import DecisionEmbedded, ThoughtEmbedded
from tests.events.alert_samples import ALERT_SAMPLES
from tests.events.evaluation_samples import EVALUATION_SAMPLES
from tests.events.judging_samples import JUDGING_SAMPLES, scored_by_judge
from tests.events.rule_samples import RULE_SAMPLES

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
_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_IDENTITY = ModelIdentity(model_name="Example-Large", provider="Example", version="2026", wrapper="an editor")

SAMPLES: dict[str, Payload] = {
    "decision.recorded.v1": DecisionRecordedV1(
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
    "decision.reviewed.v1": DecisionReviewedV1(
        decision_id="3f2a9c1e",
        outcome="success",
        actual_result="5,000 synced commits a second",
        lessons="Batch commits",
        notes="Measured on two cores",
        affected_kpis={"appends_per_s": 4.5, "p99_ms": -0.25},
    ),
    "decision.reviewed.v2": DecisionReviewed(
        decision_id="3f2a9c1e",
        outcome="success",
        actual_result="5,000 synced commits a second",
        lessons="Batch commits",
        notes="Measured on two cores",
        affected_kpis={"appends_per_s": 4.5, "p99_ms": -0.25},
        rule="git.kept",
        rule_version=1,
        basis="deadline",
        due="2026-11-20T09:00:00.000000Z",
        evidence=("0a0b61c2", "0a0b61c3"),
    ),
    "decision.test_stated.v1": DecisionTestStated(
        decision_id="3f2a9c1e",
        rule="git.kept",
        version=1,
        subject="commit:1691d44",
        params={"fixes": "ignore", "names": ("one", "two"), "percent": 50},
        start="2026-11-06T09:00:00Z",
        window_s=1_209_600,
        grace_s=86_400,
    ),
    "decision.preserved.v1": DecisionPreserved(decision_id="3f2a9c1e", preserve=True),
    "decision.embedded.v1": DecisionEmbedded(
        decision_id="3f2a9c1e", model="bge-small (é)", vector="AAAAPA==", of="thought"
    ),
    "decision.retracted.v1": DecisionRetracted(
        decision_id="3f2a9c1e", reason="Imported twice: it is decision 9b01 (één)"
    ),
    "decision.linked.v1": DecisionLinked(
        link_id="7c01d2e4",
        source_id="3f2a9c1e",
        target_id="77aa01be",
        edge_type="supersedes",
        weight=0.75,
        context="The load has doubled since",
        created_by="auto-link",
    ),
    "thought.recorded.v1": ThoughtRecorded(
        thought_id="51f0c3aa",
        text='One writer could be enough: "één"',
        agent_id="planner",
        decision_id="storage-choice",
    ),
    "thought.tracked.v1": ThoughtTracked(
        thought_id="51f0c3ab",
        kind="query",
        text="Queried 'one writer': 2 results (keyword)",
        method="cstp:queryDecisions",
        related=(RelatedDecision(decision_id="3f2a9c1e", distance=0.25),),
        agent_id="claude",
    ),
    "thought.embedded.v1": ThoughtEmbedded(thought_id="51f0c3aa", model="bge-small", vector="zTgzOg=="),
    "thought.adopted.v1": ThoughtAdopted(thought_id="51f0c3aa", decision_id="3f2a9c1e"),
    "discovery.started.v1": DiscoveryStartedV1(
        run_id="night-7",
        probe_id="refactor-go",
        probe_version="1",
        prompt_version="1",
        max_iterations=15,
        max_attempts=40,
        terminate_on_repeat=True,
        keep_going=False,
        sensitive=True,
        router="openai:http://127.0.0.1:4000/v1",
        requested_model="auto",
        start_time="2026-11-21T10:30:00.000001234+02:00",
    ),
    "discovery.started.v2": DiscoveryStarted(
        run_id="night-7",
        probe_id="refactor-go",
        probe_version="1",
        prompt_version="1",
        max_iterations=15,
        max_attempts=40,
        terminate_on_repeat=True,
        keep_going=False,
        sensitive=True,
        router="openai:http://127.0.0.1:4000/v1",
        requested_model="auto",
        battery=(
            BatteryProbe(probe_id="refactor-go", probe_version="1"),
            BatteryProbe(probe_id="debugging", probe_version="2"),
        ),
        start_time="2026-11-21T10:30:00.000001234+02:00",
    ),
    "discovery.attempted.v1": DiscoveryAttempted(
        run_id="night-7",
        attempt=2,
        outcome="accepted",
        iteration=1,
        claimed=_IDENTITY,
        reported_model="example-large-2026-11-01",
        exclusion_prompt="Excluded: example-small (Example)\n",
        response='{"model_name": "Example-Large"}\n```go\nfunc f() {}\n```',
        response_digest="8e32af8e0b5b1f2e0ac22e1cd3c3b3bb5ee1c12f3f0a2f1a4b0d8d6d3e2f1c0a",
        output="func f() {}",
        output_digest="0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
        elapsed_ns=1_250_000_000,
        tokens_used=812,
        detail="it names one model",
        timestamp="2026-11-21T10:30:02.5+02:00",
    ),
    "discovery.signalled.v1": DiscoverySignalled(
        run_id="night-7",
        event="ORANGE",
        agent="watcher",
        case_id="case-3",
        step="2",
        meta={"length": "5120", "begins": "I am café"},
        ts="2026-11-21T10:30:03+02:00",
    ),
    "discovery.finished.v1": DiscoveryFinished(
        run_id="night-7",
        reason="repeat at iteration 2: model example-large seen at iteration 1",
        ending="repeat",
        end_time="2026-11-21T10:31:00+02:00",
        unique_models=(_IDENTITY,),
    ),
    "discovery.signalled_late.v1": DiscoverySignalledLate(
        run_id="night-7",
        event="checked",
        agent="watcher",
        case_id="case-3",
        step="5",
        meta={"verdict": "the gateway's own name, naïve"},
        ts="2026-11-21T11:02:00+02:00",
    ),
    "model.registered.v1": ModelRegisteredV1(
        key="example-large", provider="Example", name="Example Large", note="the one we pay for"
    ),
    "model.registered.v2": ModelRegistered(
        key="example-large", provider="Example", name="Example Large", version="2026-11", note="the one we pay for"
    ),
    "model.aliased.v1": ModelAliased(key="example-large", alias="Example/XL:latest"),
    "wrapper.declared.v1": WrapperDeclared(key="acme-gateway", name="Acme Gateway", note="our gateway à la carte"),
    "wrapper.withdrawn.v1": WrapperWithdrawn(key="acme-gateway", note="it is a model since March"),
    "probe.scored.v1": ProbeScoredV1(
        score_id="c41d0e77",
        probe_id="refactor-go",
        probe_version="1",
        scorer_id="refactor-go",
        scorer_version="2",
        run_id="night-7",
        attempt=2,
        model_name="Example-Large",
        output_digest="0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
        valid=True,
        counts={"renames": 6, "function_splits": 2, "comments_added": 0, "structural_changes": 3},
        total_score=0.6541666666666667,
        dimension_scores={"naming": 1.0, "decomposition": 0.6666666666666666},
        apart={"unreached": 1},
    ),
    **EVALUATION_SAMPLES,
    "call.recorded.v1": CallRecordedV1(
        call_id="0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        trace_id="0af7651916cd43dd8448eb211c80319c",
        span_id="b7ad6b7169203331",
        parent_span_id="00f067aa0ba902b7",
        operation="chat",
        provider="example",
        agent="triage",
        agent_version="1.4.0",
        model="Example-Large",
        reported_model="vendor/example-large-20261001",
        tool="query_logs",
        response_id="chatcmpl-7",
        conversation_id="thread-3",
        input_tokens=2_400,
        output_tokens=310,
        cost_usd=0.0125,
        elapsed_ns=4_500_000_000,
        error="timeout",
    ),
    "session.recorded.v1": SessionRecorded(
        session_id="cc-0b6f7ae2-3f5c-4a51-9f1d-6a3c5d1f2e4b",
        program="claude-code",
        reader=1,
        versions=("2.1.235", "2.1.236"),
        first_time="2026-11-21T08:00:00.000Z",
        last_time="2026-11-21T08:29:59.120Z",
        headless=True,
        prompts=4,
        interruptions=1,
        compactions=1,
        api_errors=2,
        model_changes=1,
        subagents=2,
        missing_subagents=1,
        pull_requests=1,
        commits=("f473b59",),
        unknown_lines=3,
        unfinished=2,
        files=(SessionFile(size_bytes=4, digest=_DIGEST, evidence=(_DIGEST,), lines=2, repaired=1, lost=1),),
    ),
    "evidence.stored.v1": EvidenceStored(
        digest="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        size_bytes=4,
        media_type="text/plain; charset=utf-8",
        note='A raw response: "één"',
    ),
    "evidence.erased.v1": EvidenceErased(
        digest="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        reason="It named a person",
    ),
    **RULE_SAMPLES,
    **ALERT_SAMPLES,
    **JUDGING_SAMPLES,
}

_ADDED: dict[str, tuple[type[Payload], dict[str, object]]] = {
    "decision.recorded": (DecisionRecorded, {"cluster": "task-7"}),
    "probe.scored": (ProbeScored, {}),
    "eval.scored": (EvalScoredV2, {"confidence": 0.85}),
}
"""The payloads of version 2, and what they add to the samples of version 1, beside the names of the model."""

for _name, (_payload, _more) in _ADDED.items():
    _stated: dict[str, object] = dict(_more, reported_model="vendor/example-large-20261001")
    if "model" in _payload.__struct_fields__:
        _stated["model"] = "Example-Large"
    SAMPLES[f"{_name}.v2"] = _payload(**structs.asdict(SAMPLES[f"{_name}.v1"]), **_stated)

SAMPLES["eval.started.v2"] = EvalStarted(
    **structs.asdict(SAMPLES["eval.started.v1"]),
    suite_files_digest=_DIGEST,
    imported_from="inspect_ai 0.3.285",
    source_digest=_DIGEST,
)
SAMPLES["call.recorded.v2"] = CallRecorded(
    **structs.asdict(SAMPLES["call.recorded.v1"]),
    cache_read_tokens=1_800,
    cache_write_tokens=300,
    switch="announced",
    verdict="denied",
    denied_by="rule",
    basis="inferred",
)
SAMPLES["eval.scored.v3"] = scored_by_judge(SAMPLES["eval.scored.v2"])


def line_of(type_: str, payload: Payload) -> bytes:
    """The stored line of a payload, every attribute filled with the same values."""
    kind = VOCABULARY.event_types[type_]
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

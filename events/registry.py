"""The registry of event types: which types there are, each with its payload, stream, life and authors."""

from functools import partial

from events.alert import AlertCheckpointUnsigned, AlertDriftDetected, AlertGateJudged, AlertReviewOverdue
from events.breaker import BreakerReset, BreakersConfigured
from events.call import CallRecorded, CallRecordedV1
from events.decision import (
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
)
from events.discovery import (
    DiscoveryAttempted,
    DiscoveryFinished,
    DiscoverySignalled,
    DiscoverySignalledLate,
    DiscoveryStarted,
    DiscoveryStartedV1,
)
from events.evaluation import (
    EvalFinished,
    EvalReopened,
    EvalScenarioCaptured,
    EvalScenarioRevised,
    EvalScored,
    EvalScoredV1,
    EvalScoredV2,
    EvalStarted,
    EvalStartedV1,
)
from events.evidence import EvidenceErased, EvidenceStored
from events.guardrail import GuardrailEvaluated, GuardrailRetired, GuardrailSet
from events.judge import EvalLabelled, JudgeCompared
from events.life import Author, Life
from events.link import DecisionLinked
from events.model import ModelAliased, ModelRegistered, ModelRegisteredV1, WrapperDeclared, WrapperWithdrawn
from events.observation import AttestationRecorded, ObservationRecorded, ObservationRecordedV1, ObservationScanned
from events.probe import ProbeScored, ProbeScoredV1
from events.session import SessionRecorded
from events.thought import ThoughtAdopted, ThoughtRecorded, ThoughtTracked
from events.vector import DecisionEmbedded, ThoughtEmbedded
from events.vocabulary import EventType, Vocabulary
from events.webhook import WebhookAbandoned, WebhookDelivered, WebhookEnded, WebhookStarted

_decision = partial(EventType, stream="decision", id_field="decision_id")
_link = partial(EventType, stream="link", id_field="link_id", by=Author.OWNER)
_thought = partial(EventType, stream="thought", id_field="thought_id")
_discovery = partial(EventType, stream="discovery", id_field="run_id", by=Author.OWNER)
_signal = partial(EventType, stream="signal", id_field="run_id", by=Author.OWNER, linked=("discovery", "run_id"))
_model = partial(EventType, stream="model", id_field="key")
_wrapper = partial(EventType, stream="wrapper", id_field="key", life=Life.REPEATS)
_probe = partial(EventType, stream="probe", id_field="score_id")
_evidence = partial(EventType, stream="evidence", id_field="digest", by=Author.LEDGER)
_observation = partial(EventType, stream="observation", id_field="observation_id")
_scan = partial(EventType, stream="scan", id_field="scan_id")
_attestation = partial(
    EventType, stream="attestation", id_field="attestation_id", by=Author.OWNER, linked=("decision", "decision_id")
)
_breakers = partial(EventType, stream="breakers", id_field="config_id", by=Author.ADMIN)
_reset = partial(EventType, stream="reset", id_field="reset_id")
_scenario = partial(EventType, stream="scenario", id_field="scenario_id", by=Author.OWNER)
_evaluation = partial(EventType, stream="evaluation", id_field="run_id", by=Author.OWNER)
_label = partial(EventType, stream="label", id_field="label_id", by=Author.REVIEWER)
_comparison = partial(EventType, stream="comparison", id_field="comparison_id")
_call = partial(EventType, stream="call", id_field="call_id")
_session = partial(EventType, stream="session", id_field="session_id", by=Author.OWNER)
_guardrail = partial(EventType, stream="guardrail", id_field="guardrail_id", by=Author.ADMIN)
_check = partial(EventType, stream="check", id_field="check_id", by=Author.IMPORTER)
_alert = partial(EventType, stream="alert", id_field="alert_id", life=Life.SINGLE, by=Author.SERVER)
_webhook = partial(EventType, stream="webhook", id_field="endpoint_id", by=Author.SERVER)

VOCABULARY = Vocabulary(
    [
        _decision("decision.recorded.v1", DecisionRecordedV1, life=Life.OPENS, read_as=DecisionRecorded),
        _decision("decision.recorded.v2", DecisionRecorded, life=Life.OPENS),
        _decision("decision.amended.v1", DecisionAmended, life=Life.CONTINUES, by=Author.OWNER),
        _decision("decision.thought.v1", DecisionThought, life=Life.CONTINUES, by=Author.OWNER),
        _decision("decision.asked.v1", DecisionAsked, life=Life.CONTINUES, by=Author.OWNER),
        _decision("decision.test_stated.v1", DecisionTestStated, life=Life.CONTINUES, by=Author.OWNER),
        _decision(
            "decision.reviewed.v1", DecisionReviewedV1, life=Life.CONTINUES, by=Author.FIRST, read_as=DecisionReviewed
        ),
        _decision("decision.reviewed.v2", DecisionReviewed, life=Life.CONTINUES, by=Author.FIRST),
        _decision("decision.preserved.v1", DecisionPreserved, life=Life.CONTINUES, by=Author.OWNER),
        _decision("decision.embedded.v1", DecisionEmbedded, life=Life.CONTINUES, by=Author.OWNER),
        _decision("decision.retracted.v1", DecisionRetracted, life=Life.CLOSES, by=Author.OWNER),
        _link("decision.linked.v1", DecisionLinked, life=Life.SINGLE, linked=("decision", "source_id")),
        _thought("thought.recorded.v1", ThoughtRecorded, life=Life.OPENS),
        _thought("thought.tracked.v1", ThoughtTracked, life=Life.OPENS),
        _thought("thought.embedded.v1", ThoughtEmbedded, life=Life.CONTINUES, by=Author.OWNER),
        _thought(
            "thought.adopted.v1",
            ThoughtAdopted,
            life=Life.CLOSES,
            by=Author.OWNER,
            linked=("decision", "decision_id"),
        ),
        _discovery("discovery.started.v1", DiscoveryStartedV1, life=Life.OPENS, read_as=DiscoveryStarted),
        _discovery("discovery.started.v2", DiscoveryStarted, life=Life.OPENS),
        _discovery("discovery.attempted.v1", DiscoveryAttempted, life=Life.CONTINUES),
        _discovery("discovery.signalled.v1", DiscoverySignalled, life=Life.CONTINUES),
        _discovery("discovery.finished.v1", DiscoveryFinished, life=Life.CLOSES),
        _signal("discovery.signalled_late.v1", DiscoverySignalledLate, life=Life.REPEATS),
        _model("model.registered.v1", ModelRegisteredV1, life=Life.OPENS, read_as=ModelRegistered),
        _model("model.registered.v2", ModelRegistered, life=Life.OPENS),
        _model("model.aliased.v1", ModelAliased, life=Life.CONTINUES),
        _wrapper("wrapper.declared.v1", WrapperDeclared),
        _wrapper("wrapper.withdrawn.v1", WrapperWithdrawn),
        _probe("probe.scored.v1", ProbeScoredV1, life=Life.SINGLE, read_as=ProbeScored),
        _probe("probe.scored.v2", ProbeScored, life=Life.SINGLE),
        _scenario("eval.scenario_captured.v1", EvalScenarioCaptured, life=Life.OPENS),
        _scenario("eval.scenario_revised.v1", EvalScenarioRevised, life=Life.CONTINUES),
        _evaluation("eval.started.v1", EvalStartedV1, life=Life.OPENS, read_as=EvalStarted),
        _evaluation("eval.started.v2", EvalStarted, life=Life.OPENS),
        _evaluation("eval.scored.v1", EvalScoredV1, life=Life.CONTINUES, read_as=EvalScored),
        _evaluation("eval.scored.v2", EvalScoredV2, life=Life.CONTINUES, read_as=EvalScored),
        _evaluation("eval.scored.v3", EvalScored, life=Life.CONTINUES),
        _evaluation("eval.finished.v1", EvalFinished, life=Life.CLOSES),
        _evaluation("eval.reopened.v1", EvalReopened, life=Life.REOPENS),
        _label("eval.labelled.v1", EvalLabelled, life=Life.REPEATS),
        _comparison("judge.compared.v1", JudgeCompared, life=Life.SINGLE),
        _call("call.recorded.v1", CallRecordedV1, life=Life.SINGLE, read_as=CallRecorded),
        _call("call.recorded.v2", CallRecorded, life=Life.SINGLE),
        _session("session.recorded.v1", SessionRecorded, life=Life.REPEATS),
        _evidence("evidence.stored.v1", EvidenceStored, life=Life.OPENS),
        _evidence("evidence.erased.v1", EvidenceErased, life=Life.CLOSES),
        _guardrail("guardrail.set.v1", GuardrailSet, life=Life.REPEATS),
        _guardrail("guardrail.retired.v1", GuardrailRetired, life=Life.CONTINUES),
        _check("guardrail.evaluated.v1", GuardrailEvaluated, life=Life.SINGLE),
        _observation("observation.recorded.v1", ObservationRecordedV1, life=Life.SINGLE, read_as=ObservationRecorded),
        _observation("observation.recorded.v2", ObservationRecorded, life=Life.SINGLE, by=Author.OBSERVER),
        _scan("observation.scanned.v1", ObservationScanned, life=Life.SINGLE, by=Author.OBSERVER),
        _attestation("attestation.recorded.v1", AttestationRecorded, life=Life.SINGLE),
        _breakers("breakers.configured.v1", BreakersConfigured, life=Life.SINGLE),
        _reset("breaker.reset.v1", BreakerReset, life=Life.SINGLE),
        _alert("alert.drift_detected.v1", AlertDriftDetected),
        _alert("alert.gate_judged.v1", AlertGateJudged),
        _alert("alert.review_overdue.v1", AlertReviewOverdue),
        _alert("alert.checkpoint_unsigned.v1", AlertCheckpointUnsigned),
        _webhook("webhook.started.v1", WebhookStarted, life=Life.OPENS),
        _webhook("webhook.delivered.v1", WebhookDelivered, life=Life.CONTINUES),
        _webhook("webhook.abandoned.v1", WebhookAbandoned, life=Life.CONTINUES),
        _webhook("webhook.ended.v1", WebhookEnded, life=Life.CLOSES),
    ]
)
"""The event types of this version of Tallystick."""

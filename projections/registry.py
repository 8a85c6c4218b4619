"""The list of all projections."""

from projections.alert_index import AlertIndex
from projections.breaker_states import BreakerStates
from projections.calibration.calibration import Calibration
from projections.calibration.reason_index import ReasonIndex
from projections.call_index import CallIndex
from projections.changes.change_index import ChangeIndex
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.link_graph import LinkGraph
from projections.decisions.thought_index import ThoughtIndex
from projections.discovery.attempt_index import AttemptIndex
from projections.discovery.probe_score_index import ProbeScoreIndex
from projections.discovery.run_index import RunIndex
from projections.evaluation.evaluation_index import EvaluationIndex
from projections.evaluation.judge_index import JudgeIndex
from projections.event_index import EventIndex
from projections.evidence_index import EvidenceIndex
from projections.guardrails.guardrail_index import GuardrailIndex
from projections.observation_counts import ObservationCounts
from projections.projection import Projection
from projections.resolve.stated_tests import StatedTests
from projections.sessions.session_index import SessionIndex
from projections.webhook_index import WebhookIndex

PROJECTIONS: tuple[type[Projection], ...] = (
    DecisionIndex,
    Calibration,
    ReasonIndex,
    ThoughtIndex,
    RunIndex,
    AttemptIndex,
    ProbeScoreIndex,
    EvaluationIndex,
    JudgeIndex,
    CallIndex,
    EvidenceIndex,
    AlertIndex,
    BreakerStates,
    GuardrailIndex,
    LinkGraph,
    ObservationCounts,
    ChangeIndex,
    StatedTests,
    SessionIndex,
    WebhookIndex,
    EventIndex,
)
"""Every projection, in the order in which the engine folds them."""

"""The list of all projections."""

from projections.calibration.calibration import Calibration
from projections.calibration.reason_index import ReasonIndex
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.pending_thoughts import ThoughtIndex
from projections.discovery.probe_score_index import ProbeScoreIndex
from projections.discovery.run_index import RunIndex
from projections.discovery.sighting_index import SightingIndex
from projections.evaluation.evaluation_index import EvaluationIndex
from projections.evidence import EvidenceIndex
from projections.projection import Projection

PROJECTIONS: tuple[type[Projection], ...] = (
    DecisionIndex,
    Calibration,
    ReasonIndex,
    ThoughtIndex,
    RunIndex,
    SightingIndex,
    ProbeScoreIndex,
    EvaluationIndex,
    EvidenceIndex,
)
"""Every projection, in the order in which the engine folds them."""

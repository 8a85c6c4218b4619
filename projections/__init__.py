"""The views: pure folds over events, and the engine that replays them."""

from projections.advice import Category, Recommendation
from projections.calibration import (
    GROUPINGS,
    MIN_DECISIONS,
    Calibration,
    CalibrationView,
    Filter,
    Group,
    GroupBy,
    breadth,
    calibrate,
    categories,
)
from projections.cells import History, Range, Table
from projections.comparison import Compared, Pair
from projections.contrast import contrast
from projections.corp import Corp
from projections.course import INCLUSIONS, Course, Inclusion, chart
from projections.decisions import STAKES, Counted, Decisions, Places, Selection, Sort, Status
from projections.decline import Alert, Decline, Limits, Span, compare_windows, examined
from projections.discrimination import Discrimination, discriminate
from projections.drift import Change, Drift
from projections.engine import Comparison, Engine, Progress
from projections.evaluation import (
    Board,
    BoardRow,
    Contrast,
    Evaluation,
    EvaluationHead,
    McNemar,
    Pooled,
    ScenarioChange,
    ScenarioResult,
    ScoreRow,
    SuiteBoard,
    TrendPoint,
    Verdict,
)
from projections.evaluations import Evaluations, EvaluationSelection
from projections.evidence import Erasure, Evidence, Exhibit
from projections.figures import Bucket, Coverage, Figures, Spread, ZTest
from projections.intervals import Interval
from projections.inventory import Inventory
from projections.listing import heads
from projections.merits import CountMerits, Merits, ReasonsView, TypeMerits
from projections.precedents import Plan, Precedent, precedent
from projections.probes import Probes
from projections.projection import Projection
from projections.reasons import MIN_REVIEWED, Reasons
from projections.recalibration import Meaning, Recalibration
from projections.report import (
    Attempt,
    AttemptScore,
    DiscoveryConfig,
    DiscoveryResult,
    ProbeResult,
    Run,
    RunDetail,
    RunReport,
    Signal,
    attempts_of,
    report_of,
    signals_of,
)
from projections.runs import RunEntry, Runs, RunSelection
from projections.scoreboard import VERSIONS, BoardWanted, scoreboard
from projections.scoring import ModelScores, ProbeScores, ScoresWanted, tabulate
from projections.search import Hits, Search, Side
from projections.sightings import InventoryView, Model, survey
from projections.snapshots import Snapshots
from projections.standing import Entry, Review, Standing, stand
from projections.thoughts import THOUGHT_AGE_MAX, Scope, Thought, Thoughts
from projections.transcript import evidence_of, transcribe
from projections.trend import TREND_DAYS, TREND_DAYS_MAX, Trend, Window
from projections.words import words_of

PROJECTIONS: tuple[type[Projection], ...] = (
    Decisions,
    Calibration,
    Reasons,
    Thoughts,
    Runs,
    Inventory,
    Probes,
    Evaluations,
    Evidence,
)
"""Every projection of the house."""

__all__ = [
    "GROUPINGS",
    "INCLUSIONS",
    "MIN_DECISIONS",
    "MIN_REVIEWED",
    "PROJECTIONS",
    "STAKES",
    "THOUGHT_AGE_MAX",
    "TREND_DAYS",
    "TREND_DAYS_MAX",
    "VERSIONS",
    "Alert",
    "Attempt",
    "AttemptScore",
    "Board",
    "BoardRow",
    "BoardWanted",
    "Bucket",
    "Calibration",
    "CalibrationView",
    "Category",
    "Change",
    "Compared",
    "Comparison",
    "Contrast",
    "Corp",
    "CountMerits",
    "Counted",
    "Course",
    "Coverage",
    "Decisions",
    "Decline",
    "DiscoveryConfig",
    "DiscoveryResult",
    "Discrimination",
    "Drift",
    "Engine",
    "Entry",
    "Erasure",
    "Evaluation",
    "EvaluationHead",
    "EvaluationSelection",
    "Evaluations",
    "Evidence",
    "Exhibit",
    "Figures",
    "Filter",
    "Group",
    "GroupBy",
    "History",
    "Hits",
    "Inclusion",
    "Interval",
    "Inventory",
    "InventoryView",
    "Limits",
    "McNemar",
    "Meaning",
    "Merits",
    "Model",
    "ModelScores",
    "Pair",
    "Places",
    "Plan",
    "Pooled",
    "Precedent",
    "ProbeResult",
    "ProbeScores",
    "Probes",
    "Progress",
    "Projection",
    "Range",
    "Reasons",
    "ReasonsView",
    "Recalibration",
    "Recommendation",
    "Review",
    "Run",
    "RunDetail",
    "RunEntry",
    "RunReport",
    "RunSelection",
    "Runs",
    "ScenarioChange",
    "ScenarioResult",
    "Scope",
    "ScoreRow",
    "ScoresWanted",
    "Search",
    "Selection",
    "Side",
    "Signal",
    "Snapshots",
    "Sort",
    "Span",
    "Spread",
    "Standing",
    "Status",
    "SuiteBoard",
    "Table",
    "Thought",
    "Thoughts",
    "Trend",
    "TrendPoint",
    "TypeMerits",
    "Verdict",
    "Window",
    "ZTest",
    "attempts_of",
    "breadth",
    "calibrate",
    "categories",
    "chart",
    "compare_windows",
    "contrast",
    "discriminate",
    "evidence_of",
    "examined",
    "heads",
    "precedent",
    "report_of",
    "scoreboard",
    "signals_of",
    "stand",
    "survey",
    "tabulate",
    "transcribe",
    "words_of",
]

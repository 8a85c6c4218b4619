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
    calibrate,
    categories,
)
from projections.cells import Range, Table
from projections.corp import Corp
from projections.decisions import STAKES, Counted, Decisions, Selection, Sort, Status
from projections.engine import Comparison, Engine, Progress
from projections.figures import Bucket, Coverage, Figures, Spread, ZTest
from projections.intervals import Interval
from projections.precedents import Plan, Precedent, precedent
from projections.projection import Projection
from projections.recalibration import Meaning, Recalibration
from projections.search import Hits, Search, Side
from projections.snapshots import Snapshots
from projections.standing import Entry, Review, Standing, stand
from projections.thoughts import THOUGHT_AGE_MAX, Scope, Thought, Thoughts
from projections.words import words_of

PROJECTIONS: tuple[type[Projection], ...] = (Decisions, Calibration, Thoughts)
"""Every projection of the house."""

__all__ = [
    "GROUPINGS",
    "MIN_DECISIONS",
    "PROJECTIONS",
    "STAKES",
    "THOUGHT_AGE_MAX",
    "Bucket",
    "Calibration",
    "CalibrationView",
    "Category",
    "Comparison",
    "Corp",
    "Counted",
    "Coverage",
    "Decisions",
    "Engine",
    "Entry",
    "Figures",
    "Filter",
    "Group",
    "GroupBy",
    "Hits",
    "Interval",
    "Meaning",
    "Plan",
    "Precedent",
    "Progress",
    "Projection",
    "Range",
    "Recalibration",
    "Recommendation",
    "Review",
    "Scope",
    "Search",
    "Selection",
    "Side",
    "Snapshots",
    "Sort",
    "Spread",
    "Standing",
    "Status",
    "Table",
    "Thought",
    "Thoughts",
    "ZTest",
    "calibrate",
    "categories",
    "precedent",
    "stand",
    "words_of",
]

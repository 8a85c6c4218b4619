"""The views: pure folds over events, and the engine that replays them."""

from projections.advice import Recommendation
from projections.calibration import GROUPINGS, MIN_DECISIONS, Calibration, CalibrationView, Filter, Group, GroupBy
from projections.cells import Range
from projections.decisions import STAKES, Counted, Decisions, Selection, Sort, Status
from projections.engine import Comparison, Engine, Progress
from projections.figures import Bucket, Figures, Spread
from projections.projection import Projection
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
    "Comparison",
    "Counted",
    "Decisions",
    "Engine",
    "Entry",
    "Figures",
    "Filter",
    "Group",
    "GroupBy",
    "Hits",
    "Progress",
    "Projection",
    "Range",
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
    "Thought",
    "Thoughts",
    "stand",
    "words_of",
]

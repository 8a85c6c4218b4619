"""An answer about calibration: how well stated confidence matches the outcomes.

The value of a success is 1, of a partial success 0.5, of a failure or abandoned decision 0. Only decisions with a
review and a stated confidence are used. Intervals are at 95%. Nothing is rounded.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from tallystick.shapes.comparison import AgentComparison
from tallystick.shapes.confidence_use import Concordance, MurphyPoint, ThresholdUse
from tallystick.shapes.dependence import Clusters, Dependence
from tallystick.shapes.history import Drift, Trend
from tallystick.shapes.missing_reviews import MissingReviews, ReviewsByAge
from tallystick.shapes.parts import OMITTED, AsOf, Interval, Part, UnknownName
from tallystick.shapes.plots import PlotData
from tallystick.shapes.recalibration import CategoryRecalibration, Recalibration

GapSide = Literal["over", "under", "well"]
Verdict = Literal[
    "well_calibrated", "overconfident", "slightly_overconfident", "underconfident", "slightly_underconfident"
]
BrierRating = Literal["excellent", "good", "fair", "poor"]
Severity = Literal["info", "warning"]

UnsureBecause = Literal["evidence", "missing_reviews", "each_confidence", "many_rows"]
"""Why a verdict is not confirmed.

"evidence": there is too little of it. "missing_reviews": the decisions without a review could reverse it.
"each_confidence": the gap is small, but only because gaps of single confidences cancel each other. "many_rows": one of
so many rows may look like this by chance.
"""


class ZTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test of the hypothesis that stated confidences are true probabilities.

    With named clusters its variance allows for these, and `p` is that of Student's t.
    """

    z: float
    """The test statistic, standard normal if calibration is perfect."""
    p: float
    """The two-sided p-value."""


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """How many decisions there are, and how many of them the scores use: reviewed, due, and with a confidence."""

    reviewed: int
    """Decisions that are used: they have a review and a stated confidence."""
    total: int
    """All decisions."""
    unreviewed: int
    """Decisions without a review."""
    without_confidence: int
    """Decisions that state no confidence."""
    early: int = 0
    """Decisions with a review that are not due yet; they are used once they are."""
    pending: int = 0
    """Decisions without a review that are not due yet."""
    overdue: int = 0
    """Decisions without a review that are due."""


class GapEValues(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence for each verdict on a gap, as e-values: 40 is called sure."""

    over: float
    """That the gap is below 0."""
    under: float
    """That the gap is above 0."""
    well: float
    """That the gap is within .1 of 0."""

    def of(self, side: GapSide) -> float:
        """Return the e-value of a verdict."""
        return {"over": self.over, "under": self.under, "well": self.well}[side]


class ReviewsNeeded(msgspec.Struct, frozen=True, kw_only=True):
    """After how many further reviews 80% of agents with a true gap have the verdict confirmed."""

    gap: float
    """The true gap."""
    reviews: int | None
    """The number of reviews; None if no number would do."""


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """A point of the calibration curve."""

    confidence: float
    """The stated confidence, 0..1."""
    reviewed: int
    """Decisions that stated it."""
    rate: float
    """Their mean outcome, 0..1."""
    recalibrated: float
    """The mean outcome that this confidence has meant, 0..1, never lower than that of a lower confidence."""


class BandPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A point of the bands of a calibrated agent: of its curve at this confidence, and of its whole curve."""

    confidence: float
    """The stated confidence, 0..1."""
    low: float
    """The lower end at this confidence: of 95% of samples."""
    high: float
    """The upper end at this confidence."""
    simultaneous_low: float
    """The lower end of the band that contains the whole curve in 95% of samples."""
    simultaneous_high: float
    """Its upper end."""


class Corp(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the Brier score, which is miscalibration minus discrimination plus uncertainty."""

    miscalibration: float
    """How far stated confidences are from the outcomes that they have meant."""
    discrimination: float
    """How well the confidences tell successes from failures."""
    uncertainty: float
    """The variance of the outcomes."""
    curve: tuple[CurvePoint, ...] | None = None
    """The calibration curve; with `detail="curves"` only."""
    band: tuple[BandPoint, ...] | None = None
    """The band of a calibrated agent; with `detail="curves"` only."""


class CalibrationScores(Coverage, frozen=True, kw_only=True):
    """The scores of a set of decisions. With named clusters, the intervals and the evidence allow for them."""

    brier_score: float
    """Mean squared distance of outcome and confidence; 0 is perfect."""
    accuracy: float
    """Mean outcome, 0..1."""
    mean_confidence: float
    """Mean stated confidence, 0..1."""
    gap: float
    """`accuracy` minus `mean_confidence`; below 0 the agent is overconfident."""
    interpretation: Verdict
    """The verdict on the gap, such as `overconfident`."""
    brier_reading: BrierRating
    """The Brier score in a word, such as `excellent`."""
    success: int
    """Decisions that succeeded."""
    partial: int
    """Decisions that succeeded in part."""
    failure: int
    """Decisions that failed."""
    abandoned: int
    """Decisions that were abandoned."""
    success_interval: Interval
    """The interval of the rate of full successes (Wilson)."""
    gap_interval: Interval
    """The interval of the gap, for one look."""
    supported: bool
    """Whether the evidence confirms the verdict, however often one looks."""
    reviews_needed: int | None
    """After how many further reviews 80% of such agents have it confirmed; 0 if it is, None if no number would do."""
    reviews_needed_gap: float | None
    """The true gap for which `reviews_needed` holds: the observed one. None if no reviews are needed."""
    unsure_because: UnsureBecause | None
    """What is missing to be sure: evidence, missing_reviews, each_confidence or many_rows; None if it is confirmed."""
    surely_off: bool
    """Whether the gap is surely not 0, whatever the verdict."""
    log_score: float | None
    """Mean surprise, nats; None if a confidence of 0 or 1 was wrong."""
    log_score_infinite: bool
    """Whether a confidence of 0 or 1 was wrong, which makes the log score infinite."""
    skill: float | None
    """How much better than always stating the mean outcome; 1 is perfect, below 0 is worse, None if all are alike."""
    sharpness: float
    """The variance of the stated confidences."""
    corp: Corp
    """The Brier score in parts."""
    in_the_large: ZTest | None
    """The test whether the mean confidence matches the mean outcome; None if it is undefined, as below."""
    spiegelhalter: ZTest | None
    """The test whether the Brier score is that of a calibrated agent."""
    too_few_for: tuple[str, ...]
    """The names of figures that are given but need more reviews to be reliable."""
    accuracy_interval: Interval
    """The interval of `accuracy`, at one look."""
    skill_interval: Interval | None
    """The interval of `skill`, at one look; None if it is undefined."""
    certain: int
    """Decisions with a stated confidence of 0 or 1."""
    certain_wrong: int
    """Those of them that turned out otherwise, at least in part."""
    e_value: float
    """Evidence, at every look, against each stated confidence being right."""
    gap_e_values: GapEValues
    """The evidence for each verdict, at every look."""
    gap_sequence: Interval
    """The interval of the gap for every look."""
    dependence: Dependence | None
    """How alike the outcomes of decisions made one after another are; None with too few reviews."""
    clusters: Clusters | UnsetType = UNSET
    """The clusters that decisions name, for which verdicts and intervals allow; unset if none is named."""


class CalibrationGroup(Coverage, frozen=True, kw_only=True):
    """The scores of one group; None if fewer than `min_decisions` are reviewed."""

    group: str | None
    """The value, such as a category; None for decisions that have none."""
    brier_score: float | None = None
    """As in `CalibrationScores`."""
    accuracy: float | None = None
    """As in `CalibrationScores`."""
    mean_confidence: float | None = None
    """As in `CalibrationScores`."""
    gap: float | None = None
    """As in `CalibrationScores`."""
    interpretation: Verdict | None = None
    """As in `CalibrationScores`."""
    brier_reading: BrierRating | None = None
    """As in `CalibrationScores`."""
    success: int | None = None
    """As in `CalibrationScores`."""
    partial: int | None = None
    """As in `CalibrationScores`."""
    failure: int | None = None
    """As in `CalibrationScores`."""
    abandoned: int | None = None
    """As in `CalibrationScores`."""
    success_interval: Interval | None = None
    """As in `CalibrationScores`."""
    gap_interval: Interval | None = None
    """As in `CalibrationScores`."""
    supported: bool | None = None
    """As in `CalibrationScores`."""
    reviews_needed: int | None = None
    """As in `CalibrationScores`."""
    reviews_needed_gap: float | None = None
    """As in `CalibrationScores`."""
    unsure_because: UnsureBecause | None = None
    """As in `CalibrationScores`."""
    surely_off: bool | None = None
    """As in `CalibrationScores`."""
    log_score: float | None = None
    """As in `CalibrationScores`."""
    log_score_infinite: bool | None = None
    """As in `CalibrationScores`."""
    skill: float | None = None
    """As in `CalibrationScores`."""
    sharpness: float | None = None
    """As in `CalibrationScores`."""
    corp: Corp | None = None
    """As in `CalibrationScores`."""
    in_the_large: ZTest | None = None
    """As in `CalibrationScores`."""
    spiegelhalter: ZTest | None = None
    """As in `CalibrationScores`."""
    too_few_for: tuple[str, ...] | None = None
    """As in `CalibrationScores`."""
    accuracy_interval: Interval | None = None
    """As in `CalibrationScores`."""
    skill_interval: Interval | None = None
    """As in `CalibrationScores`."""
    certain: int | None = None
    """As in `CalibrationScores`."""
    certain_wrong: int | None = None
    """As in `CalibrationScores`."""
    shrunk_gap: float | None = None
    """The gap, moved towards that of all groups; the fewer reviews, the further."""
    shrunk_weight: float | None = None
    """The weight of the group's own data in `shrunk_gap`, 0..1."""
    e_value: float | None = None
    """As in `CalibrationScores`."""
    gap_e_values: GapEValues | None = None
    """As in `CalibrationScores`."""
    gap_sequence: Interval | None = None
    """As in `CalibrationScores`."""
    dependence: Dependence | None = None
    """As in `CalibrationScores`."""
    clusters: Clusters | UnsetType = UNSET
    """As in `CalibrationScores`."""


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a range of stated confidence."""

    bucket: str
    """The range, such as `0.7-0.9`."""
    decisions: int
    """Decisions that are used."""
    success_rate: float
    """Mean outcome, 0..1."""
    expected_rate: float
    """The middle of the range, the same for every agent."""
    mean_confidence: float
    """Mean stated confidence, 0..1."""
    gap: float
    """`success_rate` minus `expected_rate`."""
    interpretation: Verdict
    """The verdict on `stated_gap`."""
    success_interval: Interval
    """The interval of the rate of full successes (Wilson)."""
    stated_gap: float
    """`success_rate` minus `mean_confidence`."""
    stated_gap_interval: Interval
    """The interval of `stated_gap`."""
    supported: bool
    """Whether the interval confirms the verdict."""
    reviews_needed: int | None
    """How many more reviews would confirm it."""
    reviews_needed_gap: float | None
    """As in `CalibrationScores`."""
    unsure_because: UnsureBecause | None
    """As in `CalibrationScores`."""
    expected_interpretation: Verdict
    """The verdict of CSTP, which is about `gap`."""
    success_rate_interval: Interval
    """The interval of `success_rate`, at one look."""


class Recommendation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of advice."""

    type: str
    """The subject, such as `confidence_adjustment`."""
    message: str
    """The advice in words."""
    severity: Severity
    """info or warning."""
    supported: bool | None = None
    """Whether the data confirm the verdict on which it is based."""


class ConfidenceSpread(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of the stated confidences, those of unreviewed decisions included."""

    mean: float
    """Mean, 0..1."""
    std_dev: float
    """Standard deviation."""
    min: float
    """The lowest."""
    max: float
    """The highest."""
    count: int
    """How many decisions state a confidence."""
    tenths: dict[str, int]
    """The number of decisions by tenth, such as `0.8-0.9`."""


class OutcomesByDay(msgspec.Struct, frozen=True, kw_only=True):
    """How many of all decisions with a stated confidence are reviewed within some days, as success or otherwise.

    Rates are estimated also from younger decisions. A corrected review counts with its latest outcome, at the time of
    the first.
    """

    day: float
    """The number of days: the latest time at which 5 decisions are at risk."""
    decisions: int
    """How many decisions the estimates are from."""
    at_risk: int
    """How many are at least as old and had no review before."""
    success_rate: float
    """The share that is reviewed as success by then (Aalen-Johansen), 0..1."""
    success_rate_interval: Interval
    """The 95% interval of `success_rate`, at one look."""
    other_rate: float
    """The share that is reviewed with another outcome by then (Aalen-Johansen), 0..1."""
    other_rate_interval: Interval
    """The 95% interval of `other_rate`, at one look."""
    unreviewed_rate: float
    """The share without a review by then (Kaplan-Meier), 0..1."""
    unreviewed_rate_interval: Interval
    """The 95% interval of `unreviewed_rate`, at one look."""
    message: str
    """The same as a sentence."""


class ConfidenceUse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the stated confidences of an agent are good for."""

    threshold: Part[ThresholdUse] = None
    """What acting above a confidence would have come to; with `threshold` only."""
    auc: Concordance | UnsetType | None = UNSET
    """How well confidences rank decisions; unset without `detail="curves"`, None if all outcomes are alike."""
    murphy: tuple[MurphyPoint, ...] = ()
    """The Murphy diagram: the loss at each threshold; with `detail="curves"` only."""


class CalibrationView(ConfidenceUse, frozen=True, kw_only=True):
    """The calibration of a set of decisions."""

    overall: CalibrationScores | None
    """The figures of all decisions; None if fewer than `min_decisions` are reviewed."""
    coverage: Coverage
    """How many decisions there are, and how many are used, whether or not there are figures."""
    groups: tuple[CalibrationGroup, ...]
    """The figures by `group_by`."""
    buckets: tuple[Bucket, ...]
    """The figures by range of stated confidence."""
    recommendations: tuple[Recommendation, ...]
    """Advice."""
    confidence_stats: ConfidenceSpread | None
    """Statistics of the stated confidences; None if none is stated."""
    recalibration: Recalibration | None
    """Which confidences to state instead; None if no map surely lowers the Brier score of new decisions."""
    recalibration_by_category: tuple[CategoryRecalibration, ...] = ()
    """The maps of categories that need their own."""
    retracted: Annotated[int, OMITTED] = 0
    """The number of decisions that were retracted and are not counted."""
    groups_total: Part[int] = None
    """The number of groups, if `groups` does not have all of them."""
    groups_next: int | UnsetType | None = UNSET
    """The offset of the next groups; None on the last page, and unset if `groups` has all of them."""
    missing_reviews: Part[MissingReviews] = None
    """What unreviewed decisions leave open; None if every decision is reviewed, and without `overall`."""
    reviews_needed_by_gap: tuple[ReviewsNeeded, ...] = ()
    """The numbers for the gap and the ends of its interval; empty unless more reviews are needed."""


class CalibrationAnswer(CalibrationView, frozen=True, kw_only=True):
    """The calibration of a set of decisions as of a position."""

    as_of: AsOf
    """The state of the log that the answer is computed from."""
    trend: Part[Trend] = None
    """The figures over time; with `include=["trend"]` only."""
    drift: Part[Drift] = None
    """Whether the gap changed; with `include=["drift"]` only."""
    comparison: Part[AgentComparison] = None
    """Agents in pairs; with `include=["comparison"]` only."""
    reviews_by_age: Part[ReviewsByAge] = None
    """How old decisions without a review are; with `include=["reviews_by_age"]` only."""
    plots: Part[PlotData] = None
    """What drawings show; with `include=["plots"]` only."""
    by_day: Part[OutcomesByDay] = None
    """The shares of outcomes by some days; with curves or `reviews_by_age`, unless every one is due and reviewed."""
    unknown_names: tuple[UnknownName, ...] = ()
    """Names in the filter that the ledger does not know, if nothing matched."""

    @property
    def gap(self) -> float | None:
        """Mean outcome minus mean stated confidence; below 0 is overconfident. None if there are no figures."""
        return self.overall.gap if self.overall is not None else None

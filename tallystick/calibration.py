"""The structs that the client returns about calibration: how well stated confidence matches the outcomes.

The value of a success is 1, of a partial success 0.5, of a failure or abandoned decision 0. Only decisions with a
review and a stated confidence are used. Intervals are at 95%. Fields that a newer server adds are ignored.
"""

import msgspec

from tallystick.agent_comparison import Comparison
from tallystick.calibration_history import Drift, Trend
from tallystick.confidence_use import Auc, MurphyPoint, ThresholdUse
from tallystick.dependence import Clusters, Dependence
from tallystick.missing_reviews import MissingReviews, ReviewsByAge
from tallystick.plot_data import PlotData
from tallystick.results import AsOf, Interval, UnknownName


class ZTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test of perfect calibration."""

    z: float
    """The test statistic, standard normal if calibration is perfect."""
    p: float
    """The two-sided p-value."""


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """How many decisions there are, and how many of them are used."""

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
    """A point of the bands that contain the curve of a calibrated agent in 95% of samples."""

    confidence: float
    """The stated confidence, 0..1."""
    low: float
    """The lower end at this confidence: of 95% of samples."""
    high: float
    """The upper end at this confidence."""
    simultaneous_low: float | None = None
    """The lower end of the band that contains the whole curve in 95% of samples."""
    simultaneous_high: float | None = None
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


class Figures(Coverage, frozen=True, kw_only=True):
    """The figures of a set of decisions."""

    brier_score: float
    """Mean squared distance of outcome and confidence; 0 is perfect."""
    accuracy: float
    """Mean outcome, 0..1."""
    mean_confidence: float
    """Mean stated confidence, 0..1."""
    gap: float
    """`accuracy` minus `mean_confidence`; below 0 the agent is overconfident."""
    interpretation: str
    """The verdict on the gap, such as `overconfident`."""
    brier_reading: str
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
    reviews_needed_gap: float | None = None
    """The true gap for which `reviews_needed` holds: the observed one. None if no reviews are needed."""
    log_score: float | None
    """Mean surprise, nats; None if a confidence of 0 or 1 was wrong."""
    log_score_infinite: bool
    """Whether a confidence of 0 or 1 was wrong, which makes the log score infinite."""
    skill: float | None
    """How much better than always stating the mean outcome; 1 is perfect, below 0 is worse."""
    sharpness: float
    """The variance of the stated confidences."""
    corp: Corp | None
    """The Brier score in parts."""
    in_the_large: ZTest | None
    """The test whether the mean confidence matches the mean outcome."""
    spiegelhalter: ZTest | None
    """The test whether the Brier score is that of a calibrated agent."""
    too_few_for: tuple[str, ...]
    """The names of figures that are given but need more reviews to be reliable."""
    accuracy_interval: Interval | None = None
    """The interval of `accuracy`, at one look."""
    skill_interval: Interval | None = None
    """The interval of `skill`, at one look; None if it is undefined."""
    certain: int | None = None
    """Decisions with a stated confidence of 0 or 1."""
    certain_wrong: int | None = None
    """Those of them that turned out otherwise, at least in part."""
    unsure_because: str | None = None
    """What is missing to be sure: evidence, missing_reviews, each_confidence or many_rows; None if it is confirmed."""
    surely_off: bool | None = None
    """Whether the gap is surely not 0, whatever the verdict."""
    e_value: float | None = None
    """Evidence, at every look, against each stated confidence being right."""
    gap_e_values: GapEValues | None = None
    """The evidence for each verdict, at every look."""
    gap_sequence: Interval | None = None
    """The interval of the gap for every look."""
    dependence: Dependence | None = None
    """How alike the outcomes of decisions made one after another are; None with too few reviews."""
    clusters: Clusters | None = None
    """The clusters that decisions name, for which verdicts and intervals allow; None if none is named."""


class Group(Coverage, frozen=True, kw_only=True):
    """The figures of one value of a grouping; None if fewer than `min_decisions` are reviewed."""

    group: str | None
    """The value, such as a category; None for decisions that have none."""
    brier_score: float | None = None
    """As in `Figures`."""
    accuracy: float | None = None
    """As in `Figures`."""
    mean_confidence: float | None = None
    """As in `Figures`."""
    gap: float | None = None
    """As in `Figures`."""
    interpretation: str | None = None
    """As in `Figures`."""
    brier_reading: str | None = None
    """As in `Figures`."""
    success: int | None = None
    """As in `Figures`."""
    partial: int | None = None
    """As in `Figures`."""
    failure: int | None = None
    """As in `Figures`."""
    abandoned: int | None = None
    """As in `Figures`."""
    success_interval: Interval | None = None
    """As in `Figures`."""
    gap_interval: Interval | None = None
    """As in `Figures`."""
    supported: bool | None = None
    """As in `Figures`."""
    reviews_needed: int | None = None
    """As in `Figures`."""
    reviews_needed_gap: float | None = None
    """As in `Figures`."""
    log_score: float | None = None
    """As in `Figures`."""
    log_score_infinite: bool | None = None
    """As in `Figures`."""
    skill: float | None = None
    """As in `Figures`."""
    sharpness: float | None = None
    """As in `Figures`."""
    corp: Corp | None = None
    """As in `Figures`."""
    in_the_large: ZTest | None = None
    """As in `Figures`."""
    spiegelhalter: ZTest | None = None
    """As in `Figures`."""
    too_few_for: tuple[str, ...] | None = None
    """As in `Figures`."""
    accuracy_interval: Interval | None = None
    """As in `Figures`."""
    skill_interval: Interval | None = None
    """As in `Figures`."""
    certain: int | None = None
    """As in `Figures`."""
    certain_wrong: int | None = None
    """As in `Figures`."""
    shrunk_gap: float | None = None
    """The gap, moved towards that of all groups; the fewer reviews, the further."""
    shrunk_weight: float | None = None
    """The weight of the group's own data in `shrunk_gap`, 0..1."""
    unsure_because: str | None = None
    """As in `Figures`."""
    surely_off: bool | None = None
    """As in `Figures`."""
    e_value: float | None = None
    """As in `Figures`."""
    gap_e_values: GapEValues | None = None
    """As in `Figures`."""
    gap_sequence: Interval | None = None
    """As in `Figures`."""
    dependence: Dependence | None = None
    """As in `Figures`."""
    clusters: Clusters | None = None
    """As in `Figures`."""


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a range of stated confidence."""

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
    interpretation: str
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
    reviews_needed_gap: float | None = None
    """As in `Figures`."""
    unsure_because: str | None = None
    """As in `Figures`."""
    expected_interpretation: str | None = None
    """The verdict of CSTP, which is about `gap`."""
    success_rate_interval: Interval | None = None
    """The interval of `success_rate`, at one look."""


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of advice."""

    type: str
    """The subject, such as `confidence_adjustment`."""
    message: str
    """The advice in words."""
    severity: str
    """info or warning."""
    supported: bool | None = None
    """Whether the data confirm the verdict on which it is based."""


class ConfidenceStats(msgspec.Struct, frozen=True, kw_only=True):
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


class Meaning(msgspec.Struct, frozen=True, kw_only=True):
    """The mean outcome that confidences in a range have meant."""

    low: float
    """The lowest stated confidence of the range."""
    high: float
    """The highest."""
    meant: float
    """The mean outcome of the decisions that stated them, 0..1."""
    interval: Interval
    """The interval of `meant`."""
    reviewed: int
    """Decisions that are used."""
    mapped: float | None = None
    """The confidence to state instead, 0..1; None from an older server."""


class Recalibration(msgspec.Struct, frozen=True, kw_only=True):
    """Which confidence to state instead of each stated one, if that surely lowers the Brier score of new decisions."""

    stated_brier_score: float
    """The Brier score of the confidences as stated."""
    mapped_brier_score: float
    """The Brier score after the replacement, cross-validated."""
    meanings: tuple[Meaning, ...]
    """The ranges."""
    family: str | None = None
    """The form of the map: as_stated, logit_shift, beta or isotonic. None from an older server, as below."""
    reviewed: int | None = None
    """Decisions that the map is fitted to."""
    gain: float | None = None
    """How much lower the Brier score is with the map, cross-validated."""
    gain_lower_bound: float | None = None
    """The 95% lower bound of `gain`, above 0."""


class CategoryRecalibration(Recalibration, frozen=True, kw_only=True):
    """The map of a category that needs its own. `gain` is against `shared_brier_score`."""

    category: str
    """The category."""
    shared_brier_score: float
    """The Brier score of the category with the map of all decisions; with the stated confidences if there is none."""


class OutcomesByDay(msgspec.Struct, frozen=True, kw_only=True):
    """How many of all decisions with a stated confidence are reviewed within some days, as success or otherwise."""

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


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's calibration."""

    overall: Figures | None
    """The figures of all decisions; None if fewer than `min_decisions` are reviewed."""
    coverage: Coverage
    """How many decisions there are, and how many are used, whether or not there are figures."""
    groups: tuple[Group, ...]
    """The figures by `group_by`."""
    buckets: tuple[Bucket, ...]
    """The figures by range of stated confidence."""
    recommendations: tuple[Recommendation, ...]
    """Advice."""
    confidence_stats: ConfidenceStats | None
    """Statistics of the stated confidences; None if none is stated."""
    recalibration: Recalibration | None
    """Which confidences to state instead; None if no map surely lowers the Brier score of new decisions."""
    as_of: AsOf
    """The state of the log that the answer is computed from."""
    trend: Trend | None = None
    """The figures over time; with `include=["trend"]` only."""
    drift: Drift | None = None
    """Whether the gap changed; with `include=["drift"]` only."""
    comparison: Comparison | None = None
    """Agents in pairs; with `include=["comparison"]` only."""
    reviews_by_age: ReviewsByAge | None = None
    """How old decisions without a review are; with `include=["reviews_by_age"]` only."""
    plots: PlotData | None = None
    """What drawings show; with `include=["plots"]` only."""
    by_day: OutcomesByDay | None = None
    """The shares of outcomes by some days; with curves or `reviews_by_age`, unless every one is due and reviewed."""
    missing_reviews: MissingReviews | None = None
    """What unreviewed decisions leave open; None if every decision is reviewed, and without `overall`."""
    reviews_needed_by_gap: tuple[ReviewsNeeded, ...] = ()
    """The numbers for the gap and the ends of its interval; empty unless more reviews are needed."""
    recalibration_by_category: tuple[CategoryRecalibration, ...] = ()
    """The maps of categories that need their own."""
    retracted: int = 0
    """The number of decisions that were retracted and are not counted."""
    groups_total: int | None = None
    """The number of groups, if `groups` does not have all of them."""
    groups_next: int | None = None
    """The offset of the next groups; None if there are none."""
    unknown_names: tuple[UnknownName, ...] = ()
    """Names in the filter that the ledger does not know, if nothing matched."""
    threshold: ThresholdUse | None = None
    """What acting above a confidence would have come to; with `threshold` only."""
    auc: Auc | None = None
    """How well confidences rank decisions; with `detail="curves"` only, and None if all outcomes are alike."""
    murphy: tuple[MurphyPoint, ...] = ()
    """The Murphy diagram: the loss at each threshold; with `detail="curves"` only."""

    @property
    def gap(self) -> float | None:
        """Mean outcome minus mean stated confidence; below 0 is overconfident. None if there are no figures."""
        return self.overall.gap if self.overall is not None else None

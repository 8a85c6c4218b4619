"""Types of the report on judges. Rates are 0..1, intervals are 95%, an absent figure cannot be computed."""

from typing import Literal

import msgspec

from projections.stats.corrected_rate import UnknownRate
from projections.stats.kappa import Kappa
from projections.stats.rank_correlation import RankCorrelation
from tallystick.shapes.parts import Interval


class _View(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a view. Absent fields are not encoded."""


class ShareEstimate(_View, frozen=True, kw_only=True):
    """A share of `n` answers, with its interval, which allows for answers of one scenario that depend on each other."""

    value: float
    n: int
    interval: Interval | None = None


class DifferenceEstimate(_View, frozen=True, kw_only=True):
    """A mean difference over `n` answers; the interval is absent with fewer than two scenarios."""

    value: float
    n: int
    interval: Interval | None = None


class ConfusionMatrix(_View, frozen=True, kw_only=True):
    """Labelled answers by verdict of the judge and label: `passed_good` are those that both pass."""

    passed_good: int
    passed_bad: int
    failed_good: int
    failed_bad: int


class CorrectedPassRate(_View, frozen=True, kw_only=True):
    """A pass rate that is corrected for the judge's errors, or why there is none (`unknown_because`).

    `judged` answers have a verdict, `labelled` of them also a label. `good_labels` and `bad_labels` are all labels from
    which the judge's errors are known, also those of other runs. `judge_rate` is the share that the judge passed.
    """

    judge_rate: float
    judged: int
    labelled: int
    scenarios: int
    good_labels: int
    bad_labels: int
    rate: float | None = None
    interval: Interval | None = None
    unknown_because: UnknownRate | None = None


class LengthEffect(_View, frozen=True, kw_only=True):
    """Spearman's correlations with the length of the answer.

    `verdict` is that of passing; `error` that of verdict minus label, above 0 if the judge favours long answers beyond
    their worth. Absent where lengths, verdicts or errors are all alike, or unknown.
    """

    verdict: RankCorrelation | None = None
    error: RankCorrelation | None = None


JudgeVerdict = Literal["cannot tell", "no better than chance", "fair", "good"]
"""Of the interval of kappa: no interval, or it does not exclude 0 with kappa above; above 0; above .6."""


class CriterionReport(_View, frozen=True, kw_only=True):
    """What is known of a judge's verdicts on one criterion, or on whole answers (no criterion).

    Each distinct answer counts once, with the latest verdict. `accuracy` is the share of labels that the judge agrees
    with, `constant_guess` the share that always naming the most frequent label would agree with. `sensitivity` is the
    share of good answers that it passes, `specificity` the share of bad ones that it fails. `self_consistency` is the
    share of pairs of votes on one answer that are equal; absent with one vote each.
    """

    criterion: str | None = None
    judged: int
    scenarios: int
    labelled: int
    labelled_scenarios: int
    confusion: ConfusionMatrix
    verdict: JudgeVerdict
    in_words: str
    kappa: Kappa | None = None
    accuracy: ShareEstimate | None = None
    constant_guess: ShareEstimate | None = None
    sensitivity: ShareEstimate | None = None
    specificity: ShareEstimate | None = None
    self_consistency: ShareEstimate | None = None
    corrected: CorrectedPassRate
    length: LengthEffect


class SubjectBias(_View, frozen=True, kw_only=True):
    """The judge's pass rate minus that of people, over the labelled answers of one judged agent or model."""

    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    judge_rate: float
    label_rate: float
    difference: DifferenceEstimate


class JudgeReport(_View, frozen=True, kw_only=True):
    """One judge: an agent with its model, prompt and version of the scorer.

    `errors` counts the tries without a usable verdict, also those that were retried.
    """

    agent: str
    model: str
    scorer_id: str | None = None
    scorer_version: str | None = None
    prompt_digest: str
    errors: int
    whole: CriterionReport
    criteria: tuple[CriterionReport, ...] = ()
    biases: tuple[SubjectBias, ...] = ()


class OrderReport(_View, frozen=True, kw_only=True):
    """Pairs that a judge compared in both orders, and the share whose preference changed with the order."""

    agent: str
    model: str
    prompt_digest: str
    pairs: int
    swap_rate: ShareEstimate | None = None


class JudgingReport(_View, frozen=True, kw_only=True):
    """All judges, those with the most verdicts first, and all judges of pairs."""

    judges: tuple[JudgeReport, ...] = ()
    orders: tuple[OrderReport, ...] = ()

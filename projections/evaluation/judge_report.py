"""The report on judges: how well they agree with the labels of people, and what their errors do to pass rates.

A label of the whole answer counts; without one it is derived, if every criterion of the answer has a label: the total
of the weights of the criteria that pass is compared with the pass threshold, as the scorer compares it. Each distinct
answer to a scenario counts once, with the judge's latest verdict, because copies of an answer tell nothing new. Answers
to one scenario may depend on each other, so scenarios are the clusters of every interval.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import isnan
from typing import NamedTuple

import numpy as np

from projections.arrays import Floats, Ints
from projections.evaluation.judge_index import (
    ONE_ORDER,
    UNKNOWN_LENGTH,
    WHOLE,
    JudgedScore,
    JudgeKey,
    JudgingRecords,
    LabelKey,
    PairOrder,
)
from projections.evaluation.judge_view_types import (
    ConfusionMatrix,
    CorrectedPassRate,
    CriterionReport,
    DifferenceEstimate,
    JudgeReport,
    JudgeVerdict,
    JudgingReport,
    LengthEffect,
    OrderReport,
    ShareEstimate,
    SubjectBias,
)
from projections.evaluation.query_params import JudgeQuery
from projections.stats.clustered_mean import clustered_mean
from projections.stats.clustered_share import effective_number, share_interval
from projections.stats.corrected_rate import CorrectedRate, Sample, correct_rate
from projections.stats.kappa import Kappa, measure_kappa
from projections.stats.rank_correlation import rank_correlation

GOOD_KAPPA = 0.6
"""From here on Landis and Koch (1977) call agreement substantial."""

POINTS = 100.0
_TOLERANCE = 1e-9


class JudgedAnswer(NamedTuple):
    """A verdict on an answer, and its label (None: not labelled). `length` is UNKNOWN_LENGTH where it is not known."""

    scenario: str
    answer: str
    passed: bool
    label: bool | None
    votes: int
    passes: int
    length: int


AnswerLengths = Mapping[str, int]
"""The length of answers that are stored as evidence, by digest."""


def build_judging_report(records: JudgingRecords, query: JudgeQuery, lengths: AnswerLengths) -> JudgingReport:
    """Build the report on every judge that passes the filter."""
    by_judge: dict[JudgeKey, list[JudgedScore]] = {key: [] for key in records.errors}
    for score in records.scores:
        if query.suite in (None, score.subject.suite):
            by_judge.setdefault(score.judge, []).append(score)
    judges = [
        _report(key, scores, records.labels, records.errors.get(key, 0), lengths)
        for key, scores in by_judge.items()
        if query.judge in (None, key.agent) and (scores or query.suite is None)
    ]
    pairs = sorted(pair for pair in records.pairs if query.judge in (None, pair.judge.agent))
    return JudgingReport(
        judges=tuple(sorted(judges, key=lambda report: (-report.whole.judged, report.agent, report.model))),
        orders=() if query.suite is not None else tuple(_orders(pairs)),
    )


def whole_label(score: JudgedScore, labels: Mapping[LabelKey, bool]) -> bool | None:
    """Return the label of a whole answer: a person's, or one that follows from those of all its criteria."""
    stated = labels.get((score.scenario, score.answer, WHOLE))
    if stated is not None or not score.complete or not score.verdicts or isnan(score.threshold):
        return stated
    total = weights = 0.0
    for verdict in score.verdicts:
        label = labels.get((score.scenario, score.answer, verdict.criterion))
        if label is None and verdict.weight:
            return None
        weights += verdict.weight
        total += verdict.weight * bool(label)
    return POINTS * total / weights >= score.threshold - _TOLERANCE if weights > 0 else None


def correct_pass_rate(answers: Sequence[JudgedAnswer], calibration: Sequence[JudgedAnswer]) -> CorrectedPassRate:
    """Correct the pass rate of some answers for the errors of their judge, known from labelled answers.

    `calibration` has every distinct labelled answer with a verdict of the same judge, those of `answers` among them.
    """
    unlabelled = [answer for answer in answers if answer.label is None]
    labelled = [answer for answer in answers if answer.label is not None]
    good, bad = ([each for each in calibration if each.label is label] for label in (True, False))
    found = correct_rate(
        _sample(unlabelled, [answer.passed for answer in unlabelled]),
        _sample(labelled, [bool(answer.label) for answer in labelled]),
        _sample(good, [answer.passed for answer in good]),
        _sample(bad, [answer.passed for answer in bad]),
    )
    return CorrectedPassRate(
        judge_rate=sum(answer.passed for answer in answers) / len(answers) if answers else 0.0,
        judged=len(answers),
        labelled=len(labelled),
        scenarios=len({answer.scenario for answer in answers}),
        good_labels=len(good),
        bad_labels=len(bad),
        rate=found.rate if isinstance(found, CorrectedRate) else None,
        interval=found.interval if isinstance(found, CorrectedRate) else None,
        unknown_because=None if isinstance(found, CorrectedRate) else found,
    )


def distinct(answers: Iterable[JudgedAnswer]) -> list[JudgedAnswer]:
    """Return each answer to a scenario once, with its latest verdict, given them in the order of the log."""
    return list({(answer.scenario, answer.answer): answer for answer in answers}.values())


def whole_answer(
    score: JudgedScore, labels: Mapping[LabelKey, bool], lengths: AnswerLengths | None = None
) -> JudgedAnswer:
    """Return the verdict on an answer as a whole. Its votes are not counted: they are on criteria."""
    length = score.length if score.length != UNKNOWN_LENGTH else (lengths or {}).get(score.answer, UNKNOWN_LENGTH)
    return JudgedAnswer(score.scenario, score.answer, score.passed, whole_label(score, labels), 0, 0, length)


def _report(
    key: JudgeKey, scores: Sequence[JudgedScore], labels: Mapping[LabelKey, bool], errors: int, lengths: AnswerLengths
) -> JudgeReport:
    whole = [whole_answer(score, labels, lengths) for score in scores]
    by_criterion: dict[str, list[JudgedAnswer]] = {}
    for score, answer in zip(scores, whole, strict=True):
        for verdict in score.verdicts:
            label = labels.get((score.scenario, score.answer, verdict.criterion))
            judged = JudgedAnswer(
                score.scenario, score.answer, verdict.passed, label, verdict.votes, verdict.passes, answer.length
            )
            by_criterion.setdefault(verdict.criterion, []).append(judged)
    return JudgeReport(
        agent=key.agent,
        model=key.model,
        scorer_id=key.scorer_id,
        scorer_version=key.scorer_version,
        prompt_digest=key.prompt_digest,
        errors=errors,
        whole=_criterion(None, distinct(whole)),
        criteria=tuple(_criterion(name, distinct(answers)) for name, answers in sorted(by_criterion.items())),
        biases=tuple(_biases(scores, whole)),
    )


def _criterion(criterion: str | None, answers: Sequence[JudgedAnswer]) -> CriterionReport:
    labelled = [answer for answer in answers if answer.label is not None]
    passed, label = _flags(answer.passed for answer in labelled), _flags(bool(answer.label) for answer in labelled)
    cluster = _clusters(labelled)
    kappa = measure_kappa(passed, label, cluster)
    counts = [int(((passed == verdict) & (label == truth)).sum()) for verdict in (1, 0) for truth in (1, 0)]
    verdict = _verdict(kappa)
    majority = float(label.mean() >= 0.5) if len(label) else 0.0
    return CriterionReport(
        criterion=criterion,
        judged=len(answers),
        scenarios=len({answer.scenario for answer in answers}),
        labelled=len(labelled),
        labelled_scenarios=len({answer.scenario for answer in labelled}),
        confusion=ConfusionMatrix(
            passed_good=counts[0], passed_bad=counts[1], failed_good=counts[2], failed_bad=counts[3]
        ),
        verdict=verdict,
        in_words=_in_words(verdict, label),
        kappa=kappa,
        accuracy=_share((passed == label).astype(np.float64), cluster),
        constant_guess=_share((label == majority).astype(np.float64), cluster),
        sensitivity=_share(passed[label == 1], cluster[label == 1]),
        specificity=_share(1 - passed[label == 0], cluster[label == 0]),
        self_consistency=_consistency(answers),
        corrected=correct_pass_rate(answers, labelled),
        length=_length_effect(answers),
    )


def _verdict(kappa: Kappa | None) -> JudgeVerdict:
    if kappa is None or kappa.interval is None:
        return "cannot tell"
    if kappa.interval.low <= 0:
        return "cannot tell" if kappa.interval.high > GOOD_KAPPA else "no better than chance"
    return "good" if kappa.interval.low > GOOD_KAPPA else "fair"


def _in_words(verdict: JudgeVerdict, label: Floats) -> str:
    if not len(label):
        return "Cannot tell: no answer has a label."
    if label.min() == label.max():
        missing = "fails" if label[0] else "passes"
        return f"Cannot tell: no label {missing}. Label answers of both kinds."
    return {
        "cannot tell": "Cannot tell whether it agrees with the labels more than by chance. Label more answers.",
        "no better than chance": "Not shown to agree with the labels more than by chance.",
        "fair": "Agrees with the labels more than by chance.",
        "good": "Agrees with the labels well.",
    }[verdict]


def _consistency(answers: Sequence[JudgedAnswer]) -> ShareEstimate | None:
    """Return the share of pairs of votes on an answer that are equal."""
    repeated = [answer for answer in answers if answer.votes > 1]
    equal = [
        1 - 2 * answer.passes * (answer.votes - answer.passes) / (answer.votes * (answer.votes - 1))
        for answer in repeated
    ]
    return _share(np.array(equal, dtype=np.float64), _clusters(repeated))


def _length_effect(answers: Sequence[JudgedAnswer]) -> LengthEffect:
    known = [answer for answer in answers if answer.length != UNKNOWN_LENGTH]
    labelled = [answer for answer in known if answer.label is not None]
    found = []
    for rows, values in (
        (known, [float(answer.passed) for answer in known]),
        (labelled, [float(answer.passed) - float(bool(answer.label)) for answer in labelled]),
    ):
        lengths = np.array([answer.length for answer in rows], dtype=np.float64)
        numbers = np.array(values, dtype=np.float64)
        found.append(rank_correlation(lengths, numbers, effective_number(numbers, _clusters(rows))))
    return LengthEffect(verdict=found[0], error=found[1])


def _biases(scores: Sequence[JudgedScore], whole: Sequence[JudgedAnswer]) -> Iterable[SubjectBias]:
    """Compare the judge's pass rate with that of people, for each agent and model with labelled answers."""
    rows: dict[tuple[str | None, ...], list[JudgedAnswer]] = {}
    for score, answer in zip(scores, whole, strict=True):
        if answer.label is not None:
            subject = score.subject
            rows.setdefault((subject.agent, subject.agent_version, subject.model), []).append(answer)
    for (agent, version, model), repeated in sorted(rows.items(), key=lambda item: tuple(map(str, item[0]))):
        answers = distinct(repeated)
        passed, label = _flags(each.passed for each in answers), _flags(bool(each.label) for each in answers)
        difference, cluster = passed - label, _clusters(answers)
        interval = clustered_mean(difference, cluster, -1.0, 1.0).interval if len(answers) > 1 else None
        yield SubjectBias(
            agent=agent,
            agent_version=version,
            model=model,
            judge_rate=float(passed.mean()),
            label_rate=float(label.mean()),
            difference=DifferenceEstimate(value=float(difference.mean()), n=len(answers), interval=interval),
        )


def _orders(pairs: Sequence[PairOrder]) -> Iterable[OrderReport]:
    for judge, group in groupby(pairs, key=lambda pair: pair.judge):
        rows = list(group)
        shown = [pair for pair in rows if pair.order != ONE_ORDER]
        changed = np.array([float(pair.order) for pair in shown], dtype=np.float64)
        _, cluster = np.unique([pair.scenario for pair in shown] or [""], return_inverse=True)
        yield OrderReport(
            agent=judge.agent,
            model=judge.model,
            prompt_digest=judge.prompt_digest,
            pairs=len(rows),
            swap_rate=_share(changed, cluster[: len(shown)]),
        )


def _share(values: Floats, cluster: Ints) -> ShareEstimate | None:
    if not len(values):
        return None
    return ShareEstimate(value=float(values.mean()), n=len(values), interval=share_interval(values, cluster))


def _sample(answers: Sequence[JudgedAnswer], passed: Sequence[bool]) -> Sample:
    """Return a sample with its design effect: the scenarios are its clusters."""
    values = _flags(passed)
    size = effective_number(values, _clusters(answers))
    return Sample(len(values), float(values.sum()), len(values) / size if size else 1.0)


def _flags(values: Iterable[bool]) -> Floats:
    return np.array([float(value) for value in values], dtype=np.float64)


def _clusters(answers: Sequence[JudgedAnswer]) -> Ints:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(answer.scenario, len(numbers)) for answer in answers], dtype=np.int64)

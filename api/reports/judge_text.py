"""The figures of a report on judges as texts: the same on the command line and on the web page."""

from typing import NamedTuple

from api.reports.escape import one_line
from api.reports.format import DASH, bracketed, gap, gap_interval, rate, rate_interval
from projections.evaluation.judge_view_types import (
    CorrectedPassRate,
    CriterionReport,
    DifferenceEstimate,
    JudgeReport,
    ShareEstimate,
)
from projections.evaluation.view_types import ScoreRow
from projections.stats.corrected_rate import UnknownRate
from projections.stats.rank_correlation import RankCorrelation

UNKNOWN = "cannot tell"

REASONS: dict[UnknownRate, str] = {
    "no labels that pass": "cannot tell: no label passes",
    "no labels that fail": "cannot tell: no label fails",
    "errors too frequent": "cannot tell: it errs too often",
    "no verdicts": "cannot tell: no verdicts",
}
"""Why there is no corrected rate, in words."""


class FigureLine(NamedTuple):
    """A figure: its name, its value, its interval, and of how many answers it is."""

    name: str
    value: str
    interval: str
    n: str


def figure_lines(part: CriterionReport) -> list[FigureLine]:
    """Return every figure of the verdicts on one criterion, or on whole answers."""
    kappa = part.kappa
    lines = [
        FigureLine("kappa", UNKNOWN, "", str(part.labelled))
        if kappa is None
        else FigureLine("kappa", gap(kappa.kappa), gap_interval(kappa.interval) or UNKNOWN, str(kappa.n)),
        _share("sensitivity", part.sensitivity),
        _share("specificity", part.specificity),
        _share("agreement with labels", part.accuracy),
        _share("of a constant guess", part.constant_guess),
    ]
    if kappa is not None:
        lines += [
            FigureLine("prevalence index", gap(kappa.prevalence_index), "", str(kappa.n)),
            FigureLine("bias index", gap(kappa.bias_index), "", str(kappa.n)),
        ]
    corrected = part.corrected
    judged = str(corrected.judged)
    lines += [
        FigureLine("pass rate by the judge", rate(corrected.judge_rate) if corrected.judged else UNKNOWN, "", judged),
        FigureLine("corrected pass rate", corrected_text(corrected), rate_interval(corrected.interval), judged),
    ]
    if part.criterion is not None:
        lines.append(_share("self-consistency", part.self_consistency, without="one vote each"))
    return [
        *lines,
        _correlation("verdict by length", part.length.verdict),
        _correlation("error by length", part.length.error),
    ]


def corrected_text(corrected: CorrectedPassRate) -> str:
    """Return a corrected rate, or why there is none."""
    return rate(corrected.rate) if corrected.unknown_because is None else REASONS[corrected.unknown_because]


def corrected_cell(corrected: CorrectedPassRate | None) -> str:
    """Return a corrected rate with its interval, or why there is none; a dash without a judge."""
    if corrected is None:
        return DASH
    return f"{corrected_text(corrected)}{bracketed(rate_interval(corrected.interval))}"


def difference_text(difference: DifferenceEstimate) -> str:
    """Return a difference of rates with its interval."""
    return f"{gap(difference.value)}{bracketed(gap_interval(difference.interval))}"


def share_text(share: ShareEstimate | None) -> str:
    """Return a share with its interval."""
    return UNKNOWN if share is None else f"{rate(share.value)}{bracketed(rate_interval(share.interval))}"


def heading(judge: JudgeReport) -> str:
    """Return what tells a judge from others: model, scorer, and the beginning of its prompt's digest."""
    scorer = " ".join(filter(None, (judge.scorer_id, judge.scorer_version)))
    return f"{judge.agent}: {judge.model}, scorer {scorer or 'unnamed'}, prompt {judge.prompt_digest[:8]}"


def label_lines(row: ScoreRow) -> list[str]:
    """Return a line for each label that people gave an answer."""
    return [
        f"{one_line(f'label {label.criterion or str()}'.rstrip())}: {'pass' if label.passed else 'fail'}"
        for label in row.labels
    ]


def _share(name: str, share: ShareEstimate | None, without: str = UNKNOWN) -> FigureLine:
    if share is None:
        return FigureLine(name, without, "", "0")
    return FigureLine(name, rate(share.value), rate_interval(share.interval), str(share.n))


def _correlation(name: str, found: RankCorrelation | None) -> FigureLine:
    if found is None:
        return FigureLine(name, UNKNOWN, "", "0")
    return FigureLine(name, gap(found.rho), gap_interval(found.interval) or UNKNOWN, str(found.n))

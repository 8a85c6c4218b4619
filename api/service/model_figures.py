"""Use case: how good one model is, by its decisions, its evaluations and its probe scores."""

import msgspec

from api.service.ledger import View
from api.service.model_names import MODEL_NAMES, find_model_names, model_resolver
from api.service.shared_fields import shared_fields
from ledger.threads import run_on_thread
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.confidence_bins import merge_cells
from projections.calibration.count_table import CountSelection
from projections.calibration.model_groups import table_of_model
from projections.calibration.scores import compute_scores, count_coverage
from projections.discovery.model_names import ModelNames
from projections.discovery.probe_score_index import ProbeScoreColumns, ProbeScoreIndex
from projections.discovery.probe_score_tables import build_score_tables
from projections.discovery.query_params import ProbeScoreQuery
from projections.evaluation.evaluation_index import EvaluationIndex, EvaluationScoreColumns
from projections.evaluation.query_params import ScoreboardQuery
from projections.evaluation.scoreboard import build_scoreboard
from projections.evaluation.view_types import StatedConfidence
from tallystick.shapes.parts import Interval


class ModelDecisions(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions that name a model: how many, how many were reviewed with a stated confidence, and their scores.

    `gap` is mean outcome minus mean stated confidence: below 0 the model is overconfident. The scores are None without
    a review.
    """

    decisions: int
    reviewed: int
    mean_confidence: float | None = None
    accuracy: float | None = None
    gap: float | None = None
    gap_interval: Interval | None = None
    brier_score: float | None = None


class ModelEvaluations(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of a model to a suite: `answers` that were scored or ended in an error, and their mean points."""

    suite: str
    answers: int
    scenarios: int
    mean: float | None = None
    mean_interval: Interval | None = None
    pass_rate: float | None = None
    stated: StatedConfidence | None = None


class ModelProbe(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a model's answers to a probe: `totals` with a total score, and their mean, 0..1.

    Of the `counted` answers `answered` are valid; in `counted_mean` each other one is 0.
    """

    probe_id: str
    probe_version: str | None
    scorer_id: str
    scorer_version: str | None
    scores: int
    totals: int
    mean: float | None
    interval: Interval | None
    counted: int
    answered: int
    counted_mean: float | None
    counted_interval: Interval | None


class ModelFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How good one model is, whichever agents used it. Names are resolved as in the inventory."""

    model: str
    decisions: ModelDecisions
    evaluations: list[ModelEvaluations]
    probes: list[ModelProbe]


async def compute_model_figures(view: View, model: str) -> ModelFigures:
    """Compute the figures of the model that a name means. Errors: InvalidQuery."""
    also = (EvaluationIndex, ProbeScoreIndex, *MODEL_NAMES)
    calibration, _ = await view.at(Calibration, also=also)
    selection = calibration.selection(CalibrationFilter())
    evaluations = (await view.at(EvaluationIndex))[0].scores()
    probes = (await view.at(ProbeScoreIndex))[0].scores()
    names = await find_model_names(view)
    return await run_on_thread(_compute, selection, evaluations, probes, names, model)


def is_empty_of_figures(figures: ModelFigures) -> bool:
    """Return whether nothing in the ledger names the model."""
    return not (figures.decisions.decisions or figures.evaluations or figures.probes)


def _compute(
    selection: CountSelection,
    evaluations: EvaluationScoreColumns,
    probes: ProbeScoreColumns,
    names: ModelNames,
    model: str,
) -> ModelFigures:
    key, resolve = names.resolve(model).key, model_resolver(names)
    table = table_of_model(selection.table(), key, resolve)
    cells = merge_cells(table.confidence, table.counts)
    scores, coverage = compute_scores(*cells), count_coverage(*cells)
    boards = build_scoreboard(
        evaluations, ScoreboardQuery(group_by="model", versions=len(evaluations.attributions)), resolve
    )
    tables = build_score_tables(probes, names, ProbeScoreQuery(model=model))
    return ModelFigures(
        model=key,
        decisions=ModelDecisions(
            decisions=coverage.total,
            **({"reviewed": 0} if scores is None else shared_fields(scores, ModelDecisions)),
        ),
        evaluations=[
            ModelEvaluations(
                suite=board.suite,
                answers=row.scored + row.errors,
                **shared_fields(row, ModelEvaluations),
            )
            for board in boards.suites
            for row in board.rows
            if row.model == key and row.baseline is None
        ],
        probes=[
            ModelProbe(**{**shared_fields(scored, ModelProbe), **shared_fields(row, ModelProbe)})
            for scored in tables
            for row in scored.models
        ],
    )

"""Summaries of evaluations for a list, computed from copies of the columns."""

from collections.abc import Sequence

import numpy as np

from projections.evaluation.aggregation import pool_scores, scenario_weights, tally_scores
from projections.evaluation.evaluation_index import EvaluationScoreColumns, stated_weights
from projections.evaluation.score_context import run_fields
from projections.evaluation.usage_figures import measure_usage
from projections.evaluation.view_types import EvaluationSummary


def summarize_runs(scores: EvaluationScoreColumns, runs: Sequence[int]) -> list[EvaluationSummary]:
    """Return the summaries of the evaluations with the given indices in `scores.runs`."""
    scores, earlier = scores.select(np.isin(scores.run, runs)).split_tries()
    stated = stated_weights(scores.scenario_versions)[scores.scenario_version]
    order = np.argsort(scores.run, kind="stable")
    begins, ends = (np.searchsorted(scores.run[order], runs, side) for side in ("left", "right"))
    summaries = []
    for run, begin, end in zip(runs, begins.tolist(), ends.tolist(), strict=True):
        run_rows = order[begin:end]
        scenarios, scenario = np.unique(scores.scenario[run_rows], return_inverse=True)
        tally = tally_scores(scenario, scores.outcome[run_rows], scores.points[run_rows], len(scenarios))
        statistics = pool_scores(tally, scenario_weights(scenario, stated[run_rows], len(scenarios)))
        attributions = {scores.attributions[number] for number in np.unique(scores.attribution[run_rows]).tolist()}
        usage = measure_usage(scores.tries(run_rows), earlier.of(run_rows, len(order)))
        summaries.append(EvaluationSummary(**statistics, usage=usage, **run_fields(scores.runs[run], attributions)))
    return summaries

"""Summaries of evaluations for a list, computed from copies of the columns."""

from collections.abc import Sequence

import numpy as np

from projections.evaluation.aggregation import pool_scores, scenario_weights, tally_scores
from projections.evaluation.evaluation_index import EvaluationScoreColumns, stated_weights
from projections.evaluation.score_context import run_fields
from projections.evaluation.view_types import EvaluationSummary


def summarize_runs(scores: EvaluationScoreColumns, places: Sequence[int]) -> list[EvaluationSummary]:
    """Return the summaries of the evaluations at some places among the runs."""
    scores = scores.select(np.isin(scores.run, places)).latest()
    stated = stated_weights(scores.scenario_versions)[scores.on]
    order = np.argsort(scores.run, kind="stable")
    begins, ends = (np.searchsorted(scores.run[order], places, side) for side in ("left", "right"))
    summaries = []
    for place, begin, end in zip(places, begins.tolist(), ends.tolist(), strict=True):
        own = order[begin:end]
        chosen, scenario = np.unique(scores.scenario[own], return_inverse=True)
        tally = tally_scores(scenario, scores.outcome[own], scores.points[own], len(chosen))
        figures = pool_scores(tally, scenario_weights(scenario, stated[own], len(chosen)))
        attributions = {scores.attributions[number] for number in np.unique(scores.by[own]).tolist()}
        summaries.append(EvaluationSummary(**figures, **run_fields(scores.runs[place], attributions)))
    return summaries

"""Look at a sequential run after some attempts, and decide whether more attempts are needed."""

from api.reports.gate import describe_p
from api.reports.loss_test import ALPHA
from api.service.evaluation.evaluation_reader import read_evaluation
from api.service.store import EventStore
from events.evaluation import EvalStarted
from projections.evaluation.run_comparison import compare_runs
from projections.evaluation.scenario_passes import strata_of
from projections.evaluation.sequential_plan import HOPELESS, level_at, looks_in
from projections.stats.stratified_loss import loss_p_value

SEQUENTIAL_BASELINE = "sequential_baseline"
"""The key in the `meta` of a run that records the run which the looks compare it with."""


def run_looks(started: EvalStarted) -> tuple[int, ...]:
    """Return the numbers of attempts after which a run is looked at; the last one is all of them."""
    return looks_in(started.meta) or (started.attempts or 1,)


async def find_reason_to_stop(store: EventStore, started: EvalStarted, look: int) -> str | None:
    """Return why a run ends after `look` attempts at each scenario; None if it goes on. Errors: those of reading."""
    looks, baseline_id = looks_in(started.meta), (started.meta or {}).get(SEQUENTIAL_BASELINE)
    if baseline_id is None or started.run_id is None or look == looks[-1]:
        return None
    baseline = await read_evaluation(store, baseline_id, ())
    passes = compare_runs(baseline, await read_evaluation(store, started.run_id, ())).passes
    if not passes:
        return None
    p, level = loss_p_value(strata_of(passes)), level_at(looks, look, ALPHA)
    where = f"after {look} of {looks[-1]} attempts at each scenario"
    if p <= level:
        return f"worse than {baseline_id} {where}: p {describe_p(p)}, level {level:.4g}"
    if look != looks[0] and p >= HOPELESS:
        return f"no sign of a loss since {baseline_id} {where}: p {describe_p(p)}"
    return None

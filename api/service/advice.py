"""The use case of advice: how decisions like a planned one turned out."""

from functools import partial

from msgspec import structs

from api.principal import Principal
from api.service.calibration_params import AdviceParams
from api.service.ledger import View
from api.service.operation import operation
from api.service.unknown_names import find_unknown_filter_names, suggest
from ledger.threads import run_on_thread
from projections.calibration.advice import PlannedDecision, has_category, summarize_past_decisions
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.words import MIN_DECISIONS
from tallystick.shapes.advice import Advice
from tallystick.shapes.parts import UnknownName


@operation("/calibration/advice", "calibration")
async def get_advice(view: View, params: AdviceParams, caller: Principal) -> Advice:
    """Summarize the outcomes of decisions that are similar to a planned one, by default those of the caller."""
    agent = caller.agent if params.agent is None else params.agent
    return await advise(view, PlannedDecision(**{**structs.asdict(params), "agent": agent}))


async def advise(view: View, plan: PlannedDecision) -> Advice:
    """Compute how decisions like a planned one turned out. Errors: InvalidQuery."""
    projection, position = await view.at(Calibration)
    filters = CalibrationFilter(agent=plan.agent)
    table = projection.table(filters)
    decisions = projection.decisions(filters)
    summarize = partial(summarize_past_decisions, table, plan, decisions)
    # Reading clusters takes some milliseconds for each 10,000 reviews.
    outcomes = await run_on_thread(summarize) if decisions.clusters else summarize()
    is_new_category = plan.category is not None and not has_category(table, plan.category)
    unknown: tuple[UnknownName, ...] = ()
    if is_new_category or not len(table.group):
        asked = CalibrationFilter(agent=plan.agent, category=plan.category)
        unknown = tuple(find_unknown_filter_names(table.groups, asked) or ())
    if unknown:
        notes = (_note_unknown(name) for name in unknown)
        outcomes = structs.replace(outcomes, message=" ".join([*notes, outcomes.message]))
    return Advice(**structs.asdict(outcomes), as_of=await view.dated(position), unknown_names=unknown)


async def note_on_plan(view: View, plan: PlannedDecision) -> str | None:
    """Return a note on the outcomes of decisions that are similar to a planned one; None if too few are reviewed.

    Decisions of any category with any confidence are not similar to one that states a confidence.
    """
    advice = await advise(view, plan)
    is_similar = advice.category is not None or "confidence" not in advice.widened
    return advice.message if advice.reviewed >= MIN_DECISIONS and is_similar else None


def _note_unknown(name: UnknownName) -> str:
    """Return a remark on the agent or category of a planned decision that no decision in the ledger has."""
    nearest = f" {suggest(name.nearest, '')}" if name.nearest is not None else ""
    return f"No decision here has the {name.parameter} {name.value!r}.{nearest}"

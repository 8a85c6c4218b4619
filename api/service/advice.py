"""The use case of advice: how decisions like a planned one turned out."""

from functools import partial

from msgspec import UNSET, structs

from api.service.as_of import AsOf
from api.service.ledger import View
from api.service.unknown_names import UnknownName, UnknownNames, find_unknown_filter_names, suggest
from ledger.threads import run_on_thread
from projections.calibration.advice import PastDecisions, PlannedDecision, has_category, summarize_past_decisions
from projections.calibration.calibration import Calibration, CalibrationFilter


class Advice(PastDecisions, frozen=True, kw_only=True):
    """Outcomes of past decisions that are like a planned one, as of a position.

    `unknown_names` has the agent and the category if no decision in the ledger has them; absent otherwise.
    """

    as_of: AsOf
    unknown_names: UnknownNames = UNSET


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
    unknown: UnknownNames = UNSET
    if is_new_category or not len(table.group):
        unknown = find_unknown_filter_names(table.groups, CalibrationFilter(agent=plan.agent, category=plan.category))
    if unknown is not UNSET:
        notes = (_note_unknown(name) for name in unknown)
        outcomes = structs.replace(outcomes, message=" ".join([*notes, outcomes.message]))
    return Advice(**structs.asdict(outcomes), as_of=await view.dated(position), unknown_names=unknown)


def _note_unknown(name: UnknownName) -> str:
    """Return a remark on the agent or category of a planned decision that no decision in the ledger has."""
    nearest = f" {suggest(name.nearest, '')}" if name.nearest is not None else ""
    return f"No decision here has the {name.parameter} {name.value!r}.{nearest}"

"""The use case of advice: how decisions like a planned one turned out."""

from functools import partial

from msgspec import structs

from api.service.ledger import LedgerService
from api.service.unknown_names import find_unknown_filter_names, suggest
from ledger.threads import run_on_thread
from projections.calibration.advice import PlannedDecision, has_category, summarize_past_decisions
from projections.calibration.calibration import Calibration, CalibrationFilter
from tallystick.shapes.advice import Advice
from tallystick.shapes.parts import UnknownName


async def advise(ledger: LedgerService, plan: PlannedDecision, as_of: int | None = None) -> Advice:
    """Compute how decisions like a planned one turned out. Errors: InvalidQuery."""
    projection, position = await ledger.engine.at(Calibration, as_of)
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
    return Advice(**structs.asdict(outcomes), as_of=await ledger.dated(position), unknown_names=unknown)


def _note_unknown(name: UnknownName) -> str:
    """Return a remark on the agent or category of a planned decision that no decision in the ledger has."""
    nearest = f" {suggest(name.nearest, '')}" if name.nearest is not None else ""
    return f"No decision here has the {name.parameter} {name.value!r}.{nearest}"

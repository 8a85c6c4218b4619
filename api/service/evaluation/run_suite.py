"""The suite of a run: load it from the ledger, and record its scenarios and files when the run begins."""

from collections.abc import Callable, Sequence

from msgspec import structs

from api.service.evaluation.kept_suite import load_kept_suite
from api.service.evaluation.scenario_recorder import record_scenarios
from api.service.evaluation.suite_files import keep_suite_files
from api.service.store import EventStore
from events.evaluation import EvalStarted
from instruments.evals.scenario import Scenario
from instruments.evals.suite.loader import Suite


async def load_suite_of(store: EventStore, name: str, warn: Callable[[str], None]) -> Suite:
    """Load the suite of a run or version from the ledger. Errors: those of `load_kept_suite`."""
    kept = await load_kept_suite(store, name)
    if kept.suite.digest != kept.version.suite_digest:
        warn("warning: this version of Tallystick reads these files differently; do not compare the scores.")
    return kept.suite


async def record_suite(
    store: EventStore, started: EvalStarted, scenarios: Sequence[Scenario], *, keep_files: bool
) -> EvalStarted:
    """Record the scenarios of a run that begins, and with `keep_files` store their files; return its start.

    Errors: those of `record_scenarios` and `keep_suite_files`.
    """
    await record_changes(store, scenarios)
    if not keep_files:
        return started
    return structs.replace(started, suite_files_digest=await keep_suite_files(store, started.suite, scenarios))


async def record_changes(store: EventStore, scenarios: Sequence[Scenario]) -> None:
    """Record new and changed scenarios. Errors: those of `record_scenarios`."""
    await record_scenarios(store, scenarios, keep=False)

"""Read an evaluation and its trend from an event store: a ledger file or a server."""

from collections.abc import Sequence

from api.service.store import EventStore
from events.registry import VOCABULARY
from instruments.evals.scenario import Scenario
from ledger.errors import Damaged, Gone, NotFound
from projections.evaluation.aggregation import ScenarioLabels
from projections.evaluation.evaluation_index import EvaluationIndex
from projections.evaluation.query_params import ScoreboardQuery
from projections.evaluation.run_view import build_evaluation, evidence_digests
from projections.evaluation.scoreboard import build_scoreboard
from projections.evaluation.view_types import Evaluation, TrendPoint

_types = VOCABULARY.names_of(*EvaluationIndex.reads)


async def read_evaluation(
    store: EventStore, run_id: str, scenarios: Sequence[Scenario], *, analyses: bool = False
) -> Evaluation:
    """Return an existing run in full, with the names of `scenarios`; with `analyses`, the answers too.

    Errors: those of reading.
    """
    facts = VOCABULARY.facts(await store.streams([f"evaluation/{run_id}"]))
    texts: dict[str, bytes | None] = {}
    for digest in evidence_digests(facts, analyses=analyses):
        try:
            texts[digest] = (await store.evidence(digest)).data
        except Gone:
            texts[digest] = None
        except (NotFound, Damaged):
            pass  # the evaluation is built without this text
    abouts = {scenario.id: scenario.about for scenario in scenarios}
    labels = {name: ScenarioLabels(about.name, about.family, about.failure_type) for name, about in abouts.items()}
    return build_evaluation(facts, labels, texts, analyses=analyses)


async def read_trend(store: EventStore, run: Evaluation) -> tuple[TrendPoint, ...]:
    """Return the scores of the versions of the evaluated agent on the suite. Errors: those of reading."""
    evaluations = EvaluationIndex()
    async for page in store.pages(_types):
        evaluations.fold(VOCABULARY.facts(page))
    board = build_scoreboard(evaluations.scores(), ScoreboardQuery(suite=run.suite, agent=run.agent))
    return tuple(point for suite in board.suites for point in suite.trend)

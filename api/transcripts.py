"""An evaluation told whole from its stream, in a file or behind a server alike."""

from collections.abc import Sequence

from api.sink import Sink
from events.registry import VOCABULARY
from instruments.evals import Scenario
from ledger.errors import Damaged, Gone, NotFound
from projections import BoardWanted, Evaluation, Evaluations, TrendPoint, evidence_of, scoreboard, transcribe
from projections.grading import Known

_types = [kind.name for kind in VOCABULARY.kinds.values() if kind.payload in Evaluations.reads]


async def told(sink: Sink, run_id: str, scenarios: Sequence[Scenario], *, analyses: bool = False) -> Evaluation:
    """A run that is there, its scenarios called what their files call them; with the answers where asked for.

    Errors: those of reading.
    """
    facts = VOCABULARY.facts(await sink.streams([f"evaluation/{run_id}"]))
    texts: dict[str, bytes | None] = {}
    for digest in evidence_of(facts, analyses=analyses):
        try:
            texts[digest] = (await sink.evidence(digest)).data
        except Gone:
            texts[digest] = None
        except (NotFound, Damaged):
            """It is told without."""
    known = {one.id: Known(one.about.name, one.about.family, one.about.failure_type) for one in scenarios}
    return transcribe(facts, known, texts, analyses=analyses)


async def course(sink: Sink, run: Evaluation) -> tuple[TrendPoint, ...]:
    """The versions of who was evaluated, on the suite. Errors: those of reading."""
    evaluations = Evaluations()
    async for page in sink.pages(_types):
        evaluations.fold(VOCABULARY.facts(page))
    board = scoreboard(evaluations.scores(), BoardWanted(suite=run.suite, agent=run.agent))
    return tuple(point for suite in board.suites for point in suite.trend)

"""The calls that views of evaluations take the usage of scores from."""

from collections.abc import Sequence

from api.service.ledger import View
from events.envelope import EventFacts
from ledger.threads import run_on_thread
from projections.call_index import CallColumns, CallIndex
from projections.evaluation.call_usage import fill_events, fill_usage
from projections.evaluation.evaluation_index import EvaluationScoreColumns

CALLS = (CallIndex,)
"""The projection to request together with that of evaluations, so that both are at one position."""


class CallRecords:
    """The calls at the position of a view."""

    def __init__(self, columns: CallColumns) -> None:
        self._columns = columns

    @classmethod
    async def find(cls, view: View) -> "CallRecords":
        """Return the calls at the position of the projection that was requested last, with CALLS in `also`."""
        return cls((await view.beside(CallIndex)).calls())

    async def fill_scores(self, scores: EvaluationScoreColumns) -> EvaluationScoreColumns:
        """Return scores with the usage and the models of their calls, where they state none."""
        return await run_on_thread(fill_usage, scores, self._columns)

    def fill_stream(self, events: Sequence[EventFacts]) -> Sequence[EventFacts]:
        """Return the events of an evaluation with the usage and the models of their calls."""
        return fill_events(events, self._columns)

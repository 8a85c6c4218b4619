"""The views of a server about the steps that agents recorded."""

from typing import TYPE_CHECKING

from api.client.remote_decision_views import PREFIX, id_segment
from api.client.remote_suite_views import RemoteSuiteViews
from api.service.evaluation.queries import EvaluationAnswer

if TYPE_CHECKING:
    from api.service.evaluation.trace_queries import TraceAnswer


class RemoteTraceViews(RemoteSuiteViews):
    """The views of a server, now or as of a position or time as text. Errors: those of `RemoteStore.view`."""

    async def evaluation_trace(self, run_id: str, attempt: str) -> "TraceAnswer":
        """Return the recorded steps of an attempt, named `SCENARIO` or `SCENARIO/ATTEMPT`."""
        from api.service.evaluation.trace_queries import build_trace_answer, find_traced_line

        path = f"/evaluations/{id_segment(run_id, 'evaluation')}"
        run = await self._store.view(path, EvaluationAnswer, {**PREFIX, **self._as_of})
        lines = await self._store.streams([f"evaluation/{run.run_id}"])
        score = find_traced_line(lines, run.as_of.position, run.run_id, attempt)
        assert score.trace_digest is not None
        return build_trace_answer(score, (await self._store.evidence(score.trace_digest)).data, run.as_of)

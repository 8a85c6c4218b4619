"""The views of a remote server: each method gets a route and decodes the struct that the local use case returns."""

from msgspec import UNSET, structs

from api.client.remote_decision_views import PREFIX, id_segment
from api.client.remote_trace_views import RemoteTraceViews
from api.parameters import texts_of
from api.reports import EvaluationReport, GateLimits
from api.service.discovery.queries import RunView
from api.service.evaluation.gate import GateAnswer, GateQuery
from api.service.evaluation.queries import (
    EvaluationAnswer,
    RunComparisonAnswer,
    ScoreboardAnswer,
)
from api.service.evidence import EvidencePage
from api.service.operation import A, Operation, P
from api.service.projections import ProjectionInfo, ProjectionList
from api.service.status import LedgerStatus
from events.limits import PAGE_EVENTS_MAX
from projections.discovery.run_report import RunDetail


class RemoteViews(RemoteTraceViews):
    """The views of a server, now or as of a position or time as text.

    Errors: those that the server answers, and those of `RemoteStore.view`.
    """

    async def answer(self, operation: Operation[P, A], params: P) -> A:
        """Return the answer of an operation."""
        texts = texts_of(params)
        placed = {name: texts.pop(name) for name in operation.placed}
        path = operation.path.format(**{name: id_segment(text, _noun(name)) for name, text in placed.items()})
        return await self._store.view(path, operation.answer, {**texts, **self._as_of})

    async def evidence(self) -> EvidencePage:
        """Return all evidence, which the server lists in pages."""
        parameters = {"limit": str(PAGE_EVENTS_MAX), **self._as_of}
        page = await self._store.view("/evidence", EvidencePage, parameters)
        entries, after = list(page.evidence), page.next
        while after is not None:
            parameters |= {"offset": str(after), "as_of": str(page.as_of.position)}
            further = await self._store.view("/evidence", EvidencePage, parameters)
            if not further.evidence:
                raise self._store.unexpected("/evidence")
            entries += further.evidence
            after = further.next if len(entries) < page.total else None
        return structs.replace(page, evidence=entries, next=None)

    async def run(self, run_id: str, *, attempts: bool) -> RunView:
        include = "attempts,summary" if attempts else "summary"
        path = f"/runs/{id_segment(run_id, 'run')}"
        detail = await self._store.view(path, RunDetail, {"include": include, **PREFIX, **self._as_of})
        if detail.summary is UNSET:
            raise self._store.unexpected(path)
        return RunView(entry=detail.summary, detail=structs.replace(detail, summary=UNSET))

    async def projections(self) -> list[ProjectionInfo]:
        return (await self._store.view("/projections", ProjectionList)).projections

    async def status(self) -> LedgerStatus:
        return await self._store.view("/status", LedgerStatus)

    async def evaluation_report(self, run_id: str) -> EvaluationReport:
        """Return the report data of an evaluation, with its answers and the trend of its agent."""
        parameters = {"include": "analyses", **PREFIX, **self._as_of}
        run = await self._store.view(f"/evaluations/{id_segment(run_id, 'evaluation')}", EvaluationAnswer, parameters)
        if run.baseline is not None:
            return EvaluationReport(evaluation=run)
        selected = {"suite": run.suite, "agent": run.agent, "versions": "1", "as_of": str(run.as_of.position)}
        board = await self._store.view("/scoreboard", ScoreboardAnswer, {k: v for k, v in selected.items() if v})
        return EvaluationReport(evaluation=run, trend=tuple(point for suite in board.suites for point in suite.trend))

    async def comparison_report(self, baseline: str, candidate: str) -> EvaluationReport:
        """Return the report data of a candidate, with its comparison to a baseline."""
        parameters = {"baseline": baseline, "candidate": candidate, **PREFIX, **self._as_of}
        comparison = await self._store.view("/evaluations/compare", RunComparisonAnswer, parameters)
        return await self._with_comparison(comparison)

    async def gate_report(self, query: GateQuery) -> EvaluationReport:
        """Return the report data of a candidate, with its comparison to a baseline and the gate's judgement."""
        limits = query.limits
        parameters = {
            "baseline": query.baseline,
            **({"max_regressions": str(limits.regressions)} if limits.strict else {}),
            "max_errors": str(limits.errors),
            "alpha": f"{limits.alpha:f}",
            "drop": f"{limits.drop:f}",
            **({} if limits.drop_scenarios is None else {"drop_in": str(limits.drop_scenarios)}),
            **({} if query.suite is None else {"suite": query.suite}),
            **({} if limits.score is None else {"min_score": f"{limits.score:f}"}),
            **{name: f"{limit:.12f}" for name, limit in _usage_limits(limits).items() if limit is not None},
        }
        path = f"/evaluations/{id_segment(query.candidate, 'evaluation')}/gate"
        answer = await self._store.view(path, GateAnswer, parameters | self._as_of)
        fields = {name: getattr(answer, name) for name in RunComparisonAnswer.__struct_fields__}
        report = await self._with_comparison(RunComparisonAnswer(**fields))
        return structs.replace(report, judgement=answer.judgement)

    async def _with_comparison(self, comparison: RunComparisonAnswer) -> EvaluationReport:
        then = RemoteViews(self._store, str(comparison.as_of.position))
        return structs.replace(await then.evaluation_report(comparison.candidate.run_id), contrast=comparison)


def _noun(name: str) -> str:
    """Return what an id in a path is the id of: `decision` for `decision_id`."""
    return name.removesuffix("_id")


def _usage_limits(limits: GateLimits) -> dict[str, float | None]:
    """Return the limits of latency and cost by the names of their parameters."""
    return {
        "max_latency": limits.latency_s,
        "max_latency_p95": limits.latency_p95_s,
        "max_cost_per_attempt": limits.cost_per_attempt_usd,
    }

"""The views of a remote server: each method gets a route and decodes the struct that the local use case returns."""

from urllib.parse import quote

from msgspec import UNSET, structs

from api.client.remote_decision_views import PREFIX, Parameters, id_segment
from api.client.remote_trace_views import RemoteTraceViews
from api.reports import EvaluationReport, GateLimits
from api.service.decisions import DecisionPage
from api.service.discovery.queries import RunPage, RunView
from api.service.evaluation.gate import GateAnswer, GateQuery
from api.service.evaluation.judge_queries import JudgingReportAnswer, UnlabelledPage
from api.service.evaluation.queries import (
    EvaluationAnswer,
    EvaluationPage,
    RunComparisonAnswer,
    ScoreboardAnswer,
)
from api.service.evidence import EvidencePage
from api.service.model_profiles import ProfilesAnswer
from api.service.model_queries import InventoryAnswer, ModelList, ProbesAnswer, registered_models
from api.service.projections import ProjectionInfo, ProjectionList, ProjectionState
from api.service.related_events import RelatedEvents
from api.service.review_sample import ReviewSample
from api.service.status import LedgerStatus
from api.service.wrappers import WrapperList
from events.limits import PAGE_EVENTS_MAX
from projections.discovery.run_report import RunDetail
from tallystick.shapes.advice import Advice
from tallystick.shapes.calibration import CalibrationAnswer


class RemoteViews(RemoteTraceViews):
    """The views of a server, now or as of a position or time as text.

    Errors: those that the server answers, and those of `RemoteStore.view`.
    """

    async def calibration(self, parameters: Parameters) -> CalibrationAnswer:
        return await self._store.view("/calibration", CalibrationAnswer, {**parameters, **self._as_of})

    async def advice(self, parameters: Parameters) -> Advice:
        return await self._store.view("/calibration/advice", Advice, {**parameters, **self._as_of})

    async def review_sample(self, parameters: Parameters) -> ReviewSample:
        return await self._store.view("/reviews/sample", ReviewSample, {**parameters, **self._as_of})

    async def decisions(self, parameters: Parameters) -> DecisionPage:
        return await self._store.view("/decisions", DecisionPage, {**parameters, **self._as_of})

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

    async def runs(self, parameters: Parameters) -> RunPage:
        return await self._store.view("/runs", RunPage, {**parameters, **self._as_of})

    async def run(self, run_id: str, *, attempts: bool) -> RunView:
        include = "attempts,summary" if attempts else "summary"
        path = f"/runs/{id_segment(run_id, 'run')}"
        detail = await self._store.view(path, RunDetail, {"include": include, **PREFIX, **self._as_of})
        if detail.summary is UNSET:
            raise self._store.unexpected(path)
        return RunView(entry=detail.summary, detail=structs.replace(detail, summary=UNSET))

    async def related(self, correlationid: str, after: int) -> RelatedEvents:
        parameters = {"correlationid": correlationid, "after": str(after), "limit": str(PAGE_EVENTS_MAX)}
        return await self._store.view("/related", RelatedEvents, parameters | self._as_of)

    async def inventory(self, model: str | None = None) -> InventoryAnswer:
        parameters = {} if model is None else {"model": model}
        return await self._store.view("/inventory", InventoryAnswer, parameters | self._as_of)

    async def registered_models(self) -> ModelList:
        return registered_models(await self.inventory())

    async def profiles(self, model: str | None = None) -> ProfilesAnswer:
        parameters = {} if model is None else {"model": model}
        return await self._store.view("/profiles", ProfilesAnswer, parameters | self._as_of)

    async def wrappers(self) -> WrapperList:
        return await self._store.view("/wrappers", WrapperList, self._as_of)

    async def probe_scores(self, parameters: Parameters) -> ProbesAnswer:
        return await self._store.view("/probes", ProbesAnswer, {**parameters, **self._as_of})

    async def projections(self) -> list[ProjectionInfo]:
        return (await self._store.view("/projections", ProjectionList)).projections

    async def projection(self, name: str) -> ProjectionState:
        return await self._store.view(f"/projections/{quote(name, safe='')}", ProjectionState, self._as_of)

    async def status(self) -> LedgerStatus:
        return await self._store.view("/status", LedgerStatus)

    async def evaluations(self, parameters: Parameters) -> EvaluationPage:
        return await self._store.view("/evaluations", EvaluationPage, {**parameters, **self._as_of})

    async def scoreboard(self, parameters: Parameters) -> ScoreboardAnswer:
        return await self._store.view("/scoreboard", ScoreboardAnswer, {**parameters, **self._as_of})

    async def judges(self, parameters: Parameters) -> JudgingReportAnswer:
        return await self._store.view("/judges", JudgingReportAnswer, {**parameters, **self._as_of})

    async def label_queue(self, parameters: Parameters) -> UnlabelledPage:
        return await self._store.view("/labels/queue", UnlabelledPage, {**parameters, **self._as_of})

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


def _usage_limits(limits: GateLimits) -> dict[str, float | None]:
    """Return the limits of latency and cost by the names of their parameters."""
    return {
        "max_latency": limits.latency_s,
        "max_latency_p95": limits.latency_p95_s,
        "max_cost_per_attempt": limits.cost_per_attempt_usd,
    }

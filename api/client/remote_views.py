"""The views of a remote server: each method gets a route and decodes the struct that the local use case returns."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Raw, Struct, structs

from api.client.remote_store import RemoteStore
from api.reports import EvaluationReport
from api.service.advice import Advice
from api.service.calibration import CalibrationAnswer
from api.service.decisions import DecisionPage
from api.service.discovery.queries import RunPage, RunView
from api.service.evaluation.gate import GateAnswer, GateQuery
from api.service.evaluation.queries import (
    EvaluationAnswer,
    EvaluationPage,
    RunComparisonAnswer,
    ScoreboardAnswer,
)
from api.service.evidence import EvidencePage
from api.service.id_prefix import id_not_found
from api.service.model_queries import InventoryAnswer, ModelList, ProbesAnswer, registered_models
from api.service.projections import ProjectionInfo, ProjectionList, ProjectionState
from api.service.related_events import RelatedEvents
from api.service.review_sample import ReviewSample
from api.service.status import LedgerStatus
from events.limits import PAGE_EVENTS_MAX
from events.payload import STREAM_ID_PATTERN
from events.registry import VOCABULARY
from projections.decisions.decision_state import DecisionState, HistoryEntry
from projections.discovery.run_report import RunDetail

PREFIX = {"prefix": "true"}
"""The id may be an unambiguous beginning of it, as in the commands on a file."""

Parameters = Mapping[str, str]

_Answer = TypeVar("_Answer")

_stream_id = re.compile(STREAM_ID_PATTERN, re.ASCII)


class _Entry(Struct):
    """An event in the history of a decision, whose payload is decoded by its type."""

    position: int
    streamversion: int
    type: str
    agent: str
    time: datetime
    data: Raw


class RemoteViews:
    """The views of a server, now or as of a position or time as text.

    Errors: those that the server answers, and those of `RemoteStore.view`.
    """

    def __init__(self, store: RemoteStore, as_of: str | None = None) -> None:
        self._store = store
        self._as_of = {} if as_of is None else {"as_of": as_of}

    async def calibration(self, parameters: Parameters) -> CalibrationAnswer:
        return await self._store.view("/calibration", CalibrationAnswer, {**parameters, **self._as_of})

    async def advice(self, parameters: Parameters) -> Advice:
        return await self._store.view("/calibration/advice", Advice, {**parameters, **self._as_of})

    async def review_sample(self, parameters: Parameters) -> ReviewSample:
        return await self._store.view("/reviews/sample", ReviewSample, {**parameters, **self._as_of})

    async def decisions(self, parameters: Parameters) -> DecisionPage:
        return await self._store.view("/decisions", DecisionPage, {**parameters, **self._as_of})

    async def decision(self, decision_id: str) -> DecisionState:
        path = f"/decisions/{_id_segment(decision_id, 'decision')}"
        body = await self._store.get(path, {**PREFIX, **self._as_of})
        fields = self._store.decode(path, body, dict[str, Raw])
        entries = self._store.decode(path, fields.pop("history", Raw(b"[]")), list[_Entry])
        state = self._store.decode(path, msgspec.json.encode(fields), DecisionState)
        return structs.replace(state, history=tuple(self._history_entry(path, entry) for entry in entries))

    def _history_entry(self, path: str, entry: _Entry) -> HistoryEntry:
        kind = VOCABULARY.event_types.get(entry.type)
        if kind is None:
            raise self._store.unexpected(path)
        return HistoryEntry(**{**structs.asdict(entry), "data": self._store.decode(path, entry.data, kind.current)})

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

    async def view(self, path: str, answer: type[_Answer]) -> _Answer:
        """Return the answer of a route that takes no parameter but `as_of`."""
        return await self._store.view(path, answer, self._as_of)

    async def runs(self, parameters: Parameters) -> RunPage:
        return await self._store.view("/runs", RunPage, {**parameters, **self._as_of})

    async def run(self, run_id: str, *, attempts: bool) -> RunView:
        include = "attempts,summary" if attempts else "summary"
        path = f"/runs/{_id_segment(run_id, 'run')}"
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

    async def is_registered(self, model_name: str) -> bool:
        return any(model.known for model in (await self.inventory(model_name)).models)

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

    async def evaluation_report(self, run_id: str) -> EvaluationReport:
        """Return the report data of an evaluation, with its answers and the trend of its agent."""
        parameters = {"include": "analyses", **PREFIX, **self._as_of}
        run = await self._store.view(f"/evaluations/{_id_segment(run_id, 'evaluation')}", EvaluationAnswer, parameters)
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
            "max_regressions": str(limits.regressions),
            "max_errors": str(limits.errors),
            **({} if query.suite is None else {"suite": query.suite}),
            **({} if limits.score is None else {"min_score": f"{limits.score:f}"}),
        }
        path = f"/evaluations/{_id_segment(query.candidate, 'evaluation')}/gate"
        answer = await self._store.view(path, GateAnswer, parameters | self._as_of)
        fields = {name: getattr(answer, name) for name in RunComparisonAnswer.__struct_fields__}
        report = await self._with_comparison(RunComparisonAnswer(**fields))
        return structs.replace(report, judgement=answer.judgement)

    async def _with_comparison(self, comparison: RunComparisonAnswer) -> EvaluationReport:
        then = RemoteViews(self._store, str(comparison.as_of.position))
        return structs.replace(await then.evaluation_report(comparison.candidate.run_id), contrast=comparison)


def _id_segment(given: str, noun: str) -> str:
    """Return an id, or the beginning of one, as a segment of a path. Errors: NotFound, if it cannot be an id."""
    if _stream_id.fullmatch(given) is None or not given.strip("."):
        raise id_not_found(given, noun)
    return given

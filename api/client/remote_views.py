"""The views of a remote server: each method gets a route and decodes the struct that the local use case returns."""

from msgspec import UNSET, structs

from api.client.remote_decision_views import PREFIX, id_segment
from api.client.remote_trace_views import RemoteTraceViews
from api.parameters import texts_of
from api.service.discovery.queries import RunView
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
        placed = {name: texts.pop(name, str(getattr(params, name))) for name in operation.placed}
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

    async def past(self, position: int) -> "RemoteViews":
        """Return the views as of a position."""
        return RemoteViews(self._store, str(position))


def _noun(name: str) -> str:
    """Return what an id in a path is the id of: `decision` for `decision_id`."""
    return name.removesuffix("_id")

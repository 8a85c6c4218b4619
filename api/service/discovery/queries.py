"""Queries of discovery runs: list them, or show one as its report, on request with every attempt."""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from api.service.as_of import AsOf
from api.service.evidence import read_blobs
from api.service.ledger import LedgerService
from events.envelope import EventFacts
from events.limits import PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX
from events.registry import VOCABULARY
from ledger import Query
from ledger.errors import NotFound
from projections.discovery.run_index import RunEntry, RunIndex, RunSelection
from projections.discovery.run_report import DiscoveryRun, RunDetail, build_attempts, build_report, build_signals

GAP = 256
"""Scores at most so many positions apart are read by one query, with the events between them."""

SCORED = ("probe.scored.v1",)


class RunQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs to list: a page of them, the most recently begun first."""

    selection: RunSelection = RunSelection()
    limit: int = PAGE_EVENTS_DEFAULT
    offset: int = 0


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """Runs in short; `next` is the offset of the next page, None on the last."""

    runs: list[RunEntry]
    total: int
    next: int | None
    as_of: AsOf


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """A run in short and in full."""

    entry: RunEntry
    detail: RunDetail


async def list_runs(ledger: LedgerService, query: RunQuery, as_of: int | None = None) -> RunPage:
    """Return a page of runs. Errors: InvalidQuery."""
    projection, position = await ledger.engine.at(RunIndex, as_of)
    places = projection.find(query.selection)
    chosen = projection.entries(places[query.offset : query.offset + query.limit])
    after = query.offset + len(chosen)
    total = len(places)
    return RunPage(runs=chosen, total=total, next=after if after < total else None, as_of=await ledger.dated(position))


async def show_run(
    ledger: LedgerService, run_id: str, as_of: int | None = None, *, attempts: bool = False, prefix: bool = False
) -> RunView:
    """Return one run as its report, on request with attempts and signals.

    With `prefix` the id may be a unique beginning of it. Errors: NotFound, InvalidQuery.
    """
    projection, position = await ledger.engine.at(RunIndex, as_of)
    found = [run_id] if projection.has(run_id) else projection.ids_starting_with(run_id) if prefix and run_id else []
    if len(found) != 1:
        advice = f"{run_id} begins more than one id." if found else "Check the id, or list the runs to find it."
        raise NotFound(f"Run not found: {run_id}", advice)
    entry, scores = projection.entry(found[0]), projection.scores(found[0])
    streams = await ledger.engine.read_streams([f"discovery/{found[0]}"], position)
    run = DiscoveryRun.of(streams[f"discovery/{found[0]}"], await _read_scores(ledger, scores))
    texts = await _read_outputs(ledger, run)
    detail = RunDetail(**structs.asdict(build_report(run, texts)))
    if attempts:
        detail = structs.replace(detail, attempts=build_attempts(run, texts), signals=build_signals(run))
    return RunView(entry=entry, detail=detail)


async def _read_outputs(ledger: LedgerService, run: DiscoveryRun) -> dict[str, str | None]:
    """Return the outputs of a run that are kept as evidence, by digest; None for each that was erased."""
    found = await read_blobs(ledger.evidence, run.evidence(), run.digests())
    return {digest: None if data is None else data.decode(errors="replace") for digest, data in found.items()}


async def _read_scores(ledger: LedgerService, positions: Sequence[int]) -> list[EventFacts]:
    """Return the scores at some positions, which most often are adjacent."""
    found: list[EventFacts] = []
    needed, start = set(positions), 0
    for number, position in enumerate(positions, 1):
        if number == len(positions) or positions[number] - position > GAP:
            query = Query(after=positions[start] - 1, before=position + 1, types=SCORED, limit=PAGE_EVENTS_MAX)
            async for page in ledger.scan(query):
                found.extend(event for event in VOCABULARY.facts(page.ndjson) if event.position in needed)
            start = number
    return found

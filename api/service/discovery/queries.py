"""Queries of discovery runs: list runs; show one run as a report, with every attempt if requested."""

from collections.abc import Collection, Sequence

import msgspec
from msgspec import UNSET, structs

from api.service.evidence import read_blobs
from api.service.id_prefix import resolve_id
from api.service.ledger import LedgerService, View
from api.service.operation import Link, operation
from api.service.run_params import RunParams, RunQuery
from api.service.unknown_names import UnknownNames, find_unknown_names
from events.envelope import EventFacts
from events.limits import PAGE_EVENTS_MAX
from events.probe import ProbeScored
from events.registry import VOCABULARY
from ledger.log import Query
from projections.discovery.run_index import RunEntry, RunIndex, RunSelection
from projections.discovery.run_report import DiscoveryRun, RunDetail, build_attempts, build_report, build_signals
from tallystick.shapes.parts import AsOf

POSITIONS_APART_MAX = 256
"""One query reads two neighbouring scores if their positions differ by no more than this."""

SCORED = VOCABULARY.names_of(ProbeScored)


NAMES_MAX = 50
"""Names of each kind that `list_run_names` returns."""


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """Summaries of runs; `next` is the offset of the next page, None on the last."""

    runs: list[RunEntry]
    total: int
    next: int | None
    as_of: AsOf
    unknown_names: UnknownNames = UNSET


class RunNames(msgspec.Struct, frozen=True, kw_only=True):
    """Names that filters of runs may state, in alphabetical order, up to NAMES_MAX of each kind."""

    agents: list[str]
    routers: list[str]
    probes: list[str]


@operation(
    "/runs",
    "runs",
    links={"run": Link("get_run", "run_id", "$response.body#/runs/0/run_id")},
)
async def get_runs(view: View, params: RunQuery) -> RunPage:
    """List summaries of discovery runs, the last started first."""
    projection, position = await view.at(RunIndex)
    selection = RunSelection(
        agent=params.agent, router=params.router, probe=params.probe, range=params.range(view.clock())
    )
    rows = projection.find(selection)
    runs = projection.entries(rows[params.offset : params.offset + params.limit])
    after = params.offset + len(runs)
    total = len(rows)
    asked = {"agent": params.agent, "router": params.router, "probe": params.probe}
    return RunPage(
        runs=runs,
        total=total,
        next=after if after < total else None,
        as_of=await view.dated(position),
        unknown_names=UNSET if total else find_unknown_names(asked, projection.names()),
    )


async def list_run_names(ledger: LedgerService) -> RunNames:
    """Return the agents, routers and probes of all runs, as proposals for a filter."""
    projection, _ = await ledger.at(RunIndex)
    names = {kind: sorted(found)[:NAMES_MAX] for kind, found in projection.names().items()}
    return RunNames(agents=names["agent"], routers=names["router"], probes=names["probe"])


@operation("/runs/{run_id}", "runs", errors=(404,))
async def get_run(view: View, params: RunParams) -> RunDetail:
    """Return the report of one discovery run, in the format of run reports."""
    projection, position = await view.at(RunIndex)
    run_id = resolve_id(projection, params.run_id, "run", prefix=params.prefix)
    entry, scores = projection.entry(run_id), projection.scores(run_id)
    streams = await view.engine.events.read_streams([f"discovery/{run_id}", f"signal/{run_id}"], position)
    events = [event for stream in streams.values() for event in stream]
    run = DiscoveryRun.of(events, await read_scores(view, scores))
    texts = await read_texts(view, run, run.evidence())
    detail = RunDetail(**structs.asdict(build_report(run, texts)))
    if "attempts" in params.include:
        detail = structs.replace(detail, attempts=build_attempts(run, texts), signals=build_signals(run))
    return structs.replace(detail, summary=entry) if "summary" in params.include else detail


async def read_texts(view: View, run: DiscoveryRun, digests: Collection[str]) -> dict[str, str | None]:
    """Return the texts of a run that are stored as evidence, by some digests; None for each one that was erased."""
    blobs = await read_blobs(view.evidence, digests, run.digests())
    return {digest: None if data is None else data.decode(errors="replace") for digest, data in blobs.items()}


async def read_scores(view: View, positions: Sequence[int]) -> list[EventFacts]:
    """Return the scores at some positions. Most of these are adjacent."""
    scores: list[EventFacts] = []
    needed, start = set(positions), 0
    for number, position in enumerate(positions, 1):
        if number == len(positions) or positions[number] - position > POSITIONS_APART_MAX:
            query = Query(after=positions[start] - 1, before=position + 1, types=SCORED, limit=PAGE_EVENTS_MAX)
            async for page in view.scan(query):
                scores.extend(event for event in view.engine.events.usable_events(page) if event.position in needed)
            start = number
    return scores

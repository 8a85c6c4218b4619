"""One discovery run, a page of its attempts at a time, whatever its length."""

from collections.abc import Mapping, Sequence

import msgspec

from api.service.discovery.queries import read_scores, read_texts
from api.service.id_prefix import resolve_id
from api.service.ledger import View
from events.discovery import (
    BatteryProbe,
    DiscoveryAttempted,
    DiscoveryFinished,
    DiscoverySignalled,
    DiscoverySignalledLate,
    DiscoveryStarted,
)
from events.envelope import EventFacts
from events.limits import PAGE_EVENTS_MAX
from events.model import ModelIdentity
from events.payload import Payload
from events.registry import VOCABULARY
from instruments.discovery import BATTERY_PROMPT_VERSION, PROMPT_VERSION, build_prompt, make_battery
from instruments.probes import find_probe
from ledger.errors import NotFound
from ledger.log import LogPage, Order, Query
from projections.discovery.attempt_index import AttemptIndex
from projections.discovery.run_index import RunEntry, RunIndex
from projections.discovery.run_report import DiscoveryRun, RunAttempt, RunSignal, build_attempts, build_signals
from tallystick.shapes.parts import AsOf

SIGNALS_SHOWN = 50
"""The newest signals of a run that are read; the summary counts all."""


class AttemptQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which attempts of a run: a page of them, in the order of the log or the newest first, or the one of a `number`.

    With `texts`, answers that are stored as evidence are read.
    """

    limit: int
    offset: int = 0
    order: Order = "asc"
    number: int | None = None
    texts: bool = False


class IdentifiedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that an accepted answer claims to be."""

    attempt: int
    claimed: ModelIdentity


class AttemptMark(msgspec.Struct, frozen=True):
    """The number of an attempt and its outcome."""

    number: int
    outcome: str


class RunProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A run as far as it is: its summary, settings and end, all models that it identified, and a page of attempts.

    `task` is what each prompt asks after its exclusion list; None if this version of Tallystick has not that prompt.
    `marks` has every attempt in the order of the log, `texts` the answers that were read from evidence, by digest.
    """

    summary: RunEntry
    started: DiscoveryStarted
    finished: DiscoveryFinished | None
    task: str | None
    identified: list[IdentifiedModel]
    attempts: Sequence[RunAttempt]
    marks: Sequence[AttemptMark]
    signals: Sequence[RunSignal]
    texts: Mapping[str, str]
    as_of: AsOf


async def show_run_attempts(view: View, run_id: str, query: AttemptQuery) -> RunProgress:
    """Return a run with a page of its attempts. Errors: NotFound, for an unknown run or number; InvalidQuery."""
    claims, _ = await view.at(AttemptIndex)
    index, position = await view.at(RunIndex)
    resolve_id(index, run_id, "run", prefix=False)
    entry, scores = index.entry(run_id), index.scores(run_id)
    # Attempts are in the order of the log, so the first ones are those of the past.
    attempted = claims.claims_of(run_id)[: entry.attempts]
    marks = [AttemptMark(number, outcome) for number, (outcome, *_) in attempted]
    offset, limit = query.offset, query.limit
    if query.number is not None:
        places = [place for place, mark in enumerate(marks) if mark.number == query.number]
        if not places:
            raise NotFound(
                f"Run {run_id} has no attempt {query.number}.", f"It has {entry.attempts:,}; list them to find it."
            )
        offset, limit = places[0], 1
    reader = _StreamReader(view, run_id, position)
    (started,) = await reader.read(DiscoveryStarted, limit=1)
    signals = await reader.read(DiscoverySignalled, DiscoverySignalledLate, limit=SIGNALS_SHOWN, order="desc")
    finished = await reader.read(DiscoveryFinished, limit=1)
    run = DiscoveryRun(
        started=started,
        attempts=await reader.read(DiscoveryAttempted, offset=offset, limit=limit, order=query.order),
        signals=signals[::-1],
        finished=finished[0] if finished else None,
        scores=await read_scores(view, scores),
    )
    texts = await read_texts(view, run, run.evidence_of_answers() if query.texts else ())
    return RunProgress(
        summary=entry,
        started=run.begun,
        finished=None if not finished else _finished(finished[0]),
        task=_task(run.begun),
        identified=[
            IdentifiedModel(attempt=number, claimed=claimed)
            for number, (outcome, claimed, _) in attempted
            if outcome == "accepted" and claimed is not None
        ],
        attempts=build_attempts(run, texts),
        marks=marks,
        signals=build_signals(run),
        texts={digest: text for digest, text in texts.items() if text is not None},
        as_of=await view.dated(position),
    )


class _StreamReader:
    """Reads the events of a run, and the signals after its end, up to a position."""

    def __init__(self, view: View, run_id: str, position: int) -> None:
        self._ledger = view
        self._subjects = (f"discovery/{run_id}", f"signal/{run_id}")
        self._before = position + 1

    async def read(self, *kinds: type[Payload], limit: int, offset: int = 0, order: Order = "asc") -> list[EventFacts]:
        """Return some events of some kinds. Lines before the offset are read, but not decoded."""
        types = VOCABULARY.names_of(*kinds)
        after, before, skipped, found = 0, self._before, 0, 0
        events: list[EventFacts] = []
        while found < limit:
            wanted = min(PAGE_EVENTS_MAX, offset - skipped + limit - found)
            query = Query(subjects=self._subjects, types=types, after=after, before=before, limit=wanted, order=order)
            page = await self._ledger.read(query)
            start = min(offset - skipped, len(page.positions))
            part = LogPage(b"\n".join(page.lines[start:]), page.positions[start:], page.more)
            if part.positions:
                events += self._ledger.engine.events.usable_events(part)
            skipped, found = skipped + start, found + len(part.positions)
            if not page.more:
                break
            if order == "asc":
                after = page.positions[-1]
            else:
                before = page.positions[-1]
        return events


def _task(started: DiscoveryStarted) -> str | None:
    """Return the part of each prompt that is the same for all attempts; None if it is unknown."""
    battery = started.battery or (BatteryProbe(probe_id=started.probe_id or "", probe_version=started.probe_version),)
    version = BATTERY_PROMPT_VERSION if started.battery else PROMPT_VERSION
    if started.prompt_version != version or any(one.probe_version is None for one in battery):
        return None
    probes = [find_probe(one.probe_id, one.probe_version) for one in battery]
    known = [probe for probe in probes if probe is not None]
    return build_prompt(make_battery(known).prompt) if len(known) == len(probes) else None


def _finished(event: EventFacts) -> DiscoveryFinished:
    assert isinstance(event.data, DiscoveryFinished)
    return event.data

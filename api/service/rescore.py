"""Score stored outputs with a scorer that did not score them before, and append the scores beside the old ones.

The log is read twice: first for the outputs and their existing scores, then for the texts of the outputs that the
scorer has not scored. A score's id follows from run, attempt and scorer: a repetition appends nothing, and two
callers that rescore at the same time append each score once.
"""

import time
from asyncio import to_thread
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from typing import NamedTuple

import msgspec

from api.progress import Report
from api.service.store import EventStore
from events.discovery import DiscoveryAttempted, DiscoveryStarted
from events.envelope import Draft
from events.model_names import canonical
from events.probe import ProbeScored, score_id_of
from events.registry import VOCABULARY
from instruments.probes import (
    FORMER_PROBE_IDS,
    PROBES,
    SCORERS,
    ProbeScore,
    Scorer,
    scorer_name,
)
from ledger.errors import Damaged, Gone, InvalidQuery, NotFound
from projections.stats.discrimination import Discrimination, measure_discrimination

BATCH_EVENTS = 500
"""Scores in one append."""

BATCH_CHARS = 4_000_000
"""About how many characters of outputs are in memory at once."""

ANSWERED = frozenset(("accepted", "repeat", "wrapper"))
"""Outcomes of attempts that answered the probe."""

UNNAMED = "(unnamed)"

RUNS = ("discovery.started.v1", "discovery.attempted.v1")
SCORES = ("probe.scored.v1",)

_scored = VOCABULARY.kinds["probe.scored.v1"].draft

Place = tuple[str, int]
"""Run and attempt."""


class RescoreQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which outputs to score, with which scorer: `scorer` is ID@VERSION; a run and a probe by their ids."""

    scorer: str
    run: str | None = None
    probe: str | None = None


class ScoreSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The scores that one scorer gave some outputs: how many, how many of them invalid, mean, distinct values."""

    scores: int
    invalid: int
    mean: float | None
    distinct: int


class ModelRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outputs of one canonical model name, and the summary of each scorer."""

    model: str
    outputs: int
    scorers: dict[str, ScoreSummary]


class RescoreResult(msgspec.Struct, kw_only=True):
    """The result of a rescoring. `scorers` names the earlier scorers in order, then the new one.

    The summaries have the names of scorers as keys. Of `outputs`, `appended` were scored now and `known` before;
    `erased` counts outputs whose evidence was erased, `lost` those whose evidence is missing or damaged.
    """

    scorer: str
    probes: list[str]
    outputs: int = 0
    appended: int = 0
    known: int = 0
    erased: int = 0
    lost: int = 0
    elapsed_ms: int = 0
    scorers: list[str] = []
    models: list[ModelRow] = []
    total: dict[str, ScoreSummary] = {}
    discrimination: dict[str, Discrimination] = {}


class StoredOutput(msgspec.Struct, frozen=True):
    """A stored output: the probe that it answers, and the model that claims to have written it."""

    probe_id: str
    probe_version: str | None
    model_name: str | None


class OutputScore(msgspec.Struct, frozen=True):
    """The score that one scorer gave an output."""

    valid: bool
    total: float | None


Marks = dict[Place, dict[str, OutputScore]]


async def rescore(store: EventStore, asked: RescoreQuery, report: Report) -> RescoreResult:
    """Score stored outputs, append the new scores, and compare old and new; `report` receives the count of outputs.

    Errors: InvalidQuery for an unknown scorer or probe, NotFound for an unknown run; those of `EventStore.append`:
    scores appended before the error stay, and another call continues from there.
    """
    began = time.monotonic()
    scorer = scorer_of(asked.scorer)
    outputs = await _outputs(store, asked, _probes_of(scorer, asked.probe))
    marks = await _marks(store, outputs)
    found = RescoreResult(scorer=scorer_name(scorer), probes=sorted({output.probe_id for output in outputs.values()}))
    found.outputs = len(outputs)
    waiting = {place: output for place, output in outputs.items() if found.scorer not in marks[place]}
    found.known = len(outputs) - len(waiting)
    async for texts in _texts(store, asked.run, waiting, found):
        scores = await to_thread(_scores, scorer, texts)
        drafts = [_draft(place, waiting[place], text, scores[place], scorer) for place, text in texts.items()]
        answer = await store.append(drafts)
        found.appended += answer.count - answer.duplicates
        found.known += answer.duplicates
        for place, score in scores.items():
            marks[place][found.scorer] = OutputScore(score.valid, score.total)
        report(found.known + found.appended + found.erased + found.lost, found.outputs)
    _compare(found, outputs, marks)
    found.elapsed_ms = round((time.monotonic() - began) * 1000)
    return found


def scorer_of(name: str) -> Scorer:
    """Return a scorer by ID@VERSION. Errors: InvalidQuery, listing the known scorers."""
    if name not in SCORERS:
        raise InvalidQuery("scorer", f"there is no scorer {name!r}.", f"Scorers: {', '.join(SCORERS)}.")
    return SCORERS[name]


def _probes_of(scorer: Scorer, asked: str | None) -> frozenset[str]:
    """Return the ids of the probes whose outputs are selected, former ids included."""
    meant = {probe.id for probe in PROBES if probe.scorer.id == scorer.id} if asked is None else {asked}
    return frozenset(meant | {former for former, now in FORMER_PROBE_IDS.items() if now in meant})


async def _outputs(store: EventStore, asked: RescoreQuery, probes: frozenset[str]) -> dict[Place, StoredOutput]:
    """Return the stored outputs of some probes, of one run or of all.

    Errors: NotFound for an unknown run, InvalidQuery for a probe that neither this version nor any run knows.
    """
    started: dict[str, DiscoveryStarted] = {}
    found: dict[Place, StoredOutput] = {}
    async for page in store.pages(RUNS, _subjects(asked.run)):
        for fact in VOCABULARY.facts(page):
            data = fact.data
            if isinstance(data, DiscoveryStarted):
                assert data.run_id is not None, "a stored event names its stream"
                started[data.run_id] = data
            elif isinstance(data, DiscoveryAttempted) and data.outcome in ANSWERED:
                run = started[data.run_id]
                if run.probe_id in probes and _where(data) is not None:
                    name = data.claimed.model_name if data.claimed is not None else None
                    found[data.run_id, data.attempt] = StoredOutput(run.probe_id, run.probe_version, name)
    if asked.run is not None and not started:
        raise NotFound(f"There is no run {asked.run}.", "See the runs: tallystick run list.")
    known = {probe.id for probe in PROBES} | {run.probe_id for run in started.values() if run.probe_id is not None}
    if asked.probe is not None and asked.probe not in known | set(FORMER_PROBE_IDS):
        raise InvalidQuery("probe", f"there is no probe {asked.probe!r}.", f"Probes: {', '.join(sorted(known))}.")
    return found


async def _marks(store: EventStore, outputs: dict[Place, StoredOutput]) -> Marks:
    """Return every existing score of some outputs, by output and scorer."""
    marks: Marks = {place: {} for place in outputs}
    if not outputs:
        return marks
    async for page in store.pages(SCORES):
        for fact in VOCABULARY.facts(page):
            data = fact.data
            assert isinstance(data, ProbeScored)
            if data.run_id is not None and data.attempt is not None and (data.run_id, data.attempt) in marks:
                name = data.scorer_id if data.scorer_version is None else f"{data.scorer_id}@{data.scorer_version}"
                mark = OutputScore(data.valid is not False, data.total_score)
                marks[data.run_id, data.attempt][name] = mark
    return marks


async def _texts(
    store: EventStore, run: str | None, waiting: dict[Place, StoredOutput], found: RescoreResult
) -> AsyncIterator[dict[Place, str]]:
    """Yield the texts of outputs without a score, in batches; count those that cannot be read in `found`."""
    batch: dict[Place, str] = {}
    size_chars = 0
    if not waiting:
        return
    async for page in store.pages(RUNS[1:], _subjects(run)):
        for fact in VOCABULARY.facts(page):
            data = fact.data
            if not isinstance(data, DiscoveryAttempted) or (data.run_id, data.attempt) not in waiting:
                continue
            text = await _text(store, data, found)
            if text is None:
                continue
            batch[data.run_id, data.attempt] = text
            size_chars += len(text)
            if len(batch) == BATCH_EVENTS or size_chars > BATCH_CHARS:
                yield batch
                batch, size_chars = {}, 0
    if batch:
        yield batch


async def _text(store: EventStore, attempt: DiscoveryAttempted, found: RescoreResult) -> str | None:
    """Return the output of an attempt, from its line or the evidence; None if it is counted as erased or lost."""
    where = _where(attempt)
    assert where is not None, "only attempts with an output are scored"
    if where.text is not None:
        return where.text
    assert where.digest is not None, "an output is in its line or has a digest"
    try:
        return (await store.evidence(where.digest)).data.decode(errors="replace")
    except Gone:
        found.erased += 1
    except (NotFound, Damaged):
        found.lost += 1
    return None


class OutputPlace(NamedTuple):
    """Where an output is: its text in the event, or the digest of evidence."""

    text: str | None
    digest: str | None


def _where(attempt: DiscoveryAttempted) -> OutputPlace | None:
    """Return where the output of an attempt is; without a separate output it is the whole response."""
    if attempt.output is not None or attempt.output_digest not in {None, attempt.response_digest}:
        return OutputPlace(attempt.output, attempt.output_digest)
    if attempt.response is not None or attempt.response_digest is not None:
        return OutputPlace(attempt.response, attempt.response_digest)
    return None


def _scores(scorer: Scorer, texts: dict[Place, str]) -> dict[Place, ProbeScore]:
    return {place: scorer.score(text) for place, text in texts.items()}


def _draft(place: Place, output: StoredOutput, text: str, score: ProbeScore, scorer: Scorer) -> Draft:
    score_id = score_id_of(*place, scorer.id, scorer.version)
    data = ProbeScored(
        score_id=score_id,
        probe_id=output.probe_id,
        probe_version=output.probe_version,
        scorer_id=scorer.id,
        scorer_version=scorer.version,
        run_id=place[0],
        attempt=place[1],
        model_name=output.model_name or None,
        output_digest=sha256(text.encode()).hexdigest(),
        valid=score.valid,
        counts=score.counts,
        total_score=score.total,
        dimension_scores=score.dimensions,
        apart=score.apart,
    )
    return _scored(data=data, id=f"rescore:{score_id}")


def _subjects(run: str | None) -> tuple[str, ...]:
    return () if run is None else (f"discovery/{run}",)


def _compare(found: RescoreResult, outputs: dict[Place, StoredOutput], marks: Marks) -> None:
    """Fill in the summaries of every scorer, by model and in all, and how well each scorer tells models apart."""
    names = {name for each in marks.values() for name in each}
    found.scorers = [*sorted(names - {found.scorer}), found.scorer]
    models: dict[str, list[dict[str, OutputScore]]] = {}
    for place, output in outputs.items():
        name = canonical(output.model_name or "") or UNNAMED
        models.setdefault(name, []).append(marks[place])
    found.models = [
        ModelRow(model=model, outputs=len(own), scorers={name: _figures(name, own) for name in found.scorers})
        for model, own in sorted(models.items())
    ]
    found.total = {name: _figures(name, list(marks.values())) for name in found.scorers}
    for name in found.scorers:
        totals = ([mark.total for mark in _of(name, own) if mark.total is not None] for own in models.values())
        found.discrimination[name] = measure_discrimination(totals)


def _of(name: str, marks: Sequence[dict[str, OutputScore]]) -> list[OutputScore]:
    return [own[name] for own in marks if name in own]


def _figures(name: str, marks: Sequence[dict[str, OutputScore]]) -> ScoreSummary:
    own = _of(name, marks)
    totals = [mark.total for mark in own if mark.total is not None]
    return ScoreSummary(
        scores=len(own),
        invalid=sum(not mark.valid for mark in own),
        mean=sum(totals) / len(totals) if totals else None,
        distinct=len(set(totals)),
    )

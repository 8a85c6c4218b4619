"""Score stored outputs with another scorer, append the new scores, and compare them with the existing ones.

The first read of the log finds the outputs and their scores, the second the texts of outputs that the scorer has not
scored. A score's id follows from run, attempt and scorer: a repetition appends nothing, and two callers that rescore
at the same time append each score once.
"""

import time
from asyncio import to_thread
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from typing import NamedTuple

import msgspec

from api.progress import ReportProgress
from api.service.store import EventStore
from events.discovery import DiscoveryAttempted, DiscoveryStarted
from events.envelope import Draft
from events.model_names import canonical_name
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
"""Characters of outputs in memory at once, about."""

ANSWERED = frozenset(("accepted", "repeat", "wrapper"))
"""Outcomes of attempts that answered the probe."""

UNNAMED = "(unnamed)"

RUNS = ("discovery.started.v1", "discovery.attempted.v1")
SCORES = VOCABULARY.names_of(ProbeScored)


OutputKey = tuple[str, int]
"""Run and attempt."""


class RescoreQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The scorer as ID@VERSION, and which outputs to score: of a run and of a probe, by their ids; by default all."""

    scorer: str
    run: str | None = None
    probe: str | None = None


class ScoreSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one scorer: their number, how many are invalid, their mean, and the number of distinct values."""

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
    """The result of a rescoring. `scorers` has the names of the earlier scorers, sorted, and then the new one.

    The names are the keys of the summaries. Of `outputs`, `appended` were scored now and `known` before; `erased` is
    the number of outputs whose evidence was erased, `lost` of those whose evidence is missing or damaged.
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


ScoresByOutput = dict[OutputKey, dict[str, OutputScore]]


async def rescore(store: EventStore, query: RescoreQuery, report: ReportProgress) -> RescoreResult:
    """Score stored outputs, append the new scores, and compare old and new; `report` receives the progress.

    Errors: InvalidQuery for an unknown scorer or probe, NotFound for an unknown run; those of `EventStore.append`:
    scores appended before the error stay, and another call continues from there.
    """
    began = time.monotonic()
    scorer = find_scorer(query.scorer)
    outputs = await _find_outputs(store, query, _selected_probe_ids(scorer, query.probe))
    scores = await _read_scores(store, outputs)
    result = RescoreResult(scorer=scorer_name(scorer), probes=sorted({output.probe_id for output in outputs.values()}))
    result.outputs = len(outputs)
    unscored = {key: output for key, output in outputs.items() if result.scorer not in scores[key]}
    result.known = len(outputs) - len(unscored)
    async for texts in _read_texts(store, query.run, unscored, result):
        new_scores = await to_thread(_score_texts, scorer, texts)
        drafts = [_score_draft(key, unscored[key], text, new_scores[key], scorer) for key, text in texts.items()]
        answer = await store.append(drafts)
        result.appended += answer.count - answer.duplicates
        result.known += answer.duplicates
        for key, score in new_scores.items():
            scores[key][result.scorer] = OutputScore(score.valid, score.total)
        report(result.known + result.appended + result.erased + result.lost, result.outputs)
    _compare(result, outputs, scores)
    result.elapsed_ms = round((time.monotonic() - began) * 1000)
    return result


def find_scorer(name: str) -> Scorer:
    """Return a scorer by ID@VERSION. Errors: InvalidQuery, listing the known scorers."""
    if name not in SCORERS:
        raise InvalidQuery("scorer", f"there is no scorer {name!r}.", f"Scorers: {', '.join(SCORERS)}.")
    return SCORERS[name]


def _selected_probe_ids(scorer: Scorer, probe_id: str | None) -> frozenset[str]:
    """Return the ids and former ids of the probes whose outputs are selected."""
    probe_ids = {probe.id for probe in PROBES if probe.scorer.id == scorer.id} if probe_id is None else {probe_id}
    return frozenset(probe_ids | {former for former, now in FORMER_PROBE_IDS.items() if now in probe_ids})


async def _find_outputs(
    store: EventStore, query: RescoreQuery, probes: frozenset[str]
) -> dict[OutputKey, StoredOutput]:
    """Return the stored outputs of some probes, of one run or of all.

    Errors: NotFound for an unknown run, InvalidQuery for a probe that neither this version nor any run knows.
    """
    started: dict[str, DiscoveryStarted] = {}
    result: dict[OutputKey, StoredOutput] = {}
    async for page in store.pages(RUNS, _subjects(query.run)):
        for fact in VOCABULARY.facts(page):
            data = fact.data
            if isinstance(data, DiscoveryStarted):
                assert data.run_id is not None, "a stored event names its stream"
                started[data.run_id] = data
            elif isinstance(data, DiscoveryAttempted) and data.outcome in ANSWERED:
                run = started[data.run_id]
                if run.probe_id in probes and _find_output(data) is not None:
                    name = data.claimed.model_name if data.claimed is not None else None
                    result[data.run_id, data.attempt] = StoredOutput(run.probe_id, run.probe_version, name)
    if query.run is not None and not started:
        raise NotFound(f"There is no run {query.run}.", "See the runs: tallystick run list.")
    known = {probe.id for probe in PROBES} | {run.probe_id for run in started.values() if run.probe_id is not None}
    if query.probe is not None and query.probe not in known | set(FORMER_PROBE_IDS):
        raise InvalidQuery("probe", f"there is no probe {query.probe!r}.", f"Probes: {', '.join(sorted(known))}.")
    return result


async def _read_scores(store: EventStore, outputs: dict[OutputKey, StoredOutput]) -> ScoresByOutput:
    """Return every existing score of some outputs, by output and scorer."""
    scores: ScoresByOutput = {key: {} for key in outputs}
    if not outputs:
        return scores
    async for page in store.pages(SCORES):
        for fact in VOCABULARY.facts(page):
            data = fact.data
            assert isinstance(data, ProbeScored)
            if data.run_id is not None and data.attempt is not None and (data.run_id, data.attempt) in scores:
                name = data.scorer_id if data.scorer_version is None else f"{data.scorer_id}@{data.scorer_version}"
                score = OutputScore(data.valid is not False, data.total_score)
                scores[data.run_id, data.attempt][name] = score
    return scores


async def _read_texts(
    store: EventStore, run: str | None, unscored: dict[OutputKey, StoredOutput], result: RescoreResult
) -> AsyncIterator[dict[OutputKey, str]]:
    """Yield the texts of unscored outputs, in batches; count in `result` those that cannot be read."""
    batch: dict[OutputKey, str] = {}
    size_chars = 0
    if not unscored:
        return
    async for page in store.pages(RUNS[1:], _subjects(run)):
        for fact in VOCABULARY.facts(page):
            data = fact.data
            if not isinstance(data, DiscoveryAttempted) or (data.run_id, data.attempt) not in unscored:
                continue
            text = await _read_text(store, data, result)
            if text is None:
                continue
            batch[data.run_id, data.attempt] = text
            size_chars += len(text)
            if len(batch) == BATCH_EVENTS or size_chars > BATCH_CHARS:
                yield batch
                batch, size_chars = {}, 0
    if batch:
        yield batch


async def _read_text(store: EventStore, attempt: DiscoveryAttempted, result: RescoreResult) -> str | None:
    """Return the output of an attempt, from its line or the evidence; None if it is counted as erased or lost."""
    output = _find_output(attempt)
    assert output is not None, "only attempts with an output are scored"
    if output.text is not None:
        return output.text
    assert output.digest is not None, "an output is in its line or has a digest"
    try:
        return (await store.evidence(output.digest)).data.decode(errors="replace")
    except Gone:
        result.erased += 1
    except (NotFound, Damaged):
        result.lost += 1
    return None


class OutputText(NamedTuple):
    """The text of an output in its event, or the digest of the evidence that contains it."""

    text: str | None
    digest: str | None


def _find_output(attempt: DiscoveryAttempted) -> OutputText | None:
    """Return the output of an attempt; an attempt without a separate output has its whole response."""
    if attempt.output is not None or attempt.output_digest not in {None, attempt.response_digest}:
        return OutputText(attempt.output, attempt.output_digest)
    if attempt.response is not None or attempt.response_digest is not None:
        return OutputText(attempt.response, attempt.response_digest)
    return None


def _score_texts(scorer: Scorer, texts: dict[OutputKey, str]) -> dict[OutputKey, ProbeScore]:
    return {key: scorer.score(text) for key, text in texts.items()}


def _score_draft(key: OutputKey, output: StoredOutput, text: str, score: ProbeScore, scorer: Scorer) -> Draft:
    score_id = score_id_of(*key, scorer.id, scorer.version)
    data = ProbeScored(
        score_id=score_id,
        probe_id=output.probe_id,
        probe_version=output.probe_version,
        scorer_id=scorer.id,
        scorer_version=scorer.version,
        run_id=key[0],
        attempt=key[1],
        model_name=output.model_name or None,
        output_digest=sha256(text.encode()).hexdigest(),
        valid=score.valid,
        counts=score.counts,
        total_score=score.total,
        dimension_scores=score.dimensions,
        apart=score.apart,
    )
    return VOCABULARY.draft_of(data, id=f"rescore:{score_id}")


def _subjects(run: str | None) -> tuple[str, ...]:
    return () if run is None else (f"discovery/{run}",)


def _compare(result: RescoreResult, outputs: dict[OutputKey, StoredOutput], scores: ScoresByOutput) -> None:
    """Set the summaries of every scorer, by model and in total, and how well each scorer tells models apart."""
    names = {name for row in scores.values() for name in row}
    result.scorers = [*sorted(names - {result.scorer}), result.scorer]
    models: dict[str, list[dict[str, OutputScore]]] = {}
    for key, output in outputs.items():
        name = canonical_name(output.model_name or "") or UNNAMED
        models.setdefault(name, []).append(scores[key])
    result.models = [
        ModelRow(model=model, outputs=len(rows), scorers={name: _summarize(name, rows) for name in result.scorers})
        for model, rows in sorted(models.items())
    ]
    result.total = {name: _summarize(name, list(scores.values())) for name in result.scorers}
    for name in result.scorers:
        totals = (
            [score.total for score in _scores_by(name, rows) if score.total is not None] for rows in models.values()
        )
        result.discrimination[name] = measure_discrimination(totals)


def _scores_by(name: str, rows: Sequence[dict[str, OutputScore]]) -> list[OutputScore]:
    return [row[name] for row in rows if name in row]


def _summarize(name: str, rows: Sequence[dict[str, OutputScore]]) -> ScoreSummary:
    given = _scores_by(name, rows)
    totals = [score.total for score in given if score.total is not None]
    return ScoreSummary(
        scores=len(given),
        invalid=sum(not score.valid for score in given),
        mean=sum(totals) / len(totals) if totals else None,
        distinct=len(set(totals)),
    )

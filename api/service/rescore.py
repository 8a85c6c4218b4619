"""Score stored outputs with another scorer, append the new scores, and compare them with the existing ones.

The first read of the log finds the outputs and their scores, the second the texts of outputs that the scorer has not
scored. A score's id follows from run, attempt and scorer: a repetition appends nothing, and two callers that rescore
at the same time append each score once.
"""

import time
from asyncio import to_thread
from collections.abc import AsyncIterator
from hashlib import sha256

import msgspec

from api.progress import ReportProgress
from api.service.rescore_comparison import OutputKey, OutputScore, RescoreResult, compare_scores
from api.service.store import EventStore
from events.discovery import DiscoveryAttempted, DiscoveryStarted
from events.envelope import Draft
from events.probe import ProbeScored, score_id_of
from events.registry import VOCABULARY
from instruments.probes import (
    FORMER_PROBE_IDS,
    PROBES,
    SCORERS,
    ProbeScore,
    Scorer,
    Unscored,
    scorer_name,
)
from ledger.errors import Damaged, Gone, InvalidQuery, NotFound

BATCH_EVENTS = 50
"""Scores in one append. A scorer that runs code takes seconds for each, and an interruption loses one batch."""

BATCH_CHARS = 4_000_000
"""Characters of outputs in memory at once, about."""

ANSWERED = frozenset(("accepted", "repeat", "wrapper"))
"""Outcomes of attempts that answered the probe."""

ERASED, LOST = "the evidence was erased", "the evidence is missing or damaged"
"""Why an output cannot be read."""

RUNS = (*VOCABULARY.names_of(DiscoveryStarted), "discovery.attempted.v1")
SCORES = VOCABULARY.names_of(ProbeScored)


def _answers(attempt: DiscoveryAttempted) -> bool:
    """Whether an attempt answers the probe, or declines to: it names its model, and gives no output."""
    return attempt.outcome in ANSWERED or (attempt.outcome == "unparsable" and attempt.claimed is not None)


class RescoreQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The scorer as ID@VERSION, and which outputs to score: of a run and of a probe, by their ids; by default all.

    With `dry_run` nothing is written.
    """

    scorer: str
    run: str | None = None
    probe: str | None = None
    dry_run: bool = False


class StoredOutput(msgspec.Struct, frozen=True):
    """A stored output: the probe that it answers, and the model that claims to have written it."""

    probe_id: str
    probe_version: str | None
    model_name: str | None


Scores = dict[OutputKey, dict[str, OutputScore]]


async def rescore(store: EventStore, query: RescoreQuery, report: ReportProgress) -> RescoreResult:
    """Score stored outputs, append the new scores, and compare new and old ones; `report` receives the progress.

    Errors: InvalidQuery for an unknown scorer or probe, NotFound for an unknown run; those of `EventStore.append`:
    scores appended before the error stay, and another call continues from there.
    """
    began = time.monotonic()
    scorer = find_scorer(query.scorer)
    outputs = await _find_outputs(store, query, _selected_probe_ids(scorer, query.probe))
    scores = await _read_scores(store, outputs)
    result = RescoreResult(
        scorer=scorer_name(scorer),
        probes=sorted({output.probe_id for output in outputs.values()}),
        dry_run=query.dry_run,
        outputs=len(outputs),
    )
    todo = {key: output for key, output in outputs.items() if result.scorer not in scores[key]}
    result.known = len(outputs) - len(todo)
    unscored: dict[OutputKey, str] = {}
    async for texts in _read_texts(store, query.run, todo, unscored):
        new_scores = await to_thread(_score_texts, scorer, texts)
        drafts = []
        for key, score in new_scores.items():
            if isinstance(score, Unscored):
                unscored[key] = score.reason
                result.unscored[score.reason] = result.unscored.get(score.reason, 0) + 1
            else:
                drafts.append(_score_draft(key, todo[key], texts[key], score, scorer))
                scores[key][result.scorer] = OutputScore(score.valid, score.total)
        if query.dry_run or not drafts:
            result.appended += len(drafts)
        else:
            answer = await store.append(drafts)
            result.appended += answer.count - answer.duplicates
            result.known += answer.duplicates
        report(result.known + result.appended + len(unscored), result.outputs)
    compare_scores(result, {key: output.model_name for key, output in outputs.items()}, scores, unscored)
    reasons = list(unscored.values())
    result.erased, result.lost = reasons.count(ERASED), reasons.count(LOST)
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
            elif isinstance(data, DiscoveryAttempted) and _answers(data):
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


async def _read_scores(store: EventStore, outputs: dict[OutputKey, StoredOutput]) -> Scores:
    """Return every existing score of some outputs, by output and scorer."""
    scores: Scores = {key: {} for key in outputs}
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
    store: EventStore, run: str | None, todo: dict[OutputKey, StoredOutput], unscored: dict[OutputKey, str]
) -> AsyncIterator[dict[OutputKey, str]]:
    """Yield the texts of outputs, in batches; put into `unscored` why others cannot be read."""
    batch: dict[OutputKey, str] = {}
    size_chars = 0
    if not todo:
        return
    async for page in store.pages(RUNS[-1:], _subjects(run)):
        for fact in VOCABULARY.facts(page):
            data = fact.data
            if not isinstance(data, DiscoveryAttempted) or (data.run_id, data.attempt) not in todo:
                continue
            text = await _read_text(store, data, unscored)
            if text is None:
                continue
            batch[data.run_id, data.attempt] = text
            size_chars += len(text)
            if len(batch) == BATCH_EVENTS or size_chars > BATCH_CHARS:
                yield batch
                batch, size_chars = {}, 0
    if batch:
        yield batch


async def _read_text(store: EventStore, attempt: DiscoveryAttempted, unscored: dict[OutputKey, str]) -> str | None:
    """Return the output of an attempt, from its line or the evidence; None if it cannot be read."""
    output = _find_output(attempt)
    assert output is not None, "only attempts with an output are scored"
    text, digest = output
    if text is not None:
        return text
    assert digest is not None, "an output is in its line or has a digest"
    try:
        return (await store.evidence(digest)).data.decode(errors="replace")
    except Gone:
        unscored[attempt.run_id, attempt.attempt] = ERASED
    except (NotFound, Damaged):
        unscored[attempt.run_id, attempt.attempt] = LOST
    return None


def _find_output(attempt: DiscoveryAttempted) -> tuple[str | None, str | None] | None:
    """Return the output of an attempt: its text, or the digest of the evidence that has it.

    An attempt without a separate output has its whole response.
    """
    if attempt.output is not None or attempt.output_digest not in {None, attempt.response_digest}:
        return attempt.output, attempt.output_digest
    if attempt.response is not None or attempt.response_digest is not None:
        return attempt.response, attempt.response_digest
    return None


def _score_texts(scorer: Scorer, texts: dict[OutputKey, str]) -> dict[OutputKey, ProbeScore | Unscored]:
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

"""Convert an imported run into events; pure.

Ids follow from the tool's own run and from each sample, so that another import of the same results adds nothing.

The id of a scenario is `SUITE.SAMPLE`, so that sample 1 of two suites is two scenarios. Where that is not a valid id,
the part that is not is cleaned and gets a digest of the original, marked `.x`. Names that end like such a mark, and
samples with a dot, get a digest too, so that different names never give the same id.
"""

import re
from datetime import datetime
from hashlib import sha256

import msgspec

from api.importers.results.imported_run import ImportedFile, ImportedRun, ImportedScore
from api.service.evaluation.answer_scorer import fit_to_line
from api.service.evaluation.run_operations import GradedAttempt, score_event_id, validate_payload
from api.service.evidence import Blob, digest_of
from events.envelope import Draft
from events.errors import InvalidEvent
from events.evaluation import EvalFinished, EvalScored, EvalStarted
from events.limits import EVIDENCE_BYTES_MAX, ITEMS_MAX, PAYLOAD_BYTES_MAX, STREAM_ID_CHARS_MAX
from events.payload import STREAM_ID_PATTERN
from events.registry import VOCABULARY

SAMPLE_IDS = "sample_ids"
"""The name in a run's meta of the digest of the evidence with the tool's ids of samples, by id of scenario."""

MODEL = "model"
"""The name in a run's meta of the model, which the runner uses too."""

JSON = "application/json"

SAME_FIELDS = set(EvalScored.__struct_fields__) & set(ImportedScore.__struct_fields__) - {"detail"}
"""Fields of a score that its event has under the same names, with the same values."""

AttemptKey = tuple[str, int]

_encode = msgspec.json.Encoder().encode

SUITE_CHARS_MAX = 30
"""Characters of the suite's part of an id."""

SUITE_DIGITS, SAMPLE_DIGITS = 8, 16
"""Hexadecimal digits of the digest of a suite, and of a sample."""

_valid = re.compile(STREAM_ID_PATTERN)
_marked = re.compile(r"\.x[0-9a-f]{8,16}$")
_invalid = re.compile(r"[^A-Za-z0-9_-]+")


class PreparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The events of a run: its start, its scores in order with the bytes that they name, and its end, if it ended."""

    run: ImportedRun
    started: EvalStarted
    start_blobs: tuple[Blob, ...]
    scores: dict[AttemptKey, GradedAttempt]
    times: dict[AttemptKey, datetime | None]
    finished: EvalFinished | None

    @property
    def run_id(self) -> str:
        """The id of the run."""
        assert self.started.run_id is not None
        return self.started.run_id

    def start_draft(self) -> Draft:
        """Return the draft of the start."""
        return VOCABULARY.draft_of(self.started, id=f"eval:{self.run_id}:started", time=self.run.started_at)

    def score_draft(self, graded: GradedAttempt) -> Draft:
        """Return the draft of a score. Its time is that of the sample, or else the end of the run."""
        event_id = score_event_id(self.run_id, graded)
        return VOCABULARY.draft_of(graded.score, id=event_id, time=self.times[graded.key])

    def finish_draft(self) -> Draft:
        """Return the draft of the end."""
        assert self.finished is not None
        return VOCABULARY.draft_of(self.finished, id=f"eval:{self.run_id}:finished", time=self.run.ended_at)


def prepare_run(file: ImportedFile, run: ImportedRun) -> PreparedRun:
    """Return the events of a run. Errors: InvalidEvent, naming file and sample; nothing was written."""
    run_id = file.run_id(run)
    samples = (*run.samples, *(score.sample for score in run.scores))
    names = {sample: scenario_id_of(run.suite, sample) for sample in samples}
    changed = {name: sample for sample, name in sorted(names.items()) if not keeps_sample(name, sample)}
    blobs = _sample_ids(file, changed)
    meta = run.meta | ({MODEL: run.model} if run.model else {})
    if blobs:
        meta[SAMPLE_IDS] = digest_of(blobs[0].data)
    started = EvalStarted(
        run_id=run_id,
        suite=run.suite,
        agent=run.agent,
        agent_version=run.agent_version,
        scenarios=len(names),
        attempts=run.attempts,
        scorer_id=run.scorer_id,
        scorer_version=run.scorer_version,
        meta=dict(list(meta.items())[:ITEMS_MAX]) or None,
        imported_from=file.imported_from,
        source_digest=file.source_digest,
    )
    scores: dict[AttemptKey, GradedAttempt] = {}
    times: dict[AttemptKey, datetime | None] = {}
    for score in run.scores:
        graded = _graded(file, run, run_id, names[score.sample], score)
        if graded.key in scores:
            detail = f"sample {score.sample!r}, attempt {score.attempt}: it is there twice in {run.scorer_id}."
            raise _fault(file, InvalidEvent(detail, "Give each sample of the file an id of its own."))
        scores[graded.key] = graded
        times[graded.key] = score.time or run.ended_at or run.started_at
    elapsed_ns = None
    if run.started_at is not None and run.ended_at is not None:
        elapsed_ns = max(0, round((run.ended_at - run.started_at).total_seconds() * 1e9))
    finished = EvalFinished(run_id=run_id, reason=run.reason, elapsed_ns=elapsed_ns) if run.finished else None
    try:
        return PreparedRun(
            run=run,
            started=validate_payload(started),
            start_blobs=blobs,
            scores=scores,
            times=times,
            finished=None if finished is None else validate_payload(finished),
        )
    except InvalidEvent as error:
        raise _fault(file, error) from None


def _sample_ids(file: ImportedFile, changed: dict[str, str]) -> tuple[Blob, ...]:
    """Return the evidence with the samples' own ids, for those whose scenario has another."""
    if not changed:
        return ()
    data = msgspec.json.encode(changed)
    if len(data) > EVIDENCE_BYTES_MAX:
        file.leave_out("ids of samples that scenarios cannot have", len(changed), next(iter(changed.values())))
        return ()
    return (Blob(data, JSON, "The ids of samples in the imported file, by id of scenario"),)


def _graded(file: ImportedFile, run: ImportedRun, run_id: str, scenario_id: str, score: ImportedScore) -> GradedAttempt:
    event = EvalScored(
        **{name: getattr(score, name) for name in SAME_FIELDS},
        run_id=run_id,
        scenario_id=scenario_id,
        total_score=score.points,
        pass_threshold=score.threshold,
        scorer_id=run.scorer_id,
        scorer_version=run.scorer_version,
        agent=run.agent,
        agent_version=run.agent_version,
        detail=score.detail or None,
        model=run.model,
    )
    try:
        answer = None if score.answer is None else msgspec.json.encode({"answer": score.answer}).decode()
        graded = fit_to_line(validate_payload(event), answer)
        validate_payload(graded.score)
    except (InvalidEvent, UnicodeEncodeError) as error:
        advice = "Correct the file, or leave the sample out."
        wrong = error if isinstance(error, InvalidEvent) else InvalidEvent(f"answer: {error.reason}.", advice)
        raise _fault(file, wrong, f"sample {score.sample!r}, attempt {score.attempt}: ") from None
    _check_size(file, score, graded)
    return graded


def _check_size(file: ImportedFile, score: ImportedScore, graded: GradedAttempt) -> None:
    """Refuse what no ledger takes: a line or a piece of evidence that is too long. Errors: InvalidEvent."""
    place = f"{file.file}: sample {score.sample!r}, attempt {score.attempt}"
    if (size_bytes := len(_encode(graded.score))) > PAYLOAD_BYTES_MAX:
        detail = f"{place}: {size_bytes:,} bytes of texts; a line holds at most {PAYLOAD_BYTES_MAX:,}."
        raise InvalidEvent(detail, "Shorten them.")
    for blob in graded.blobs:
        if len(blob.data) > EVIDENCE_BYTES_MAX:
            detail = f"{place}: an answer of {len(blob.data):,} bytes; evidence holds at most {EVIDENCE_BYTES_MAX:,}."
            raise InvalidEvent(detail, "Shorten it.")


def _fault(file: ImportedFile, error: InvalidEvent, place: str = "") -> InvalidEvent:
    """Add the place in the file to an error."""
    return InvalidEvent(f"{file.file}: {place}{error.detail}", error.advice, field=error.field)


def scenario_id_of(suite: str, sample: str) -> str:
    """Return the id of the scenario for a sample of a suite: 1..64 of letters, digits, '.', '_' and '-'.

    An id is `SUITE.SAMPLE`, so that sample 1 of two suites is two scenarios. A part that is not valid there is cleaned
    and gets a digest of the original, marked `.x`; so do names that end like such a mark, and samples with a dot. So
    different names never give the same id.
    """
    suite_part = _clean(suite, SUITE_CHARS_MAX, SUITE_DIGITS, dots=True)
    return f"{suite_part}.{_clean(sample, STREAM_ID_CHARS_MAX - len(suite_part) - 1, SAMPLE_DIGITS, dots=False)}"


def keeps_sample(scenario_id: str, sample: str) -> bool:
    """Tell whether the id of a scenario contains the id of its sample as the tool wrote it."""
    return scenario_id.endswith(f".{sample}")


def _clean(text: str, length: int, digits: int, *, dots: bool) -> str:
    is_free = _valid.fullmatch(text) is not None and _marked.search(text) is None and (dots or "." not in text)
    if is_free and len(text) <= length:
        return text
    digest = sha256(text.encode(errors="surrogatepass")).hexdigest()[:digits]
    return f"{_invalid.sub('-', text)[: length - digits - 2].strip('-')}.x{digest}"

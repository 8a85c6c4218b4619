"""Convert a run report into events; pure.

An event's id consists of the run's id and its place in the run, so that importing a run again adds nothing.
"""

from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec import structs

from api.importers.runs.reader import parse_time
from api.service.evidence import Blob
from events.discovery import DiscoveryAttempted, DiscoveryFinished, DiscoveryStarted
from events.envelope import Draft, source_of
from events.errors import InvalidEvent
from events.limits import ITEMS_MAX, LINE_BYTES_MAX
from events.payload import Payload
from events.probe import ProbeScored, score_id_of
from events.registry import VOCABULARY
from projections.discovery.run_report import REPORTED_SCORER_ID, TOTAL_KEY, DiscoveryResult, RunReport, report_models

DATA_BYTES_MAX = LINE_BYTES_MAX - 1_024
"""The most bytes of a payload, so that the longest attributes still fit on its line."""

LINE_BYTES = 512
"""Bytes of a line without its payload: an upper estimate."""

TEXT = "text/plain; charset=utf-8"

ID_CHARS = 16
"""Characters of a run id that is made from a report."""

_encode = msgspec.json.Encoder().encode


class RunDraft(NamedTuple):
    """One event, its approximate size, and the evidence that it names."""

    draft: Draft
    size_bytes: int
    blob: Blob | None = None

    @property
    def events(self) -> int:
        """The most events that it becomes."""
        return 1 if self.blob is None else 2


class RunEvents(NamedTuple):
    """A report with its run id, and its events."""

    file: str
    report: RunReport
    drafts: list[RunDraft]

    @property
    def run_id(self) -> str:
        assert self.report.run_id is not None
        return self.report.run_id


def run_events(file: str, report: RunReport, agent: str | None) -> RunEvents:
    """Return the events of a checked report, with an agent as source. Errors: InvalidEvent, if one fits on no line."""
    results = report.results or ()
    run_id = report.run_id or _id_from_content(report)
    unique = report_models(report) if report.unique_models is None else report.unique_models
    completed = structs.replace(report, run_id=run_id, results=results, unique_models=unique)
    collector = _Collector(run_id, None if agent is None else source_of(agent))
    config = report.config
    started = DiscoveryStarted(
        run_id=run_id,
        probe_id=config.probe_id,
        max_iterations=config.max_iterations,
        terminate_on_repeat=config.terminate_on_repeat,
        start_time=report.start_time,
    )
    collector.add("started", started, "start_time", report.start_time)
    for number, result in enumerate(results):
        _add_result(collector, number, result, config.probe_id)
    if report.end_time is not None:
        assert report.termination_reason is not None
        same = completed.unique_models == report_models(report)
        if not same and len(report.unique_models or ()) > ITEMS_MAX:
            raise InvalidEvent(
                f"unique_models: more than {ITEMS_MAX}, and different from the results.", "Correct them.",
                field="unique_models",
            )  # fmt: skip
        finished = DiscoveryFinished(
            run_id=run_id,
            reason=report.termination_reason,
            end_time=report.end_time,
            unique_models=None if same else report.unique_models,
        )
        collector.add("finished", finished, "end_time", report.end_time)
    return RunEvents(file, completed, collector.drafts)


def _add_result(collector: "_Collector", number: int, result: DiscoveryResult, default_probe: str | None) -> None:
    attempt, path, probe = number + 1, f"results[{number}]", result.probe
    assert probe.raw_output is not None
    assert probe.probe_id is not None
    digest = sha256(probe.raw_output.encode()).hexdigest()
    attempted = DiscoveryAttempted(
        run_id=collector.run_id,
        attempt=attempt,
        outcome="accepted",
        iteration=result.iteration,
        claimed=result.model,
        exclusion_prompt=result.exclusion_prompt,
        output=probe.raw_output,
        output_digest=digest,
        elapsed_ns=probe.elapsed_ns,
        tokens_used=probe.tokens_used,
        timestamp=result.timestamp,
    )
    blob = None
    if len(_encode(attempted)) > DATA_BYTES_MAX:
        blob = Blob(probe.raw_output.encode(), TEXT, f"Output of run {collector.run_id}, attempt {attempt}")
        attempted = structs.replace(attempted, output=None)
    collector.add(f"attempt:{attempt}", attempted, f"{path}.timestamp", result.timestamp, blob)
    if probe.score is None and probe.dimension_scores is None and probe.probe_id == default_probe:
        return
    score = probe.score
    scored = ProbeScored(
        score_id=score_id_of(collector.run_id, attempt, REPORTED_SCORER_ID),
        probe_id=probe.probe_id,
        scorer_id=REPORTED_SCORER_ID,
        run_id=collector.run_id,
        attempt=attempt,
        model_name=result.model.model_name or None,
        output_digest=digest,
        counts=None if score is None else {name: int(count) for name, count in score.items() if name != TOTAL_KEY},
        total_score=None if score is None else score.get(TOTAL_KEY),
        dimension_scores=probe.dimension_scores,
    )
    collector.add(f"score:{attempt}", scored, f"{path}.timestamp", result.timestamp)


class _Collector:
    """Collects the events of one run."""

    def __init__(self, run_id: str, source: str | None) -> None:
        self.run_id = run_id
        self.drafts: list[RunDraft] = []
        self._source = source

    def add(self, position: str, data: Payload, field: str, time: str, blob: Blob | None = None) -> None:
        """Add the event at a position of the run. Errors: InvalidEvent, if it fits on no line."""
        size_bytes = len(_encode(data))
        if size_bytes > DATA_BYTES_MAX:
            part = field.rpartition(".")[0] or field
            raise InvalidEvent(
                f"{part}: {size_bytes:,} bytes of text; a line holds at most {DATA_BYTES_MAX:,}.",
                "Shorten them.",
                field=part,
            )
        draft = VOCABULARY.draft_of(
            data, id=f"run:{self.run_id}:{position}", source=self._source, time=parse_time(field, time)
        )
        self.drafts.append(RunDraft(draft, size_bytes + LINE_BYTES + (0 if blob is None else len(blob.data)), blob))


def _id_from_content(report: RunReport) -> str:
    """Make an id for a report without one, from its content: the same report gets the same id."""
    return sha256(_encode(report)).hexdigest()[:ID_CHARS]

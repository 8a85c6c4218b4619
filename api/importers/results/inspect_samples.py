"""What is kept of a sample of an Inspect log, and what is only counted."""

from collections.abc import Mapping
from typing import Any

import msgspec

from api.importers.results.imported_run import ERROR_CHARS_MAX, ImportedFile, ImportedScore, content_digest
from api.importers.results.inspect_log import LogSample, LogScore
from api.importers.results.lenient_json import number
from instruments.stored_text import text_of

ATTACHMENT = "attachment://"
"""The beginning of a text that is among the attachments of the sample."""


class SampleFacts(msgspec.Struct, frozen=True):
    """A sample: what all its scores have in `common`, its error, its target, and its scores by scorer."""

    common: ImportedScore
    error: str | None
    target: str | None
    scores: dict[str, LogScore]


def sample_facts(file: ImportedFile, sample: LogSample) -> SampleFacts:
    """Return what is kept of a sample; count the rest in `file`."""
    _count_parts(file, sample)
    usage = list(sample.model_usage.values())
    prompts = [
        count
        for each in usage
        for count in (each.input_tokens, each.input_tokens_cache_read, each.input_tokens_cache_write)
    ]
    costs = [cost for each in usage if (cost := number(each.total_cost)) is not None]
    common = ImportedScore(
        sample=str(sample.id),
        attempt=sample.epoch,
        state="skipped",
        answer=_answer(file, sample),
        reported_model=sample.output.model or None,
        input_tokens=file.tokens(*prompts),
        output_tokens=file.tokens(*(each.output_tokens for each in usage)),
        cost_usd=file.cost(sum(costs)) if costs else None,
        elapsed_ns=_elapsed_ns(file, sample),
        fixture_digest=content_digest(_resolve(sample.input, sample.attachments), sample.choices, sample.target),
        expectation_digest=None if sample.target is None else content_digest(sample.target),
        time=file.time(sample.completed_at, "times of samples"),
    )
    return SampleFacts(common, _error(file, sample), _target(file, sample.target), dict(sample.scores or {}))


def _count_parts(file: ImportedFile, sample: LogSample) -> None:
    parts = {
        "messages of conversations": len(sample.messages),
        "events of transcripts": len(sample.events),
        "attachments": len(sample.attachments),
        "inputs, of which the digest is kept": 1,
        "lists of choices, of which the digest is kept": bool(sample.choices),
        "metadata of samples": len(sample.metadata),
        "values of the samples' store": len(sample.store),
        "sandboxes": sample.sandbox is not None,
        "files of samples": len(sample.files or ()),
        "setup scripts of samples": bool(sample.setup),
        "token counts by role": len(sample.role_usage),
        "token counts by model, of which the sum is kept": len(sample.model_usage)
        if len(sample.model_usage) > 1
        else 0,
        "counts of reasoning tokens": sum(each.reasoning_tokens is not None for each in sample.model_usage.values()),
        "earlier tries of samples that were retried": len(sample.error_retries or ()),
        "answers of a model beside the first": max(0, len(sample.output.choices) - 1),
        "marks of samples as invalid": sample.invalidation is not None,
    }
    for what, count in parts.items():
        file.leave_out(what, int(count))
    if sample.limit is not None:
        file.leave_out(f"notes that a sample reached its {sample.limit.type} limit", 1, f"sample {sample.id}")
    for name, score in (sample.scores or {}).items():
        file.leave_out("answers as scorers extracted them; the whole answer is kept", score.answer is not None)
        file.leave_out("metadata of scores", len(score.metadata or ()))
        file.leave_out("earlier values of edited scores", len(score.history), name)


def _answer(file: ImportedFile, sample: LogSample) -> str | None:
    """Return the text of the first answer."""
    if not sample.output.choices:
        return None
    content = sample.output.choices[0].message.content
    if isinstance(content, str):
        return _resolved_text(content, sample.attachments)
    texts = [str(part.get("text", "")) for part in content if part.get("type") == "text"]
    others = [str(part.get("type")) for part in content if part.get("type") != "text"]
    file.leave_out("parts of answers that are not text", len(others), next(iter(others), None))
    return "\n".join(_resolved_text(text, sample.attachments) for text in texts)


def _resolved_text(text: str, attachments: Mapping[str, str]) -> str:
    return attachments.get(text.removeprefix(ATTACHMENT), text) if text.startswith(ATTACHMENT) else text


def _resolve(value: Any, attachments: Mapping[str, str]) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value with the texts of its attachments, and without the ids of messages, which each run draws."""
    if isinstance(value, str):
        return _resolved_text(value, attachments)
    if isinstance(value, list):
        return [_resolve(each, attachments) for each in value]
    if isinstance(value, dict):
        is_message = "role" in value
        return {key: _resolve(each, attachments) for key, each in value.items() if not (is_message and key == "id")}
    return value


def _error(file: ImportedFile, sample: LogSample) -> str | None:
    if sample.error is None:
        return None
    file.leave_out("tracebacks of errors", int(bool(sample.error.traceback)))
    text = sample.error.message.strip() or "the sample ended in an error"
    return file.shorten(text, "errors", ERROR_CHARS_MAX)


def _target(file: ImportedFile, target: Any) -> str | None:  # noqa: ANN401 - a text or a list of them
    if isinstance(target, list) and len(target) == 1:
        (target,) = target
    return file.shorten(text_of(target or None), "targets") or None


def _elapsed_ns(file: ImportedFile, sample: LogSample) -> int | None:
    """Return the time in which the sample worked; the whole time, with waiting, where that is not stated."""
    if sample.working_time is None:
        return file.elapsed_ns(sample.total_time, "total times of samples")
    working_ns = file.elapsed_ns(sample.working_time, "working times of samples")
    if working_ns is not None and number(sample.total_time) is not None:
        file.leave_out("total times of samples, with waiting; the working time is kept")
    return working_ns

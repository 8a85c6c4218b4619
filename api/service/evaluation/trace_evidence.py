"""The trace of an attempt in the ledger: its facts in the score, and its bytes as evidence."""

from msgspec import structs

from api.service.evaluation.run_operations import GradedAttempt
from api.service.evidence import Blob, digest_of
from events.evaluation import EvalScored
from instruments.evals.trace.steps import RecordedTrace
from instruments.evals.usage import Usage

NOTE = "trace"


def with_trace_facts(score: EvalScored, trace: RecordedTrace | None) -> EvalScored:
    """Return a score with what its trace says; as it is without a trace that can be read."""
    if trace is None or trace.problem is not None:
        return score
    return structs.replace(
        score,
        steps=len(trace.steps),
        tool_calls=len(trace.tool_calls),
        trace_digest=digest_of(trace.data),
        trace_id=trace.trace_id,
        span_id=trace.span_id,
    )


def with_trace_tokens(usage: Usage, trace: RecordedTrace | None) -> Usage:
    """Return the usage of an answer; where it states no tokens, with the sums over the steps of its trace."""
    if trace is None or trace.problem is not None:
        return usage
    return structs.replace(
        usage,
        input_tokens=trace.tokens("input_tokens") if usage.input_tokens is None else usage.input_tokens,
        output_tokens=trace.tokens("output_tokens") if usage.output_tokens is None else usage.output_tokens,
    )


def with_trace_bytes(graded: GradedAttempt, trace: RecordedTrace | None) -> GradedAttempt:
    """Return a graded attempt with the bytes of its trace, if it names any."""
    if trace is None or graded.score.trace_digest is None:
        return graded
    return structs.replace(graded, blobs=(*graded.blobs, Blob(trace.data, trace.media_type, NOTE)))

"""Build the events of one discovery attempt from the router's answer and its analysis."""

from events import DiscoveryAttempted, ModelIdentity, ProbeScored
from events.discovery import AttemptOutcome
from events.limits import LABEL_CHARS_MAX
from events.payload import COUNT_MAX
from events.probe import score_id_of
from instruments.answer import RouterAnswer
from instruments.discovery.answer_analysis import ResponseAnalysis
from instruments.probes import Probe, ProbeScore
from instruments.stored_text import sha256_hex, storable_text

DETAIL_CHARS_MAX = 1_000
"""Characters of a failure's description that are kept: a whole web page would exceed the size of an event's line."""


def attempt_event(
    answer: RouterAnswer,
    analysis: ResponseAnalysis | None,
    *,
    run_id: str,
    attempt: int,
    outcome: AttemptOutcome,
    iteration: int | None,
    exclusion: str,
) -> DiscoveryAttempted:
    """Build the event of an attempt. `analysis` is None if the router gave no answer."""
    response = storable_text(answer.text or "") or None
    output = None if analysis is None else analysis.code
    if analysis is None:
        detail = answer.detail
    elif outcome in {"accepted", "repeat"}:
        detail = None
    else:
        detail = analysis.reason
    return DiscoveryAttempted(
        run_id=run_id,
        attempt=attempt,
        outcome=outcome,
        iteration=iteration,
        claimed=None if analysis is None else analysis.identity,
        reported_model=storable_text(answer.reported_model or "")[:LABEL_CHARS_MAX] or None,
        exclusion_prompt=exclusion,
        response=response,
        response_digest=None if response is None else sha256_hex(response),
        output=None if output == response else output,
        output_digest=None if output is None else sha256_hex(output),
        elapsed_ns=_storable_count(answer.elapsed_ns),
        tokens_used=_storable_count(answer.tokens_used),
        detail=storable_text(detail or "")[:DETAIL_CHARS_MAX] or None,
    )


def score_event(attempt: DiscoveryAttempted, claimed: ModelIdentity, score: ProbeScore, probe: Probe) -> ProbeScored:
    """Build the event of the score that the probe's own scorer gave to an attempt."""
    scorer = probe.scorer
    return ProbeScored(
        score_id=score_id_of(attempt.run_id, attempt.attempt, scorer.id, scorer.version),
        probe_id=probe.id,
        probe_version=probe.version,
        scorer_id=scorer.id,
        scorer_version=scorer.version,
        run_id=attempt.run_id,
        attempt=attempt.attempt,
        model_name=claimed.model_name or None,
        output_digest=attempt.output_digest,
        valid=score.valid,
        counts=score.counts,
        total_score=score.total,
        dimension_scores=score.dimensions,
        apart=score.apart,
        reported_model=attempt.reported_model,
    )


def _storable_count(value: int | None) -> int | None:
    """Return a count; None if it is outside the range of counts in events."""
    return value if value is not None and 0 <= value <= COUNT_MAX else None

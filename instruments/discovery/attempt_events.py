"""Build the events of one discovery attempt from the router's answer and its analysis."""

from msgspec import UNSET

from events.discovery import AttemptOutcome, DiscoveryAttempted
from events.limits import LABEL_CHARS_MAX
from events.model import ModelIdentity
from events.model_names import is_unresolved
from events.probe import ProbeScored, score_id_of
from instruments.answer import RouterAnswer
from instruments.discovery.answer_analysis import ResponseAnalysis
from instruments.discovery.battery import probes_of
from instruments.probes import Probe, ProbeScore
from instruments.stored_text import count_of, sha256_hex, storable_text

CUT_OFF = "cut off at the endpoint's limit of tokens"

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
        detail = _describe_unscored(analysis)
    else:
        detail = analysis.reason
    if answer.cut_off:
        detail = f"{CUT_OFF}; {detail}" if detail else CUT_OFF
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
        elapsed_ns=count_of(answer.elapsed_ns),
        tokens_used=count_of(answer.tokens_used),
        detail=storable_text(detail or "")[:DETAIL_CHARS_MAX] or None,
    )


def score_events(
    attempt: DiscoveryAttempted, claimed: ModelIdentity, analysis: ResponseAnalysis, probe: Probe
) -> list[ProbeScored]:
    """Build the events of the scores of an attempt: one, or one for each probe of a battery.

    An answer that names its model and gives nothing to score is an invalid answer of that model to each probe. An
    output that could not be scored has no event.
    """
    if _declines(analysis):
        return [_score_event(attempt, claimed, ProbeScore(valid=False), one, None) for one in probes_of(probe)]
    if analysis.parts is UNSET:
        score, digest = analysis.score, attempt.output_digest
        return [] if score is None else [_score_event(attempt, claimed, score, probe, digest)]
    return [
        _score_event(attempt, claimed, part.score, one, None if part.code is None else sha256_hex(part.code))
        for part, one in zip(analysis.parts, probes_of(probe), strict=True)
        if part.score is not None
    ]


def _declines(analysis: ResponseAnalysis) -> bool:
    """Whether an answer names its model and gives nothing to score."""
    named = analysis.identity is not None and not is_unresolved(analysis.identity.model_name)
    return named and analysis.verdict == "unparsable" and analysis.code is None


def _describe_unscored(analysis: ResponseAnalysis) -> str | None:
    """Return why the output, or parts of it, were not scored; None if all were."""
    if analysis.parts is UNSET:
        return None if analysis.unscored is UNSET else f"not scored: {analysis.unscored}"
    reasons = [f"{part.probe_id} not scored: {part.unscored}" for part in analysis.parts if part.unscored is not UNSET]
    return "; ".join(reasons) or None


def _score_event(
    attempt: DiscoveryAttempted, claimed: ModelIdentity, score: ProbeScore, probe: Probe, output_digest: str | None
) -> ProbeScored:
    """Build the event of the score that the probe's own scorer gave to an output."""
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
        output_digest=output_digest,
        valid=score.valid,
        counts=score.counts,
        total_score=score.total,
        dimension_scores=score.dimensions,
        apart=score.apart,
        reported_model=attempt.reported_model,
    )

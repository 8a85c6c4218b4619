"""The events of one attempt: what came back as the vocabulary says it, whatever came back."""

from hashlib import sha256

from events import DiscoveryAttempted, ModelIdentity, ProbeScored
from events.discovery import AttemptOutcome
from events.limits import LABEL_CHARS_MAX
from events.payload import COUNT_MAX
from events.probe import score_id_of
from instruments.answer import RouterAnswer
from instruments.discovery.analyze import ResponseAnalysis
from instruments.probes import Probe, ProbeScore

DETAIL_CHARS_MAX = 1_000
"""Characters of what a router says of its failure; a whole page would leave no room on the line."""


def digest_of(text: str) -> str:
    """SHA-256 of a text as UTF-8, 64 lower-case hex digits."""
    return sha256(text.encode()).hexdigest()


def noted(text: str | None) -> str | None:
    """A text that can be stored: what is no character (half a surrogate pair) is a question mark."""
    return None if text is None else text.encode(errors="replace").decode()


def attempted(
    answer: RouterAnswer,
    analysis: ResponseAnalysis | None,
    *,
    run_id: str,
    attempt: int,
    outcome: AttemptOutcome,
    iteration: int | None,
    exclusion: str,
) -> DiscoveryAttempted:
    """The event of an attempt. `analysis` is None where there was no answer to read."""
    response = noted(answer.text) or None
    output = None if analysis is None else analysis.code
    said = answer.detail if analysis is None else None if outcome in {"accepted", "repeat"} else analysis.reason
    return DiscoveryAttempted(
        run_id=run_id,
        attempt=attempt,
        outcome=outcome,
        iteration=iteration,
        claimed=None if analysis is None else analysis.identity,
        reported_model=(noted(answer.reported_model) or "")[:LABEL_CHARS_MAX] or None,
        exclusion_prompt=exclusion,
        response=response,
        response_digest=None if response is None else digest_of(response),
        output=None if output == response else output,
        output_digest=None if output is None else digest_of(output),
        elapsed_ns=_count(answer.elapsed_ns),
        tokens_used=_count(answer.tokens_used),
        detail=(noted(said) or "")[:DETAIL_CHARS_MAX] or None,
    )


def scored(attempt: DiscoveryAttempted, claimed: ModelIdentity, score: ProbeScore, probe: Probe) -> ProbeScored:
    """The event of an attempt's score by the probe's own scorer."""
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
    )


def _count(value: int | None) -> int | None:
    """A count as it can be stored; one that is none at all is not known."""
    return value if value is not None and 0 <= value <= COUNT_MAX else None

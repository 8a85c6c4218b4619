"""Progress lines of a discovery run: one line per attempt, and a summary at the end."""

from collections.abc import Iterable

from events.discovery import DiscoveryAttempted, DiscoveryFinished, DiscoverySignalled
from events.payload import Payload
from events.probe import ProbeScored
from instruments.discovery.identity_parser import one_line

_NS_PER_MS = 1_000_000


def render_events(payloads: Iterable[Payload]) -> list[str]:
    """Render the events of one attempt, as `Session.decide` returned them, as lines of text."""
    events = list(payloads)
    scores = [payload for payload in events if isinstance(payload, ProbeScored)]
    if len(scores) > 1:
        text = ", ".join(f"{score.probe_id}={format_score(score.total_score)}" for score in scores)
    else:
        total = scores[0].total_score if scores else None
        text = "" if total is None else f"score={format_score(total)}"
    return [line for payload in events for line in _lines(payload, text)]


def render_summary(models: int, iterations: int, elapsed_ns: int) -> str:
    """Render the last line of a run: the number of models and iterations, and the elapsed time."""
    return f"discovery complete: {models} unique models in {iterations} iterations [{format_ms(elapsed_ns)}]"


def format_ms(elapsed_ns: int | None) -> str:
    """Format a time in whole milliseconds; a dash if it was not measured."""
    return "-" if elapsed_ns is None else f"{round(elapsed_ns / _NS_PER_MS)}ms"


def format_score(score: float | None) -> str:
    """Format a score with two decimals, or say that there is none: the attempt's `detail` says why, if not invalid."""
    return "no score" if score is None else f"{score:.2f}"


def _lines(payload: Payload, score: str) -> Iterable[str]:
    if isinstance(payload, DiscoveryAttempted):
        yield _attempt_line(payload, score)
    elif isinstance(payload, DiscoverySignalled):
        meta = payload.meta or {}
        length = f": {meta['length']} characters" if "length" in meta else ": no answer" if "outcome" in meta else ""
        yield f"{payload.event}{length}" + (f", beginning {meta['first']!r}" if length and "first" in meta else "")
    elif isinstance(payload, DiscoveryFinished):
        yield f"ended: {one_line(payload.reason)}"


def _attempt_line(attempt: DiscoveryAttempted, score: str) -> str:
    elapsed = f"[{format_ms(attempt.elapsed_ns)}]"
    name = "-" if attempt.claimed is None else one_line(attempt.claimed.model_name)
    why = one_line(attempt.detail or "")
    score = "; ".join(filter(None, (score, why))) or "invalid"
    if attempt.outcome == "accepted":
        return f"iteration {attempt.iteration}: {name} ({score}) {elapsed}"
    if attempt.outcome == "repeat":
        return f"attempt {attempt.attempt}: {name} again ({score}) {elapsed}"
    return f"attempt {attempt.attempt}: {attempt.outcome}{f': {why}' if why else ''} {elapsed}"

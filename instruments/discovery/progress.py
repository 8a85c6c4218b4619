"""What a person sees of a run: a line an attempt, and a line at its end."""

from collections.abc import Iterable

from events import DiscoveryAttempted, DiscoveryFinished, DiscoverySignalled, Payload, ProbeScored
from instruments.discovery.identity_parser import one_line

_NS_PER_MS = 1_000_000


def told(payloads: Iterable[Payload]) -> list[str]:
    """The lines of what one answer brought: the events that `Session.decide` gave."""
    made = list(payloads)
    score = next((payload.total_score for payload in made if isinstance(payload, ProbeScored)), None)
    return [line for payload in made for line in _lines(payload, score)]


def complete(models: int, iterations: int, elapsed_ns: int) -> str:
    """The line at the end: how many different models, in how many iterations, in what time."""
    return f"discovery complete: {models} unique models in {iterations} iterations [{in_ms(elapsed_ns)}]"


def in_ms(elapsed_ns: int | None) -> str:
    """A time in whole milliseconds; a dash where it was not measured."""
    return "-" if elapsed_ns is None else f"{round(elapsed_ns / _NS_PER_MS)}ms"


def in_hundredths(score: float | None) -> str:
    """A score with two decimals; a dash where there is none."""
    return "-" if score is None else f"{score:.2f}"


def _lines(payload: Payload, score: float | None) -> Iterable[str]:
    if isinstance(payload, DiscoveryAttempted):
        yield _of_attempt(payload, score)
    elif isinstance(payload, DiscoverySignalled):
        meta = payload.meta or {}
        length = f": {meta['length']} characters" if "length" in meta else ""
        yield f"{payload.event}{length}" + (f", beginning {meta['first']!r}" if length and "first" in meta else "")
    elif isinstance(payload, DiscoveryFinished):
        yield f"ended: {one_line(payload.reason)}"


def _of_attempt(attempt: DiscoveryAttempted, score: float | None) -> str:
    elapsed = f"[{in_ms(attempt.elapsed_ns)}]"
    name = "-" if attempt.claimed is None else one_line(attempt.claimed.model_name)
    if attempt.outcome == "accepted":
        return f"iteration {attempt.iteration}: {name} (score={in_hundredths(score)}) {elapsed}"
    if attempt.outcome == "repeat":
        return f"attempt {attempt.attempt}: {name} again (score={in_hundredths(score)}) {elapsed}"
    why = f": {one_line(attempt.detail)}" if attempt.detail else ""
    return f"attempt {attempt.attempt}: {attempt.outcome}{why} {elapsed}"

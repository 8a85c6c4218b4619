"""The kinds of events that a webhook can get, and the event types of each."""

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

Kind = Literal["drift", "gate", "overdue-review", "guardrail", "unsigned-checkpoint", "resolved"]
KINDS: tuple[Kind, ...] = get_args(Kind)

TYPES: Mapping[Kind, tuple[str, ...]] = {
    "drift": ("alert.drift_detected.v1",),
    "gate": ("alert.gate_judged.v1",),
    "overdue-review": ("alert.review_overdue.v1",),
    "guardrail": ("guardrail.evaluated.v1",),
    "unsigned-checkpoint": ("alert.checkpoint_unsigned.v1",),
    "resolved": ("decision.reviewed.v2",),
}
"""The event types of each kind. Of evaluations of guardrails, only those are sent in which a rule fired."""


def types_of(kinds: Iterable[Kind]) -> tuple[str, ...]:
    """Return the event types of some kinds."""
    return tuple(name for kind in kinds for name in TYPES[kind])

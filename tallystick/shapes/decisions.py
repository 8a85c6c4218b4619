"""Answers about decisions: their reviews, retractions and links."""

from datetime import datetime
from typing import Literal

import msgspec

Outcome = Literal["success", "partial", "failure", "abandoned"]


class Review(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a decision turned out, by its latest review. Fields that it does not state are missing."""

    outcome: Outcome
    """success, partial, failure or abandoned."""
    reviewed_at: datetime
    """When it was reviewed, UTC."""
    reviewed_by: str
    """The agent that reviewed it."""
    actual_result: str | None = None
    """What happened, in words."""
    lessons: str | None = None
    """What was learned."""
    notes: str | None = None
    """Anything else."""
    affected_kpis: dict[str, float] | None = None
    """The measured change of each indicator."""
    rule: str | None = None
    """The rule that found it, in a review by the decision's test."""
    rule_version: int | None = None
    """The version of the rule."""
    basis: Literal["event", "deadline"] | None = None
    """Whether something happened that decides it, or did not until the end."""
    due: str | None = None
    """When the window of the test ended, UTC."""
    evidence: tuple[str, ...] | None = None
    """Ids of the observations that decide it."""


class Retraction(msgspec.Struct, frozen=True, kw_only=True):
    """The withdrawal of a decision, which counts in no figure from then on."""

    at: datetime
    """When it was retracted, UTC."""
    by: str
    """The agent that retracted it."""
    reason: str
    """Why, in words."""


class RecordedLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link between two decisions in the log."""

    link_id: str
    """The id of the link."""
    source_id: str
    """The decision that relates, supersedes or depends."""
    target_id: str
    """The decision that it is linked to."""
    position: int
    """1-based place in the log."""
    event_id: str
    """The event's id, unique within its source."""
    time: datetime
    """When the decisions were linked, UTC; for a retry, the time of the first post."""
    duplicate: bool
    """Whether the log contained the link already, as after a retry."""
    unknown: tuple[str, ...]
    """Those of the two decisions that are not in the ledger."""

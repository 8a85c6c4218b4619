"""What the log says about the tries of each attempt: the last one, its failure, and the cost of all of them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Self

import msgspec

from events.envelope import Event
from events.evaluation import EvalReopened, EvalScored, Failure
from instruments.evals.agent_error import parse_pause

AttemptKey = tuple[str, int]
"""A scenario's id, and the number of an attempt at it, from 1."""

ANSWERED = ("pattern", "embeddings", "judge", "component")
"""Failures of a scorer: the agent has answered."""


class LastTry(msgspec.Struct, frozen=True, kw_only=True):
    """The last recorded try of one attempt. `error` is its score if it ended in an error."""

    retry: int
    """0 for the first try, then 1, 2 ..."""
    fixture_digest: str | None
    elapsed_ns: int | None = None
    error: EvalScored | None = None
    recorded_at: datetime | None = None
    """None for a score that this process has added."""

    @property
    def failure(self) -> Failure | None:
        """The kind of error; None if it did not end in one."""
        return None if self.error is None else self.error.failure

    @property
    def answered(self) -> bool:
        """Whether the agent has answered, and only the score is missing: the answer is scored again."""
        return self.failure in ANSWERED

    def is_of_answer(self, digest: str | None) -> bool:
        """Tell whether the try only lacks a score for the answer with this digest."""
        return self.error is not None and self.answered and self.error.analysis_digest == digest

    @classmethod
    def of(cls, score: EvalScored, recorded_at: datetime | None = None) -> Self:
        """Return the try of a score."""
        return cls(
            retry=score.retry or 0,
            fixture_digest=score.fixture_digest,
            elapsed_ns=score.elapsed_ns,
            error=score if score.state == "error" else None,
            recorded_at=recorded_at,
        )

    def pause(self) -> tuple[str | None, datetime] | None:
        """Return the endpoint that asked to wait, and until when; None if it asked for nothing."""
        stated = parse_pause(None if self.error is None else self.error.detail)
        if stated is None or self.recorded_at is None or self.failure not in ("rate_limit", "unavailable"):
            return None
        try:
            return stated.endpoint, self.recorded_at + timedelta(seconds=stated.seconds)
        except OverflowError:
            return None


class RunCost(msgspec.Struct, kw_only=True):
    """What the tries of a run have cost. A try that scores a recorded answer again asks nobody, and costs nothing."""

    spent_usd: float = 0.0
    without_cost: int = 0
    """Answers that state no cost."""
    errors_without_cost: int = 0
    """Errors of the agent that state no cost: nobody knows whether there was one."""

    def add(self, score: EvalScored, before: LastTry | None) -> None:
        """Add a try; `before` is the one before it of the same attempt."""
        if score.state == "skipped":
            return
        if before is not None and before.is_of_answer(score.analysis_digest):
            return
        if score.cost_usd is not None:
            self.spent_usd += score.cost_usd
        elif score.state == "scored" or score.failure in ANSWERED:
            self.without_cost += 1
        else:
            self.errors_without_cost += 1


class RecordedTries(msgspec.Struct, kw_only=True):
    """The last try of each attempt in a stream, and the cost of all. `before` has them as the run was last reopened."""

    last: dict[AttemptKey, LastTry] = msgspec.field(default_factory=dict)
    before: dict[AttemptKey, LastTry] | None = None
    reason: str | None = None
    """Why the run was last reopened."""
    cost: RunCost = msgspec.field(default_factory=RunCost)

    def add(self, scores: Iterable[EvalScored]) -> None:
        """Add scores that this process has appended."""
        for score in scores:
            self._add(score, None)

    def fold(self, events: Iterable[Event]) -> None:
        """Add the events of a stream."""
        for event in events:
            if isinstance(event.data, EvalScored):
                self._add(event.data, datetime.fromisoformat(event.recordedtime))
            elif isinstance(event.data, EvalReopened):
                self.before, self.reason = dict(self.last), event.data.reason

    def _add(self, score: EvalScored, recorded_at: datetime | None) -> None:
        key = score.scenario_id, score.attempt
        self.cost.add(score, self.last.get(key))
        self.last[key] = LastTry.of(score, recorded_at)

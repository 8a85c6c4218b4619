"""Which attempts of a run are tried next, how often, and after which wait.

An attempt without a score is tried. One that ended in a transient error is tried again, up to `retries` times, after an
exponential back-off with jitter. An attempt that `--retry-errors` selects is tried at least once more, from then on as
any other. Everything follows from the log, so that a run that was killed continues with the retries that are left.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from api.service.evaluation.recorded_tries import AttemptKey, LastTry, RecordedTries
from api.service.evaluation.run_operations import EvalRun
from events.evaluation import EvalStarted, Failure
from ledger.errors import InvalidQuery

RETRIES = "retries"
"""The key in the `meta` of a run that records how often a transient error is retried."""

RETRIES_MAX = 100

TRANSIENT: frozenset[str] = frozenset({"rate_limit", "unavailable", "timeout", "judge", "embeddings"})
"""Failures that may be gone later. Those of the judge and the embeddings score the same answer again."""

BACKOFF_S = 1.0
"""The longest wait before the first retry; it doubles with each retry, and half of it is random."""

BACKOFF_S_MAX = 60.0

FAILURES: tuple[str, ...] = get_args(Failure)

_REASON = "retry of errors"


class RetryPlan:
    """The tries of the attempts of one run, whose state changes as scores are added."""

    def __init__(
        self,
        run: EvalRun,
        retries: int = 0,
        retried: Mapping[AttemptKey, int] | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """`retried` has the attempts whose errors are retried, each with its last try; None if none are selected."""
        self._run = run
        self._retries = retries
        self._retried = retried
        self._chance = chance or random.Random()
        self._lasting: set[AttemptKey] = set()
        self._kept: set[AttemptKey] = set()
        if retried is not None:
            self._kept = {key for key in run.scored if key not in retried and not self._is_new(key)}

    def _is_new(self, key: AttemptKey) -> bool:
        """Tell whether an attempt was first tried after the run was reopened."""
        before = self._run.tries.before
        return before is not None and key not in before

    def due(self, keys: Iterable[AttemptKey]) -> list[AttemptKey]:
        """Return the attempts that are to be tried, in their order."""
        return [key for key in keys if self.is_due(key)]

    def is_due(self, key: AttemptKey) -> bool:
        """Tell whether an attempt is to be tried, for the first time or again."""
        last = self._run.scored.get(key)
        if last is None:
            return True
        if key in self._kept:
            return False
        first = self._first_try(key)
        if last.retry < first:
            return True
        return last.failure in TRANSIENT and key not in self._lasting and last.retry - first < self._retries

    def set_lasting(self, key: AttemptKey) -> None:
        """Note that a retry of an attempt would end in the same error."""
        self._lasting.add(key)

    def next_retry(self, key: AttemptKey) -> int:
        """Return the number of the next try of an attempt: 0 for the first."""
        last = self._run.scored.get(key)
        return 0 if last is None else last.retry + 1

    def wait_s(self, key: AttemptKey) -> float:
        """Return the seconds to wait before the next try of an attempt: 0 for one that is not an automatic retry."""
        last, first = self._run.scored.get(key), self._first_try(key)
        if last is None or last.retry < first:
            return 0.0
        longest_s = min(BACKOFF_S_MAX, BACKOFF_S * 2.0 ** (last.retry - first))
        return longest_s * (0.5 + self._chance.random() / 2)

    def _first_try(self, key: AttemptKey) -> int:
        """Return the number of the try from which automatic retries are counted."""
        last = None if self._retried is None else self._retried.get(key)
        return 0 if last is None else last + 1


def errors_to_retry(last: Mapping[AttemptKey, LastTry], only: Sequence[str]) -> dict[AttemptKey, int]:
    """Return the attempts whose last try is an error of a selected kind (none: any), each with its number."""
    return {
        key: one.retry
        for key, one in last.items()
        if one.error is not None and (not only or (one.failure or "") in only)
    }


def errors_of_reopening(tries: RecordedTries) -> dict[AttemptKey, int] | None:
    """Return the attempts for which a run was reopened, as `errors_to_retry` does; None if it was not."""
    if tries.before is None:
        return None
    return errors_to_retry(tries.before, parse_reason(tries.reason))


def reopening_reason(only: Sequence[str]) -> str:
    """Return why a run is reopened; `parse_reason` reads the kinds of errors again."""
    return f"{_REASON}: {', '.join(only)}" if only else _REASON


def parse_reason(reason: str | None) -> tuple[str, ...]:
    """Return the kinds of errors for which a run was reopened; none for all of them."""
    head, _, kinds = (reason or "").partition(": ")
    named = tuple(kinds.split(", ")) if head == _REASON and kinds else ()
    return named if set(named) <= set(FAILURES) else ()


def parse_only(text: str | None) -> tuple[str, ...]:
    """Read kinds of errors, separated by commas; none for None. Errors: InvalidQuery."""
    if text is None:
        return ()
    kinds = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    unknown = [kind for kind in kinds if kind not in FAILURES]
    if unknown:
        detail = f"{unknown[0]!r} is not a kind of error."
        raise InvalidQuery("only", detail, f"Give some of these, separated by commas: {', '.join(FAILURES)}.")
    return kinds


def retries_of(given: int | None, started: EvalStarted) -> int:
    """Return how often a transient error is retried: as given, or as the run began."""
    if given is not None:
        return given
    text = (started.meta or {}).get(RETRIES, "0")
    valid = text.isascii() and text.isdigit() and int(text[:9]) <= RETRIES_MAX
    return int(text) if valid else 0

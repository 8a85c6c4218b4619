"""A discovery run as a pure decider: given the events of its stream and an answer, return the events that follow.

The driver of a run (the command line, or an agent over HTTP) takes the next prompt from here, passes the answer to
`decide`, appends the resulting events as one batch, and continues with the session that `then` returns. A session
depends on its events only, so that a run can be resumed from the log at any point.

Every run ends, because each answer is an attempt and attempts are limited.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from events.discovery import (
    AttemptOutcome,
    DiscoveryAttempted,
    DiscoveryFinished,
    DiscoverySignalled,
    DiscoveryStarted,
    Ending,
)
from events.envelope import EventFacts
from events.model import ModelIdentity
from events.model_names import canonical_name, claim_key
from events.payload import Payload
from instruments.answer import RouterAnswer
from instruments.discovery.answer_analysis import DEFAULT_NAMES, NameRules, ResponseAnalysis, analyze
from instruments.discovery.attempt_events import attempt_event, score_events
from instruments.discovery.prompts import build_exclusion, build_prompt
from instruments.probes import Probe
from instruments.stored_text import storable_text

MAX_ITERATIONS = 15
"""Default limit of different models in a run. Source: the reference implementation."""

MAX_ATTEMPTS = 40
"""Default limit of attempts in a run."""

SIGNALLED: frozenset[AttemptOutcome] = frozenset({"wrapper", "refused", "unparsable", "empty", "timeout", "failed"})
"""Outcomes that a person should look at: an ORANGE signal follows. A repeat is part of every run."""

EXCLUSION_BYTES_MAX = 32_768
"""Bytes of an exclusion prompt as JSON: the event of each attempt contains it, and must fit on a line of the log."""

FIRST_CHARS = 200
"""Characters of the answer's beginning in an ORANGE signal. Where there is no answer, the signal has no length."""


class Prompt(NamedTuple):
    """The prompt of the next attempt."""

    text: str
    """The whole prompt."""
    exclusion: str
    """The part that lists the excluded models; empty if there are none."""
    attempt: int
    """The number of the attempt, 1-based."""


class Sighting(NamedTuple):
    """The first appearance of a model in a run."""

    iteration: int
    """The iteration that accepted it, 0-based."""
    key: str
    """The key of the name that it claimed."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a run after its events so far."""

    started: DiscoveryStarted
    """The event that started it: the probe and the limits."""
    attempts: int = 0
    """The number of attempts so far."""
    iterations: int = 0
    """The number of models accepted so far, which is the index of the next iteration."""
    seen: dict[str, Sighting] = {}
    """First appearance by canonical name; dated and undated names of a model have one canonical name."""
    excluded: tuple[ModelIdentity, ...] = ()
    """The models that must not answer again, in each claimed spelling, so that a model recognizes its own name."""
    timed_out: bool = False
    """Whether the last attempt was a timeout."""
    finished: DiscoveryFinished | None = None
    """The event that ended the run; None while it goes on."""

    @classmethod
    def of(cls, history: Iterable[EventFacts]) -> "Session":
        """Fold the events of a stream `discovery/RUN`, in order from the first."""
        payloads = [fact.data for fact in history]
        assert payloads
        assert isinstance(payloads[0], DiscoveryStarted), "a run's stream opens with discovery.started"
        return cls(started=payloads[0]).then(payloads[1:])

    def then(self, payloads: Iterable[Payload]) -> "Session":
        """Return the session after more of its events, either stored or just decided."""
        session = self
        for payload in payloads:
            session = session._apply(payload)
        return session

    @property
    def run_id(self) -> str:
        """The run's id, which names its stream."""
        return self.started.run_id or ""

    @property
    def ending(self) -> Ending | None:
        """Why the run ended, in one word; None while it goes on. Events without that word mean `requested`."""
        return None if self.finished is None else self.finished.ending or "requested"

    def prompt(self, probe: Probe) -> Prompt:
        """Build the next prompt. It stays the same until an answer is accepted."""
        return Prompt(build_prompt(probe.prompt, self.excluded), build_exclusion(self.excluded), self.attempts + 1)

    def finish(self, ending: Ending, reason: str) -> DiscoveryFinished:
        """Build the event that ends the run for a reason outside the answers: a request, or the end of its time."""
        return DiscoveryFinished(run_id=self.run_id, ending=ending, reason=reason)

    def decide(self, answer: RouterAnswer, probe: Probe, names: NameRules = DEFAULT_NAMES) -> list[Payload]:
        """Return the events that follow from an answer, to be appended as one batch; never raise.

        They are: the attempt; its scores, if a model claims an output or declines to give one; an ORANGE signal, if a
        person should look at it; and the end, if this attempt ends the run. A finished run gives none. `names` says
        what claimed names mean.
        """
        if self.finished is not None:
            return []
        analysis = None if answer.failure is not None else analyze(answer.text, probe, names)
        outcome = self._outcome(answer, analysis)
        attempt = attempt_event(
            answer,
            analysis,
            run_id=self.run_id,
            attempt=self.attempts + 1,
            outcome=outcome,
            iteration=self.iterations if outcome == "accepted" else None,
            exclusion=build_exclusion(self.excluded),
        )
        events: list[Payload] = [attempt]
        if analysis is not None and analysis.identity is not None:
            events += score_events(attempt, analysis.identity, analysis, probe)
        return self._with_ending(self._with_signal(events, None if analysis is None else answer.text or ""))

    def _outcome(self, answer: RouterAnswer, analysis: ResponseAnalysis | None) -> AttemptOutcome:
        if analysis is None:
            assert answer.failure is not None
            return answer.failure
        if analysis.verdict != "identified":
            return analysis.verdict
        assert analysis.identity is not None
        return "repeat" if canonical_name(analysis.identity.model_name) in self.seen else "accepted"

    def _with_signal(self, events: list[Payload], text: str | None) -> list[Payload]:
        """Return the events of an attempt, with an ORANGE signal if a person should look at it.

        The signal has the length of the answer, and its beginning if it is not sensitive; neither without an answer.
        """
        attempt = events[0]
        assert isinstance(attempt, DiscoveryAttempted)
        if attempt.outcome not in SIGNALLED:
            return events
        meta = {"attempt": str(attempt.attempt), "outcome": attempt.outcome, "reason": attempt.detail or ""}
        if text is not None:
            meta["length"] = str(len(text))
        if text is not None and not self.started.sensitive:
            meta["first"] = storable_text(text[:FIRST_CHARS])
        return [*events, DiscoverySignalled(run_id=self.run_id, event="ORANGE", meta=meta)]

    def _with_ending(self, events: list[Payload]) -> list[Payload]:
        """Return the events of an attempt, followed by the run's end if they end it."""
        attempt = events[0]
        assert isinstance(attempt, DiscoveryAttempted)
        ending = self._ending_by_outcome(attempt) or self.then(events)._ending_by_limit()
        return events if ending is None else [*events, self.finish(*ending)]

    def _ending_by_outcome(self, attempt: DiscoveryAttempted) -> tuple[Ending, str] | None:
        """Return the ending that an attempt's own outcome causes, and its reason; None if the run goes on."""
        if self.started.keep_going or attempt.outcome == "accepted":
            return None
        where, detail = f"at iteration {self.iterations}", attempt.detail or ""
        match attempt.outcome:
            case "repeat":
                goes_on = self.started.terminate_on_repeat is False
                return None if goes_on else ("repeat", self._describe_repeat(attempt.claimed))
            case "timeout":
                return ("timeout", f"timeout {where}: no answer, twice, to the same prompt") if self.timed_out else None
            case "wrapper":
                return "wrapper", f"wrapper {where}: {detail}"
            case "refused":
                return "refused", f"refused {where}: {detail}"
            case "empty":
                return "empty", f"empty answer {where}"
            case "unparsable":
                return "unparsable", f"unparsable answer {where}: {detail}"
            case "failed":
                return "failed", f"router failed {where}: {detail or 'it does not say why'}"

    def _describe_repeat(self, claimed: ModelIdentity | None) -> str:
        """Describe a repeat; name the model's earlier name if it was different."""
        assert claimed is not None
        key = claim_key(claimed.model_name)
        first = self.seen[canonical_name(key)]
        reason = f"repeat at iteration {self.iterations}: model {key} seen at iteration {first.iteration}"
        return reason if first.key == key else f"{reason} as {first.key}"

    def _ending_by_limit(self) -> tuple[Ending, str] | None:
        """Return the ending that a limit causes, and its reason. A limit of 0 acts as 1."""
        limits = self.started
        if self.iterations >= (MAX_ITERATIONS if limits.max_iterations is None else max(1, limits.max_iterations)):
            return "max_iterations", "max iterations reached"
        if self.attempts >= (MAX_ATTEMPTS if limits.max_attempts is None else max(1, limits.max_attempts)):
            return "max_attempts", "max attempts reached"
        if len(msgspec.json.encode(build_exclusion(self.excluded))) > EXCLUSION_BYTES_MAX:
            return "failed", f"the names to exclude take more than {EXCLUSION_BYTES_MAX:,} bytes"
        return None

    def _apply(self, payload: Payload) -> "Session":
        """Return the session after one more event; events of other types change nothing."""
        if isinstance(payload, DiscoveryFinished):
            return msgspec.structs.replace(self, finished=payload)
        if not isinstance(payload, DiscoveryAttempted):
            return self
        session = msgspec.structs.replace(
            self, attempts=max(self.attempts + 1, payload.attempt), timed_out=payload.outcome == "timeout"
        )
        return session._with_model(payload) if payload.outcome in {"accepted", "repeat"} else session

    def _with_model(self, attempt: DiscoveryAttempted) -> "Session":
        """Return the session with the model of an accepted or repeated attempt."""
        iterations = self.iterations + (attempt.outcome == "accepted")
        if attempt.claimed is None:
            return msgspec.structs.replace(self, iterations=iterations)
        name, key = canonical_name(attempt.claimed.model_name), claim_key(attempt.claimed.model_name)
        is_excluded = any(claim_key(identity.model_name) == key for identity in self.excluded)
        return msgspec.structs.replace(
            self,
            iterations=iterations,
            seen={name: Sighting(self.iterations, key)} | self.seen,
            excluded=self.excluded if is_excluded else (*self.excluded, attempt.claimed),
        )

"""One run as a pure decider: given what its stream holds, when an answer comes, then these events follow.

Whoever drives a run, the command line or an agent over HTTP, asks here for the next prompt and for what an answer
means, appends what `decide` gives in one batch, and goes on from `then`. A run read from the log at any point is the
run that was never interrupted: a session is a fold of its events and nothing else.

It ends, whatever is answered: each answer is an attempt, and the attempts are limited.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from events import (
    DiscoveryAttempted,
    DiscoveryFinished,
    DiscoverySignalled,
    DiscoveryStarted,
    EventFacts,
    ModelIdentity,
    Payload,
    canonical,
    key_of,
)
from events.discovery import AttemptOutcome, Ending
from instruments.answer import RouterAnswer
from instruments.discovery.analyze import ResponseAnalysis, analyze
from instruments.discovery.attempt_events import attempted, noted, scored
from instruments.discovery.prompts import exclusion, prompt
from instruments.probes import Probe

MAX_ITERATIONS = 15
"""Different models after which a run ends, where it does not say. Source: the reference."""

MAX_ATTEMPTS = 40
"""Attempts after which a run ends, where it does not say."""

EXCLUSION_BYTES_MAX = 32_768
"""Bytes of an exclusion prompt as JSON; it stands in every attempt's event, which has to fit on a line."""

FIRST_CHARS = 200
"""Characters of an answer that an ORANGE signal shows."""


class Prompt(NamedTuple):
    """What to ask next."""

    text: str
    """All of it."""
    exclusion: str
    """The part that says whom it must not be; empty where nobody is excluded."""
    attempt: int
    """The number of the attempt that this makes, 1-based."""


class Sighting(NamedTuple):
    """A model as it first came up in a run."""

    iteration: int
    """The iteration it was accepted as, 0-based."""
    key: str
    """The key it was claimed under."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A run as it stands after its events so far."""

    started: DiscoveryStarted
    """What it asks, and its limits."""
    attempts: int = 0
    """Attempts so far."""
    iterations: int = 0
    """Models accepted so far: the number of the next iteration."""
    seen: dict[str, Sighting] = {}
    """Canonical name to where it came up first. Dated and undated names of one model are one."""
    excluded: tuple[ModelIdentity, ...] = ()
    """Everybody who must not answer again, as claimed: each spelling once, so that it recognizes itself."""
    timed_out: bool = False
    """Whether the last attempt was a timeout."""
    finished: DiscoveryFinished | None = None
    """How it ended."""

    @classmethod
    def of(cls, history: Iterable[EventFacts]) -> "Session":
        """The run that a stream `discovery/RUN` holds, its events in order from the first."""
        payloads = [fact.data for fact in history]
        assert payloads
        assert isinstance(payloads[0], DiscoveryStarted), "a run's stream opens with discovery.started"
        return cls(started=payloads[0]).then(payloads[1:])

    def then(self, payloads: Iterable[Payload]) -> "Session":
        """The run after more of its events, as stored or as just decided."""
        session = self
        for payload in payloads:
            session = session._after(payload)
        return session

    @property
    def run_id(self) -> str:
        """Names the run's stream."""
        return self.started.run_id or ""

    @property
    def ending(self) -> Ending | None:
        """Why it ended, in one word; None while it runs. A run without a word for it was ended on request."""
        return None if self.finished is None else self.finished.ending or "requested"

    def prompt(self, probe: Probe) -> Prompt:
        """What to ask next, or again: the same until an answer is accepted."""
        return Prompt(prompt(probe.prompt, self.excluded), exclusion(self.excluded), self.attempts + 1)

    def finish(self, ending: Ending, reason: str) -> DiscoveryFinished:
        """The event that ends the run for a reason that no answer gives: it was asked for, or its time is over."""
        return DiscoveryFinished(run_id=self.run_id, ending=ending, reason=reason)

    def decide(self, answer: RouterAnswer, probe: Probe) -> list[Payload]:
        """What follows from an answer, to be appended as one batch: never an error, whatever was answered.

        The attempt; its score, where somebody claims an output; an ORANGE signal, where a person should look; and the
        end, where it ends the run. Nothing follows an end.
        """
        if self.finished is not None:
            return []
        if answer.failure is not None:
            return self._closed(self._unanswered(answer))
        analysis = analyze(answer.text, probe)
        outcome = self._outcome(analysis)
        attempt = attempted(
            answer,
            analysis,
            run_id=self.run_id,
            attempt=self.attempts + 1,
            outcome=outcome,
            iteration=self.iterations if outcome == "accepted" else None,
            exclusion=exclusion(self.excluded),
        )
        made: list[Payload] = [attempt]
        if analysis.score is not None and analysis.identity is not None:
            made.append(scored(attempt, analysis.identity, analysis.score, probe))
        if outcome in {"wrapper", "unparsable"}:
            made.append(self._orange(attempt, answer.text or ""))
        return self._closed(made)

    def _outcome(self, analysis: ResponseAnalysis) -> AttemptOutcome:
        if analysis.verdict != "identified":
            return analysis.verdict
        assert analysis.identity is not None
        return "repeat" if canonical(analysis.identity.model_name) in self.seen else "accepted"

    def _unanswered(self, answer: RouterAnswer) -> list[Payload]:
        """The attempt that got no answer."""
        assert answer.failure is not None
        return [
            attempted(
                answer,
                None,
                run_id=self.run_id,
                attempt=self.attempts + 1,
                outcome=answer.failure,
                iteration=None,
                exclusion=exclusion(self.excluded),
            )
        ]

    def _orange(self, attempt: DiscoveryAttempted, text: str) -> DiscoverySignalled:
        """What a person should look at: how long the answer is, and how it begins where that may be said."""
        meta = {
            "attempt": str(attempt.attempt),
            "outcome": attempt.outcome,
            "reason": attempt.detail or "",
            "length": str(len(text)),
        }
        if not self.started.sensitive:
            meta["first"] = noted(text[:FIRST_CHARS]) or ""
        return DiscoverySignalled(run_id=self.run_id, event="ORANGE", meta=meta)

    def _closed(self, made: list[Payload]) -> list[Payload]:
        """The events of an attempt, and the run's end, where they bring it."""
        attempt = made[0]
        assert isinstance(attempt, DiscoveryAttempted)
        end = self._end_by(attempt) or self.then(made)._end_by_limit()
        return made if end is None else [*made, self.finish(*end)]

    def _end_by(self, attempt: DiscoveryAttempted) -> tuple[Ending, str] | None:
        """The end that an attempt's own outcome brings, and its reason."""
        if self.started.keep_going or attempt.outcome == "accepted":
            return None
        place, detail = f"at iteration {self.iterations}", attempt.detail or ""
        match attempt.outcome:
            case "repeat":
                return (
                    None if self.started.terminate_on_repeat is False else ("repeat", self._repeated(attempt.claimed))
                )
            case "timeout":
                return ("timeout", f"timeout {place}: no answer, twice, to the same prompt") if self.timed_out else None
            case "wrapper":
                return "wrapper", f"wrapper {place}: {detail}"
            case "refused":
                return "refused", f"refused {place}: {detail}"
            case "empty":
                return "empty", f"empty answer {place}"
            case "unparsable":
                return "unparsable", f"unparsable answer {place}: {detail}"
            case "failed":
                return "failed", f"router failed {place}: {detail or 'it does not say why'}"

    def _repeated(self, claimed: ModelIdentity | None) -> str:
        """The reason that a repeat gives; where the model came up under another name, with that."""
        assert claimed is not None
        key = key_of(claimed.model_name)
        first = self.seen[canonical(key)]
        reason = f"repeat at iteration {self.iterations}: model {key} seen at iteration {first.iteration}"
        return reason if first.key == key else f"{reason} as {first.key}"

    def _end_by_limit(self) -> tuple[Ending, str] | None:
        """The end that a limit brings; a limit of 0 counts as 1, since it is looked at when an answer came."""
        most = self.started
        if self.iterations >= (MAX_ITERATIONS if most.max_iterations is None else max(1, most.max_iterations)):
            return "max_iterations", "max iterations reached"
        if self.attempts >= (MAX_ATTEMPTS if most.max_attempts is None else max(1, most.max_attempts)):
            return "max_attempts", "max attempts reached"
        if len(msgspec.json.encode(exclusion(self.excluded))) > EXCLUSION_BYTES_MAX:
            return "failed", f"the names to exclude take more than {EXCLUSION_BYTES_MAX:,} bytes"
        return None

    def _after(self, payload: Payload) -> "Session":
        """The run after one more event of its stream; others' events change nothing."""
        if isinstance(payload, DiscoveryFinished):
            return msgspec.structs.replace(self, finished=payload)
        if not isinstance(payload, DiscoveryAttempted):
            return self
        session = msgspec.structs.replace(
            self, attempts=max(self.attempts + 1, payload.attempt), timed_out=payload.outcome == "timeout"
        )
        return session._with(payload) if payload.outcome in {"accepted", "repeat"} else session

    def _with(self, attempt: DiscoveryAttempted) -> "Session":
        """The run with a model that answered."""
        iterations = self.iterations + (attempt.outcome == "accepted")
        if attempt.claimed is None:
            return msgspec.structs.replace(self, iterations=iterations)
        name, key = canonical(attempt.claimed.model_name), key_of(attempt.claimed.model_name)
        spelled = any(key_of(identity.model_name) == key for identity in self.excluded)
        return msgspec.structs.replace(
            self,
            iterations=iterations,
            seen={name: Sighting(self.iterations, key)} | self.seen,
            excluded=self.excluded if spelled else (*self.excluded, attempt.claimed),
        )

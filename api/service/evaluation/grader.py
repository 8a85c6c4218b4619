"""Turn an answer into its score event, with the bytes that do not fit on its line."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from api.service.evaluation.runs import GradedAttempt
from api.service.evidence import Blob, digest_of
from events.evaluation import Component, EvalScored, EvalStarted
from events.limits import PAYLOAD_BYTES_MAX
from instruments.evals import Scenario
from instruments.evals.agent import AgentOutput, parse_answer
from instruments.evals.scoring.scorer import score
from instruments.evals.scoring.semantic import SemanticMatcher

NOT_CAPTURED = "no analysis was captured with it, and no agent was asked"

_Result = TypeVar("_Result")
_JSON = "application/json"
_json = msgspec.json.Encoder().encode


class Grader:
    """Scores the answers of one run. `hide` removes secrets from what a score quotes."""

    def __init__(
        self,
        started: EvalStarted,
        meaning: SemanticMatcher | None,
        hide: Callable[[Sequence[Component]], tuple[Component, ...]] = tuple,
    ) -> None:
        self._started = started
        self._meaning = meaning
        self._hide = hide

    def grade(self, scenario: Scenario, attempt: int, reply: AgentOutput) -> GradedAttempt:
        """Score one answer; without an analysis, record why."""
        score_event = self._base_score(scenario, attempt, reply)
        if reply.analysis is None:
            return _fit_to_line(
                structs.replace(
                    score_event, state="error", failure=reply.failure, detail=reply.detail, said=reply.said
                ),
                None,
            )
        found = score(scenario, reply.analysis, self._meaning)
        components = self._hide(found.components)
        if found.total is None:
            error = structs.replace(score_event, state="error", failure=found.failure, detail=found.detail)
            return _fit_to_line(structs.replace(error, components=components), reply.text)
        return _fit_to_line(
            structs.replace(
                score_event,
                state="scored",
                total_score=found.total,
                passed=found.passed,
                pass_threshold=scenario.about.scoring.pass_threshold,
                components=components,
            ),
            reply.text,
        )

    def skip(self, scenario: Scenario, attempt: int, reason: str) -> GradedAttempt:
        """Return the event of a scenario for which no agent was asked."""
        return GradedAttempt(structs.replace(self._base_score(scenario, attempt, AgentOutput()), detail=reason))

    def _base_score(self, scenario: Scenario, attempt: int, reply: AgentOutput) -> EvalScored:
        """Return the fields that every score has, whatever its result."""
        started, weight = self._started, scenario.about.weight
        assert started.run_id is not None, "scores are of a run that has begun"
        return EvalScored(
            run_id=started.run_id,
            scenario_id=scenario.id,
            attempt=attempt,
            state="skipped",
            weight=None if weight == 1.0 else weight,
            fixture_digest=scenario.fixture_digest,
            expectation_digest=scenario.expectation_digest,
            scorer_id=started.scorer_id,
            scorer_version=started.scorer_version,
            agent=started.agent,
            agent_version=started.agent_version,
            elapsed_ns=reply.elapsed_ns,
        )


def _fit_to_line(score_event: EvalScored, text: str | None) -> GradedAttempt:
    """Return a score with its answer.

    If they are too long for a line, the answer becomes evidence, then the findings do.
    """
    if text is None:
        return _fit_findings(score_event)
    data = text.encode()
    digest = digest_of(data)
    whole = structs.replace(score_event, analysis=text, analysis_digest=digest)
    if len(_json(whole)) <= PAYLOAD_BYTES_MAX:
        return GradedAttempt(whole)
    return _fit_findings(structs.replace(score_event, analysis_digest=digest), Blob(data, _JSON))


def _fit_findings(score_event: EvalScored, *blobs: Blob) -> GradedAttempt:
    if len(_json(score_event)) <= PAYLOAD_BYTES_MAX:
        return GradedAttempt(score_event, blobs)
    breakdown = _json(score_event.components)
    short = tuple(structs.replace(component, findings=()) for component in score_event.components)
    score_event = structs.replace(score_event, components=short, breakdown_digest=digest_of(breakdown))
    return GradedAttempt(score_event, (*blobs, Blob(breakdown, _JSON)))


def captured_output(value: dict[str, Any]) -> AgentOutput:
    """Return an analysis that exists already as the output of an agent."""
    try:
        analysis = parse_answer(value).analysis
    except ValueError as error:
        return AgentOutput(failure="unreadable", detail=str(error))
    return AgentOutput(analysis=analysis, text=_json(value).decode())


async def run_on(executor: Executor, function: Callable[..., _Result], *arguments: object) -> _Result:
    """Run a function on an executor, and return its result."""
    return await asyncio.get_running_loop().run_in_executor(executor, function, *arguments)

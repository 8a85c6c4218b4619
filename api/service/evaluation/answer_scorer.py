"""Score an answer: build its event, and the evidence for the parts that do not fit on the event's line."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from api.service.evaluation.options import CLAIMED_MODEL
from api.service.evaluation.run_operations import GradedAttempt
from api.service.evidence import Blob, digest_of
from events.evaluation import Component, EvalScored, EvalStarted
from events.limits import PAYLOAD_BYTES_MAX
from instruments.evals import Scenario
from instruments.evals.agent import AgentOutput, parse_answer
from instruments.evals.analysis import AnswerStatements
from instruments.evals.scoring.scorer import score
from instruments.evals.scoring.semantic_matcher import SemanticMatcher

NOT_CAPTURED = "no analysis was captured with it, and no agent was asked"

_Result = TypeVar("_Result")
_JSON = "application/json"
_json = msgspec.json.Encoder().encode


class Grader:
    """Scores the answers of one run. `hide` removes secrets from the texts that a score quotes."""

    def __init__(
        self,
        started: EvalStarted,
        matcher: SemanticMatcher | None,
        hide: Callable[[Sequence[Component]], tuple[Component, ...]] = tuple,
    ) -> None:
        self._started = started
        self._claimed_model = (started.meta or {}).get(CLAIMED_MODEL)
        self._matcher = matcher
        self._hide = hide

    def grade(self, scenario: Scenario, attempt: int, reply: AgentOutput) -> GradedAttempt:
        """Score one answer. An output without an analysis gives an error event with the failure."""
        score_event = self._base_score(scenario, attempt, reply)
        if reply.analysis is None:
            error = structs.replace(
                score_event, state="error", failure=reply.failure, detail=reply.detail, said=reply.said
            )
            return _fit_findings(error)
        result = score(scenario, reply.analysis, self._matcher)
        score_event = structs.replace(score_event, components=self._hide(result.components))
        if result.total is None:
            error = structs.replace(score_event, state="error", failure=result.failure, detail=result.detail)
            return _fit_to_line(error, reply.text)
        scored = structs.replace(
            score_event,
            state="scored",
            total_score=result.total,
            passed=result.passed,
            pass_threshold=scenario.about.scoring.pass_threshold,
        )
        return _fit_to_line(scored, reply.text)

    def skip(self, scenario: Scenario, attempt: int, reason: str) -> GradedAttempt:
        """Return the event of a scenario for which no agent was asked."""
        return GradedAttempt(structs.replace(self._base_score(scenario, attempt, AgentOutput()), detail=reason))

    def _base_score(self, scenario: Scenario, attempt: int, reply: AgentOutput) -> EvalScored:
        """Return an event with the fields that every result has."""
        started, weight = self._started, scenario.about.weight
        stated = claim_model(reply.stated, self._claimed_model)
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
            model=stated.model,
            reported_model=stated.reported_model,
            confidence=stated.confidence,
        )


def claim_model(stated: AnswerStatements, claimed: str | None) -> AnswerStatements:
    """Return what an answer states, with the model that the caller of the runner claims; as it is without a claim.

    The model that the answer itself names is then the reported one, unless the answer reports another.
    """
    if claimed is None:
        return stated
    return structs.replace(stated, model=claimed, reported_model=stated.reported_model or stated.model)


def _fit_to_line(score_event: EvalScored, text: str | None) -> GradedAttempt:
    """Return a score with the text of its answer.

    If the line would be too long, the text becomes evidence; if it still is, the findings do too.
    """
    if text is None:
        return _fit_findings(score_event)
    data = text.encode()
    digest = digest_of(data)
    with_text = structs.replace(score_event, analysis=text, analysis_digest=digest)
    if len(_json(with_text)) <= PAYLOAD_BYTES_MAX:
        return GradedAttempt(with_text)
    return _fit_findings(structs.replace(score_event, analysis_digest=digest), Blob(data, _JSON))


def _fit_findings(score_event: EvalScored, *blobs: Blob) -> GradedAttempt:
    if len(_json(score_event)) <= PAYLOAD_BYTES_MAX:
        return GradedAttempt(score_event, blobs)
    breakdown = _json(score_event.components)
    short = tuple(structs.replace(component, findings=()) for component in score_event.components)
    score_event = structs.replace(score_event, components=short, breakdown_digest=digest_of(breakdown))
    return GradedAttempt(score_event, (*blobs, Blob(breakdown, _JSON)))


def captured_output(value: dict[str, Any]) -> AgentOutput:
    """Return a captured analysis in the form of an agent's output."""
    try:
        answer = parse_answer(value)
    except ValueError as error:
        return AgentOutput(failure="unreadable", detail=str(error))
    return AgentOutput(analysis=answer.analysis, text=_json(value).decode(), stated=answer.stated)


async def run_on(executor: Executor, function: Callable[..., _Result], *arguments: object) -> _Result:
    """Run a function on an executor, and return its result."""
    return await asyncio.get_running_loop().run_in_executor(executor, function, *arguments)

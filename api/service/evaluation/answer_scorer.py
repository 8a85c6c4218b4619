"""Score an answer: build its event, and the evidence for the parts that do not fit on the event's line."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from api.service.evaluation.option_checks import CLAIMED_MODEL
from api.service.evaluation.run_operations import GradedAttempt
from api.service.evidence import Blob, digest_of
from events.evaluation import Component, EvalScored, EvalStarted
from events.judge import CriterionVerdict
from events.limits import PAYLOAD_BYTES_MAX
from instruments.evals.agent import AgentOutput, parse_answer
from instruments.evals.analysis import AnswerStatements
from instruments.evals.prices import PriceList
from instruments.evals.scenario import Scenario
from instruments.evals.scoring.scorer import score
from instruments.evals.scoring.semantic_matcher import SemanticMatcher
from instruments.evals.trace.recorded import read_trace
from instruments.evals.trace.steps import RecordedTrace
from instruments.evals.usage import Usage
from instruments.routers.redaction import Redactor

REASON_CHARS_KEPT = 60
"""Characters of a judge's reason that stay on a line which is too long otherwise."""

NOT_CAPTURED = "no analysis was captured with it, and no agent was asked"

TRACE_NOTE = "trace"

UNNAMED_MODEL = "answers that name no model"

_Result = TypeVar("_Result")
_JSON = "application/json"
_json = msgspec.json.Encoder().encode


class Grader:
    """Scores the answers of one run. `hide` removes secrets from the texts that a score quotes.

    With `prices`, the cost of an answer that states its tokens and no cost is computed.
    """

    def __init__(
        self,
        started: EvalStarted,
        matcher: SemanticMatcher | None,
        hide: Callable[[Sequence[Component]], tuple[Component, ...]] = tuple,
        prices: PriceList | None = None,
    ) -> None:
        self._started = started
        self._prices = prices
        self.unpriced: set[str] = set()
        """Models of answers that state tokens and no cost, without a price in the list."""
        self._claimed_model = (started.meta or {}).get(CLAIMED_MODEL)
        self._matcher = matcher
        self._hide = hide

    def grade(self, scenario: Scenario, attempt: int, reply: AgentOutput) -> GradedAttempt:
        """Score one answer. An output without an analysis gives an error event with the failure."""
        score_event = self.base_score(scenario, attempt, reply)
        if reply.analysis is None:
            error = structs.replace(
                score_event, state="error", failure=reply.failure, detail=reply.detail, said=reply.said
            )
            return _fit_findings(error)
        is_agent = self._started.baseline is None
        trace = reply.trace if is_agent else RecordedTrace()  # a baseline calls no tool
        result = score(scenario, reply.analysis, self._matcher, reads_language=is_agent, trace=trace)
        components = self._hide(result.components)
        score_event = structs.replace(score_event, components=components, embeddings=result.embeddings)
        if result.total is None:
            error = structs.replace(score_event, state="error", failure=result.failure, detail=result.detail)
            return fit_to_line(error, reply.text)
        scored = structs.replace(
            score_event,
            state="scored",
            total_score=result.total,
            passed=result.passed,
            pass_threshold=scenario.about.scoring.pass_threshold,
        )
        return fit_to_line(scored, reply.text)

    def skip(self, scenario: Scenario, attempt: int, reason: str) -> GradedAttempt:
        """Return the event of a scenario for which no agent was asked."""
        return GradedAttempt(structs.replace(self.base_score(scenario, attempt, AgentOutput()), detail=reason))

    def base_score(self, scenario: Scenario, attempt: int, reply: AgentOutput) -> EvalScored:
        """Return an event with the fields that every result has."""
        started, weight = self._started, scenario.about.weight
        stated = claim_model(reply.stated, self._claimed_model)
        usage = self._add_cost(structs.replace(stated, usage=with_trace_tokens(stated.usage, reply.trace)))
        assert started.run_id is not None, "scores are of a run that has begun"
        score_event = EvalScored(
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
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd,
            response_id=usage.response_id,
        )
        return with_trace_facts(score_event, reply.trace)

    def _add_cost(self, stated: AnswerStatements) -> Usage:
        """Return the usage of an answer, with the cost by the price of the model that answered if none is stated.

        That is the reported model; without one, the model that the agent or the caller names.
        """
        usage, model = stated.usage, stated.reported_model or stated.model
        if (
            self._prices is None
            or usage.cost_usd is not None
            or (usage.input_tokens, usage.output_tokens) == (None, None)
        ):
            return usage
        if model is None or self._prices.find(model) is None:
            self.unpriced.add(model or UNNAMED_MODEL)
            return usage
        return structs.replace(usage, cost_usd=self._prices.cost_usd(usage, model))


def claim_model(stated: AnswerStatements, claimed: str | None) -> AnswerStatements:
    """Return what an answer states, with the model that the caller of the runner claims; as it is without a claim.

    The model that the answer itself names is then the reported one, unless the answer reports another.
    """
    if claimed is None:
        return stated
    return structs.replace(stated, model=claimed, reported_model=stated.reported_model or stated.model)


def with_trace_facts(score: EvalScored, trace: RecordedTrace | None) -> EvalScored:
    """Return a score with what its trace says; as it is without a trace that can be read."""
    if trace is None or trace.problem is not None:
        return score
    return structs.replace(
        score,
        steps=len(trace.steps),
        tool_calls=len(trace.tool_calls),
        trace_digest=digest_of(trace.data),
        trace_id=trace.trace_id,
        span_id=trace.span_id,
    )


def with_trace_tokens(usage: Usage, trace: RecordedTrace | None) -> Usage:
    """Return the usage of an answer; where it states no tokens, with the sums over the steps of its trace."""
    if trace is None or trace.problem is not None:
        return usage
    return structs.replace(
        usage,
        input_tokens=trace.tokens("input_tokens") if usage.input_tokens is None else usage.input_tokens,
        output_tokens=trace.tokens("output_tokens") if usage.output_tokens is None else usage.output_tokens,
    )


def with_trace_bytes(graded: GradedAttempt, trace: RecordedTrace | None) -> GradedAttempt:
    """Return a graded attempt with the bytes of its trace, if it names any."""
    if trace is None or graded.score.trace_digest is None:
        return graded
    return structs.replace(graded, blobs=(*graded.blobs, Blob(trace.data, trace.media_type, TRACE_NOTE)))


def fit_to_line(score_event: EvalScored, text: str | None) -> GradedAttempt:
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
    short = tuple(
        structs.replace(component, findings=(), verdict=_shorten(component.verdict))
        for component in score_event.components
    )
    score_event = structs.replace(score_event, components=short, breakdown_digest=digest_of(breakdown))
    return GradedAttempt(score_event, (*blobs, Blob(breakdown, _JSON)))


def _shorten(verdict: CriterionVerdict | None) -> CriterionVerdict | None:
    """Return a verdict whose votes fit on the line; the whole ones are in the evidence."""
    if verdict is None:
        return None
    votes = tuple(structs.replace(vote, reason=vote.reason[:REASON_CHARS_KEPT], quote=None) for vote in verdict.votes)
    return structs.replace(verdict, votes=votes)


def captured_output(value: dict[str, Any]) -> AgentOutput:
    """Return a captured analysis in the form of an agent's output."""
    try:
        answer = parse_answer(value)
    except ValueError as error:
        return AgentOutput(failure="unreadable", detail=str(error))
    trace = read_trace(value, None, Redactor(()))
    return AgentOutput(analysis=answer.analysis, text=_json(value).decode(), stated=answer.stated, trace=trace)


async def run_on(executor: Executor, function: Callable[..., _Result], *arguments: object) -> _Result:
    """Run a function on an executor, and return its result."""
    return await asyncio.get_running_loop().run_in_executor(executor, function, *arguments)

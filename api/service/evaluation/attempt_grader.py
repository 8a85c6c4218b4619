"""Get the answer of an attempt from the agent, as captured or as recorded, and score it; and decide whether one may."""

from collections.abc import Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime

from msgspec import structs

from api.service.evaluation.answer_scorer import NOT_CAPTURED, Grader, captured_output, run_on, with_trace_bytes
from api.service.evaluation.cost_budget import CostBudget, Halt
from api.service.evaluation.judge_scorer import JudgeGrader
from api.service.evaluation.options import EvalOptions
from api.service.evaluation.recorded_answers import read_output
from api.service.evaluation.recorded_tries import AttemptKey, LastTry
from api.service.evaluation.run_operations import EvalRun, GradedAttempt
from api.service.store import EventStore
from events.evaluation import EvalScored
from instruments.evals.agent import Agent, AgentOutput
from instruments.evals.judging.judge import Judge
from instruments.evals.prices import PriceList
from instruments.evals.scenario import Scenario
from instruments.evals.scoring.semantic_matcher import SemanticMatcher
from instruments.routers.endpoint_limits import AGENT, EndpointLimits, PauseTooLong

ANSWER_FIELDS = (
    "input_tokens", "output_tokens", "cost_usd", "steps", "tool_calls", "trace_digest", "trace_id", "span_id",
    "response_id",
)  # fmt: skip
"""What a score states about the answer, and keeps where the same answer is scored again."""


class AttemptGrader:
    """Gets and scores the answers of one run. `halt` says why no further try may be made; None while one may."""

    def __init__(
        self,
        store: EventStore,
        run: EvalRun,
        scenarios: Sequence[Scenario],
        options: EvalOptions,
        limits: EndpointLimits,
        *,
        agent: Agent | None,
        judge: Judge | None,
        matcher: SemanticMatcher | None,
        prices: PriceList | None,
        executor: Executor,
    ) -> None:
        """The agent, the judge and embeddings share `limits`."""
        self._store = store
        self._run = run
        self._scenarios = {scenario.id: scenario for scenario in scenarios}
        self._agent = agent
        self._grader = Grader(run.started, matcher, tuple if agent is None else agent.hide, prices)
        self._judge = None if judge is None else JudgeGrader(run.started.suite, self._grader, judge, store)
        self._matcher = matcher
        self._limits = limits
        self._budget = None if options.max_cost is None else CostBudget(options.max_cost)
        self._executor = executor
        if judge is not None:
            judge.client.use_limits(limits)
        if matcher is not None:
            matcher.use_limits(limits)
        self._endpoints: set[str] = set()
        """The endpoints of the agent, as its errors state them."""
        self.halt: Halt | None = None
        if agent is not None:
            self._keep_recorded_pauses()

    def _keep_recorded_pauses(self) -> None:
        """Let the pauses that recorded errors state go on: a run that is continued must not ask sooner either."""
        now = datetime.now(UTC)
        for last in self._run.scored.values():
            if (pause := last.pause()) is not None:
                self._pause(pause[0], (pause[1] - now).total_seconds())

    def _pause(self, endpoint: str | None, seconds: float | None) -> None:
        """Note an endpoint of the agent, and let nobody ask it or the agent for some seconds."""
        if endpoint is not None:
            self._endpoints.add(endpoint)
        if seconds is not None and seconds > 0:
            for name in (AGENT, *([] if endpoint is None else [endpoint])):
                self._limits.pause(name, seconds)

    @property
    def unpriced(self) -> set[str]:
        """The models that answered and have no price."""
        return self._grader.unpriced

    async def may_try(self, key: AttemptKey) -> bool:
        """Wait until an attempt may be tried; return False, with `halt`, if none may be any more."""
        if self._agent is not None and not self._has_answer(key):
            try:
                await self._limits.acquire([AGENT, *sorted(self._endpoints)])
            except PauseTooLong as refusal:
                self.halt = Halt(str(refusal))
        if self.halt is None and (pause := self._limits.refusal) is not None:
            self.halt = Halt(pause)
        if self.halt is None and self._budget is not None:
            self.halt = self._budget.reason_to_stop(self._run.tries.cost)
        return self.halt is None

    def halt_now(self) -> Halt | None:
        """Return `halt`; a budget's with the costs of the tries that were still running when it was reached."""
        return (self.halt and self._budget and self._budget.reason_to_stop(self._run.tries.cost)) or self.halt

    def _has_answer(self, key: AttemptKey) -> bool:
        last = self._run.scored.get(key)
        return last is not None and last.answered

    async def grade(self, key: AttemptKey) -> GradedAttempt:
        """Get an answer, and score it. Cancelling ends the request. Errors: those of reading."""
        scenario_id, attempt = key
        scenario = self._scenarios[scenario_id]
        if self._agent is None and scenario.captured is None:
            return self._grader.skip(scenario, attempt, NOT_CAPTURED)
        last = self._run.scored.get(key)
        recorded = None if last is None else await self._read_answer(last)
        reply = recorded or await self._ask(scenario)
        if self._judge is not None:
            graded = await self._judge.grade(scenario, attempt, reply)
        else:
            graded = await run_on(self._executor, self._grader.grade, scenario, attempt, reply)
        graded = with_trace_bytes(graded, reply.trace)
        if recorded is None or last is None or last.error is None:
            return graded
        return structs.replace(graded, score=_keep_answer_fields(graded.score, last.error))

    async def _read_answer(self, last: LastTry) -> AgentOutput | None:
        """Return the answer of a try that only lacks its score; None if the agent must be asked (again)."""
        if last.error is None or not last.answered:
            return None
        if last.failure == "embeddings" and self._matcher is not None:
            self._matcher.ask_again()
        reply = await read_output(self._store, last.error)
        return None if reply.analysis is None else reply

    async def _ask(self, scenario: Scenario) -> AgentOutput:
        """Return the answer of the agent, or the captured one."""
        if self._agent is None:
            return captured_output(scenario.captured or {})
        reply = await self._agent.ask(scenario)
        if reply.error is not None:
            self._pause(reply.error.endpoint, reply.error.retry_after_s)
        return reply


def _keep_answer_fields(score: EvalScored, error: EvalScored) -> EvalScored:
    """Return a score with what the earlier score of the same answer stated about it."""
    missing = [name for name in ANSWER_FIELDS if getattr(score, name) is None]
    return structs.replace(score, **{name: getattr(error, name) for name in missing})

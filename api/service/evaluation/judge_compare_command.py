"""The command `tallystick judge compare`: ask a judge which of two answers is better, for each attempt of both runs.

Each pair is asked in both orders. A pair that the same judge has compared already is not asked again.
"""

import asyncio
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal

import msgspec

from api.service.evaluation.eval_run_command import Say
from api.service.evaluation.judge_decisions import COMPARISON, comparison_drafts, decision_id_of
from api.service.evaluation.judge_permission import require_judge
from api.service.evaluation.judge_run_command import scenarios_of
from api.service.evaluation.judge_scorer import judge_facts
from api.service.evaluation.option_checks import build_judge
from api.service.evaluation.options import JudgeCompareOptions
from api.service.evaluation.recorded_answers import RecordedRun, read_output, read_run
from api.service.evaluation.recorded_tries import AttemptKey
from api.service.evidence import digest_of
from api.service.retry import retry, while_unavailable
from api.service.store import EventStore
from events.errors import TallystickError
from events.judge import ComparedAnswer, JudgeCompared, Preferred
from events.registry import VOCABULARY
from instruments.evals.agent import AgentOutput
from instruments.evals.judging.judge import Judge, PairJudgement
from instruments.evals.judging.votes import by_order, join_preferences
from instruments.evals.scenario import Scenario
from instruments.evals.suite.loader import load
from ledger.errors import InvalidQuery

ID_CHARS = 32
"""Hex digits of the id of a comparison."""

_types = VOCABULARY.names_of(JudgeCompared)


class ComparedPair(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one pair: a preference, an error of the judge, or the reason why it was not asked."""

    scenario_id: str
    attempt: int
    state: Literal["compared", "error", "skipped"]
    preferred: Preferred | None = None
    confidence: float | None = None
    orders_agree: bool | None = None
    """Whether the votes of both orders prefer the same answer."""
    decision_id: str | None = None
    detail: str | None = None


class PairSummary(msgspec.Struct, frozen=True, kw_only=True):
    """All pairs of two runs, and how often each answer was preferred."""

    first_run: str
    second_run: str
    judge: str
    first: int
    second: int
    ties: int
    order_disagreements: int
    """Pairs whose preference changed with the order."""
    errors: int
    skipped: int
    pairs: tuple[ComparedPair, ...]


class JudgeCompareCommand:
    """The command with its judge and loaded scenarios. Errors: BadFixtures, InvalidQuery."""

    def __init__(self, options: JudgeCompareOptions) -> None:
        if options.first_run == options.second_run:
            raise InvalidQuery("run", "both runs are the same.", "Name two evaluations.")
        self._options = options
        self._judge: Judge = build_judge(options.judge)
        self._suite = load(options.fixtures)

    async def run(self, store: EventStore, say: Say) -> PairSummary:
        """Compare the answers of each attempt that both runs have, and return the results in order.

        Errors: NotFound, InvalidQuery, Forbidden; those of reading and appending.
        """
        await require_judge(store, self._judge.agent)
        runs = await read_run(store, self._options.first_run), await read_run(store, self._options.second_run)
        keys = sorted(runs[0].scores.keys() & runs[1].scores.keys())
        scenarios = {scenario.id: scenario for scenario in scenarios_of(self._suite, {key[0] for key in keys})}
        slots = asyncio.Semaphore(self._options.jobs)
        say(f"comparing {len(keys)} pairs of answers by {self._judge.agent}")

        async def compare(key: AttemptKey) -> ComparedPair:
            async with slots:
                return await self._compare(store, scenarios[key[0]], key, runs)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(compare(key)) for key in keys]
        except* TallystickError as errors:
            raise errors.exceptions[0] from None
        return self._summary(tuple(task.result() for task in tasks))

    async def _compare(
        self, store: EventStore, scenario: Scenario, key: AttemptKey, runs: tuple[RecordedRun, RecordedRun]
    ) -> ComparedPair:
        scores = runs[0].scores[key], runs[1].scores[key]
        outputs = await read_output(store, scores[0]), await read_output(store, scores[1])
        for output, score in zip(outputs, scores, strict=True):
            if output.analysis is None:
                detail = f"run {score.run_id} has no answer: {output.detail or score.state}"
                return ComparedPair(scenario_id=key[0], attempt=key[1], state="skipped", detail=detail)
        texts = outputs[0].text or "{}", outputs[1].text or "{}"
        comparison_id = self._comparison_id(scenario, key, texts)
        events = VOCABULARY.events(await store.streams([f"comparison/{comparison_id}"], _types))
        known = next((event.data for event in events if isinstance(event.data, JudgeCompared)), None)
        if known is None:
            answers: list[dict[str, Any]] = [msgspec.json.decode(text) for text in texts]
            judgement = await self._judge.compare(scenario, answers[0], answers[1])
            if judgement.detail is not None:
                return ComparedPair(scenario_id=key[0], attempt=key[1], state="error", detail=judgement.detail)
            known = self._compared(scenario, key, comparison_id, texts, judgement)
            await self._append(store, known, runs[0].started.suite, outputs)
        straight, swapped = by_order(known.votes)
        return ComparedPair(
            scenario_id=key[0],
            attempt=key[1],
            state="compared",
            preferred=known.preferred,
            confidence=known.confidence,
            orders_agree=straight == swapped,
            decision_id=known.decision_id,
        )

    def _comparison_id(self, scenario: Scenario, key: AttemptKey, texts: tuple[str, str]) -> str:
        """Return the id of the comparison of a pair by this judge with the scenario's rubric."""
        parts = (self._options.first_run, self._options.second_run, key[0], str(key[1]), self._judge.agent)
        rubric = scenario.expectation_digest
        return sha256("\0".join((*parts, self._judge.pair_version, rubric, *texts)).encode()).hexdigest()[:ID_CHARS]

    def _compared(
        self,
        scenario: Scenario,
        key: AttemptKey,
        comparison_id: str,
        texts: tuple[str, str],
        judgement: PairJudgement,
    ) -> JudgeCompared:
        preferred, confidence = join_preferences(judgement.votes)
        runs = self._options.first_run, self._options.second_run
        first, second = (
            ComparedAnswer(run_id=run, attempt=key[1], analysis_digest=digest_of(text.encode()))
            for run, text in zip(runs, texts, strict=True)
        )
        return JudgeCompared(
            comparison_id=comparison_id,
            scenario_id=scenario.id,
            first=first,
            second=second,
            preferred=preferred,
            confidence=confidence,
            votes=judgement.votes,
            judge=judge_facts(self._judge, scenario, judgement.usage, self._judge.pair_prompt_digest),
            decision_id=decision_id_of(comparison_id, scenario.id, key[1], COMPARISON),
        )

    async def _append(
        self,
        store: EventStore,
        compared: JudgeCompared,
        suite: str,
        outputs: tuple[AgentOutput, AgentOutput],
    ) -> None:
        drafts = comparison_drafts(compared, suite, (outputs[0].stated.model, outputs[1].stated.model))

        async def attempt(again: bool) -> None:
            await store.append(list(drafts))

        await retry(attempt, while_unavailable)

    def _summary(self, pairs: tuple[ComparedPair, ...]) -> PairSummary:
        counts: Mapping[str | None, int] = {
            name: sum(pair.preferred == name for pair in pairs) for name in ("first", "second", "tie")
        }
        return PairSummary(
            first_run=self._options.first_run,
            second_run=self._options.second_run,
            judge=self._judge.agent,
            first=counts["first"],
            second=counts["second"],
            ties=counts["tie"],
            order_disagreements=sum(pair.orders_agree is False for pair in pairs),
            errors=sum(pair.state == "error" for pair in pairs),
            skipped=sum(pair.state == "skipped" for pair in pairs),
            pairs=pairs,
        )

"""Score answers by a judge: the share of the criteria that they meet. An outage of the judge is an error, never a 0."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import structs

from api.service.evaluation.answer_scorer import Grader, fit_to_line
from api.service.evaluation.judge_decisions import AnswerLabel, decision_id_of, verdict_drafts
from api.service.evaluation.judge_permission import may_review_as
from api.service.evaluation.run_operations import GradedAttempt
from api.service.evidence import digest_of
from api.service.store import EventStore
from events.evaluation import POINTS_MAX, Component, EvalScored
from events.judge import CriterionVerdict, EvalLabelled, JudgeFacts
from events.registry import VOCABULARY
from instruments.evals.agent import AgentOutput
from instruments.evals.judging.judge import Judge, Judgement, JudgeUsage
from instruments.evals.judging.label_ids import label_id_of
from instruments.evals.judging.rubric import criteria_of, rubric_digest, shares
from instruments.evals.judging.votes import join_votes
from instruments.evals.scenario import Criterion, Scenario

POINTS_DIGITS = 6
"""Decimals of a total."""

_label_types = VOCABULARY.names_of(EvalLabelled)


class LabelReader:
    """Reads the labels of answers; remembers for which people the caller may record reviews."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._permitted: dict[str, bool] = {}

    async def read(self, label_ids: Sequence[str]) -> dict[str, AnswerLabel]:
        """Return the latest label of each id that has one, if the caller may review as its author.

        Errors: those of reading and appending.
        """
        subjects = [f"label/{label_id}" for label_id in label_ids]
        latest: dict[str, AnswerLabel] = {}
        for event in VOCABULARY.events(await self._store.streams(subjects, _label_types)):
            assert isinstance(event.data, EvalLabelled)
            latest[event.data.label_id] = AnswerLabel(event.id, event.source, event.data.passed)
        for source in {label.source for label in latest.values()} - self._permitted.keys():
            self._permitted[source] = await may_review_as(self._store, source)
        return {name: label for name, label in latest.items() if self._permitted[label.source]}


class JudgeGrader:
    """Scores the answers of one run by a judge, with a decision of the judge for each verdict."""

    def __init__(self, suite: str, grader: Grader, judge: Judge, store: EventStore) -> None:
        self._suite = suite
        self._grader = grader
        self._judge = judge
        self._labels = LabelReader(store)

    async def grade(self, scenario: Scenario, attempt: int, reply: AgentOutput) -> GradedAttempt:
        """Score one answer. An output without an analysis gives an error event with the failure of the agent.

        Errors: those of reading labels.
        """
        if reply.analysis is None:
            return self._grader.grade(scenario, attempt, reply)
        base, text = self._grader.base_score(scenario, attempt, reply), reply.text or "{}"
        answer: dict[str, Any] = msgspec.json.decode(text)
        judgement = await self._judge.judge(scenario, answer)
        if judgement.detail is not None:
            facts = judge_facts(self._judge, scenario, judgement.usage, self._judge.prompt_digest)
            failed = structs.replace(base, state="error", failure="judge", detail=judgement.detail, judge=facts)
            return structs.replace(fit_to_line(failed, reply.text), lasting=not judgement.transient)
        scored = self._score(base, scenario, judgement)
        digest = digest_of(text.encode())
        criteria = {criterion.name: criterion for criterion in criteria_of(scenario)}
        labels = await self._labels.read([label_id_of(scenario.id, digest, name) for name in criteria])
        drafts = verdict_drafts(scored, self._suite, criteria, digest, labels)
        return structs.replace(fit_to_line(scored, reply.text), drafts=drafts)

    def _score(self, base: EvalScored, scenario: Scenario, judgement: Judgement) -> EvalScored:
        criteria, threshold = criteria_of(scenario), scenario.about.scoring.pass_threshold
        weights = shares(criteria)
        components = tuple(_component(base, criterion, weights[criterion.name], judgement) for criterion in criteria)
        met = sum(weights[component.name] for component in components if component.passed)
        total = min(POINTS_MAX, round(POINTS_MAX * met, POINTS_DIGITS))
        return structs.replace(
            base,
            state="scored",
            components=components,
            total_score=total,
            passed=total >= threshold,
            pass_threshold=threshold,
            judge=judge_facts(self._judge, scenario, judgement.usage, self._judge.prompt_digest),
        )


def judge_facts(judge: Judge, scenario: Scenario, usage: JudgeUsage, prompt_digest: str) -> JudgeFacts:
    """Return what judged an answer to a scenario, and what that took."""
    return JudgeFacts(
        agent=judge.agent,
        model=judge.model,
        reported_model=usage.reported_model,
        prompt_digest=prompt_digest,
        rubric_digest=rubric_digest(criteria_of(scenario)),
        repeats=judge.repeats,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        elapsed_ns=usage.elapsed_ns,
    )


def _component(base: EvalScored, criterion: Criterion, weight: float, judgement: Judgement) -> Component:
    name, votes = criterion.name, judgement.votes[criterion.name]
    passed, confidence = join_votes(votes)
    decision_id = decision_id_of(base.run_id, base.scenario_id, base.attempt, name)
    return Component(
        name=name,
        applicable=True,
        score=POINTS_MAX if passed else 0.0,
        weight=weight,
        mark=POINTS_MAX,
        passed=passed,
        verdict=CriterionVerdict(
            decision_id=decision_id,
            passed=passed,
            confidence=confidence,
            votes=votes,
            question=criterion.question,
            reference=criterion.reference,
        ),
    )

"""The decisions of a judge: one for each verdict, reviewed if a person has labelled the answer.

Ids follow from run, scenario, attempt and criterion, so that a repeated append is a retry. The question of a decision
is the id of the label, which is the same for each judge and each run with that answer.
"""

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from events.decision import DecisionAsked, DecisionRecorded, DecisionReviewed, Reason
from events.envelope import Draft, source_of
from events.evaluation import Component, EvalScored
from events.judge import CriterionVerdict, JudgeCompared, JudgeFacts
from events.limits import LABEL_CHARS_MAX
from events.registry import VOCABULARY
from instruments.evals.judging.label_ids import label_id_of
from instruments.evals.scenario import Criterion
from tallystick.shapes.decisions import Outcome

ID_CHARS = 32
"""Hex digits of the id of a decision."""

COMPARISON = "comparison"
"""The category of decisions on pairs."""

JUDGED_MODEL_TAG = "judged-model:"


class AnswerLabel(msgspec.Struct, frozen=True):
    """A person's label of an answer: its event, the person's source, and the label."""

    event_id: str
    source: str
    passed: bool


def decision_id_of(run_id: str, scenario_id: str, attempt: int, criterion: str) -> str:
    """Return the id of the decision that records a verdict."""
    return sha256("\0".join((run_id, scenario_id, str(attempt), criterion)).encode()).hexdigest()[:ID_CHARS]


def verdict_drafts(
    score: EvalScored,
    suite: str,
    criteria: Mapping[str, Criterion],
    analysis_digest: str,
    labels: Mapping[str, AnswerLabel],
) -> tuple[Draft, ...]:
    """Return the decisions of the verdicts in a score; `labels` has those of people, by id of the label."""
    assert score.judge is not None
    drafts: list[Draft] = []
    for component in score.components:
        verdict = component.verdict
        if verdict is None:
            continue
        label_id = label_id_of(score.scenario_id, analysis_digest, component.name)
        decision = _decision(score, suite, component, verdict, criteria[component.name])
        drafts += _decided(score.judge, decision, label_id)
        label = labels.get(label_id)
        if label is not None:
            drafts.append(_review(verdict, label))
    return tuple(drafts)


def comparison_drafts(compared: JudgeCompared, suite: str, models: tuple[str | None, str | None]) -> tuple[Draft, ...]:
    """Return the event of a comparison and its decision, both by the judge. `models` gave the two answers."""
    first, second = compared.first, compared.second
    answers = f"attempt {first.attempt} of run {first.run_id} and attempt {second.attempt} of run {second.run_id}"
    decision = DecisionRecorded(
        decision_id=compared.decision_id,
        decision=f"{compared.preferred} is better: {compared.scenario_id}, {answers}"
        if compared.preferred != "tie"
        else f"tie: {compared.scenario_id}, {answers}",
        confidence=compared.confidence,
        category=COMPARISON,
        reasons=tuple(
            Reason(type="analysis", text=vote.reason)
            for vote in compared.votes
            if compared.preferred in {vote.preferred, "tie"}
        ),
        tags=_tags(dict.fromkeys((first.run_id, second.run_id)), models),
        project=suite,
        cluster=compared.scenario_id,
        model=compared.judge.model,
        reported_model=compared.judge.reported_model,
    )
    question = label_id_of(compared.scenario_id, first.analysis_digest, second.analysis_digest)
    draft = VOCABULARY.draft_of(
        compared, id=f"judge:{compared.comparison_id}", source=source_of(compared.judge.agent), expectedversion=0
    )
    return draft, *_decided(compared.judge, decision, question)


def _decision(
    score: EvalScored, suite: str, component: Component, verdict: CriterionVerdict, criterion: Criterion
) -> DecisionRecorded:
    assert score.judge is not None
    judged = score.model or score.reported_model
    return DecisionRecorded(
        decision_id=verdict.decision_id,
        decision=f"{'pass' if verdict.passed else 'fail'}: {component.name} of {score.scenario_id}, "
        f"attempt {score.attempt} of run {score.run_id}",
        confidence=verdict.confidence,
        category=component.name,
        context=criterion.question,
        reasons=tuple(
            Reason(type="analysis", text=vote.reason) for vote in verdict.votes if vote.passed is verdict.passed
        ),
        tags=_tags((score.run_id,), (judged,)),
        project=suite,
        feature=judged,
        cluster=score.scenario_id,
        model=score.judge.model,
        reported_model=score.judge.reported_model,
    )


def _tags(runs: Mapping[str, None] | tuple[str, ...], models: tuple[str | None, ...]) -> tuple[str, ...]:
    """Return the tags of a decision; the name of a model is left out where the tag would be too long."""
    tags = [f"run:{run_id}" for run_id in runs]
    tags += [f"{JUDGED_MODEL_TAG}{model}" for model in dict.fromkeys(models) if model is not None]
    return tuple(tag for tag in tags if len(tag) <= LABEL_CHARS_MAX)


def _decided(judge: JudgeFacts, decision: DecisionRecorded, question: str) -> tuple[Draft, Draft]:
    decision_id, source = decision.decision_id, source_of(judge.agent)
    assert decision_id is not None
    return (
        VOCABULARY.draft_of(decision, id=f"judge:{decision_id}:recorded", source=source, expectedversion=0),
        VOCABULARY.draft_of(
            DecisionAsked(decision_id=decision_id, question=question), id=f"judge:{decision_id}:asked", source=source
        ),
    )


def _review(verdict: CriterionVerdict, label: AnswerLabel) -> Draft:
    outcome: Outcome = "success" if verdict.passed is label.passed else "failure"
    said = "passed" if label.passed else "failed"
    review = DecisionReviewed(
        decision_id=verdict.decision_id, outcome=outcome, actual_result=f"A person labelled the answer: {said}."
    )
    event_id = sha256(f"{label.event_id}\0{verdict.decision_id}".encode()).hexdigest()
    return VOCABULARY.draft_of(review, id=f"judge:{event_id}", source=label.source)

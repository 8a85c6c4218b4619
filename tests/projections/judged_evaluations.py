"""Evaluations that a simulated judge with known error rates scored, and that people labelled, as drafts."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from events.decision import DecisionRecorded
from events.envelope import Draft
from events.evaluation import Component, EvalFinished, EvalScored, EvalStarted
from events.judge import (
    ComparedAnswer,
    CriterionVerdict,
    EvalLabelled,
    JudgeCompared,
    JudgeFacts,
    JudgeVote,
    PairVote,
    Preferred,
)
from instruments.evals.judging.label_ids import label_id_of
from tests.projections.drafts import post

DIGEST = "d" * 64


def facts(agent: str = "judge:sim", model: str = "sim-1", repeats: int = 1, prompt: str = DIGEST) -> JudgeFacts:
    return JudgeFacts(agent=agent, model=model, prompt_digest=prompt, rubric_digest=DIGEST, repeats=repeats)


QUESTION, REFERENCE = "Does it name the cause?", "The disk is full"


def digest_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def verdict(votes: Sequence[bool], decision_id: str = "d") -> CriterionVerdict:
    passed = 2 * sum(votes) > len(votes)
    cast = tuple(JudgeVote(passed=vote, confidence=0.8, reason="because") for vote in votes)
    return CriterionVerdict(
        decision_id=decision_id, passed=passed, confidence=0.8, votes=cast, question=QUESTION, reference=REFERENCE
    )


def judged(
    run: str,
    scenario: str,
    answer: str,
    verdicts: dict[str, Sequence[bool]],
    *,
    attempt: int = 1,
    judge: JudgeFacts | None = None,
    **fields: object,
) -> EvalScored:
    """A score of criteria of equal weight, each with its votes; it passes from half of the points."""
    components = []
    for name, votes in verdicts.items():
        found = verdict(votes, f"{run}-{scenario}-{attempt}-{name}"[-64:])
        points = 100.0 * found.passed
        components.append(
            Component(
                name=name, applicable=True, score=points, weight=1 / len(verdicts), passed=found.passed, verdict=found
            )
        )
    total = sum(100.0 * part.verdict.passed for part in components if part.verdict) / len(components)
    return EvalScored(
        run_id=run,
        scenario_id=scenario,
        attempt=attempt,
        state="scored",
        total_score=total,
        passed=total >= 50,
        pass_threshold=50.0,
        components=tuple(components),
        analysis=answer,
        analysis_digest=digest_of(answer),
        judge=judge or facts(),
        scorer_id="judge",
        scorer_version="1",
        **fields,  # type: ignore[arg-type]
    )


def decisions_of(score: EvalScored) -> list[Draft]:
    """The decisions that record the verdicts of a score; their agent is the judge."""
    assert score.judge is not None
    return [
        post(
            DecisionRecorded(
                decision_id=part.verdict.decision_id,
                decision=f"{part.name}: {'pass' if part.verdict.passed else 'fail'}",
                confidence=part.verdict.confidence,
            ),
            agent=score.judge.agent.replace(":", "-"),
        )
        for part in score.components
        if part.verdict is not None
    ]


def label(scenario: str, answer: str, *, passed: bool, criterion: str | None = None, run: str = "r") -> Draft:
    payload = EvalLabelled(
        label_id=label_id_of(scenario, digest_of(answer), criterion),
        run_id=run,
        scenario_id=scenario,
        attempt=1,
        analysis_digest=digest_of(answer),
        criterion=criterion,
        passed=passed,
    )
    return post(payload, agent="person")


def compared(scenario: str, *preferred: tuple[bool, Preferred]) -> Draft:
    """A pair with its votes: whether it was swapped, and the preference after undoing the swap."""
    votes = tuple(
        PairVote(swapped=swapped, preferred=better, confidence=0.7, reason="so") for swapped, better in preferred
    )
    side = ComparedAnswer(run_id="r", attempt=1, analysis_digest=DIGEST)
    payload = JudgeCompared(
        comparison_id=scenario, scenario_id=scenario, first=side, second=side, preferred="tie",
        confidence=0.6, votes=votes, judge=facts(),
        decision_id="d",
    )  # fmt: skip
    return post(payload)


@dataclass(frozen=True)
class Truth:
    """What a simulated judge does: its sensitivity and specificity, and the share of answers that are good."""

    sensitivity: float = 0.9
    specificity: float = 0.8
    rate: float = 0.6

    @property
    def kappa(self) -> float:
        """The kappa of the judge with the truth."""
        good, bad = self.rate, 1 - self.rate
        passed = good * self.sensitivity + bad * (1 - self.specificity)
        agreement = good * self.sensitivity + bad * self.specificity
        chance = passed * good + (1 - passed) * bad
        return (agreement - chance) / (1 - chance)


def simulated(truth: Truth, scenarios: int, labels: int, *, seed: int, run: str = "r", votes: int = 1) -> list[Draft]:
    """A run with one criterion: each scenario has one answer, and those of the first scenarios have labels."""
    rng = np.random.default_rng(seed)
    drafts = [post(EvalStarted(run_id=run, suite="incidents", agent="rca", agent_version="1"))]
    marks = []
    for number in range(scenarios):
        good = bool(rng.random() < truth.rate)
        chance = truth.sensitivity if good else 1 - truth.specificity
        passed = bool(rng.random() < chance)
        scenario, answer = f"s{number}", f"answer {number} of {run} " + "x" * int(rng.integers(1, 200))
        score = judged(run, scenario, answer, {"root_cause": [passed] * votes}, judge=facts(repeats=votes))
        drafts += [*decisions_of(score), post(score)]
        if number < labels:
            marks.append(label(scenario, answer, passed=good, criterion="root_cause", run=run))
    return [*drafts, post(EvalFinished(run_id=run)), *marks]

"""A payload of each type that judges and people who label answers write, with every field filled."""

import msgspec
from msgspec import structs

from events.evaluation import Component, EmbeddingsFacts, EvalScored, PatternFinding
from events.judge import (
    ComparedAnswer,
    CriterionVerdict,
    EvalLabelled,
    JudgeCompared,
    JudgeFacts,
    JudgeVote,
    PairVote,
)
from events.payload import Payload

_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

_JUDGE = JudgeFacts(
    agent="judge:example-large",
    model="Example-Large",
    reported_model="vendor/example-large-20261001",
    prompt_digest=_DIGEST,
    rubric_digest=_DIGEST,
    repeats=3,
    input_tokens=2_400,
    output_tokens=310,
    elapsed_ns=4_500_000_000,
)

_VOTES = (
    JudgeVote(passed=True, confidence=0.9, reason="It names the image", quote="the image was not found"),
    JudgeVote(passed=False, confidence=0.5, reason="No registry is named", quote="not found"),
)

JUDGING_SAMPLES: dict[str, Payload] = {
    "eval.labelled.v1": EvalLabelled(
        label_id="5c1e0f",
        run_id="night-7",
        scenario_id="job-image.llm",
        attempt=2,
        analysis_digest=_DIGEST,
        criterion="root_cause",
        passed=True,
        note="The image is the cause",
    ),
    "judge.compared.v1": JudgeCompared(
        comparison_id="7f3a",
        scenario_id="job-image.llm",
        first=ComparedAnswer(run_id="night-6", attempt=2, analysis_digest=_DIGEST),
        second=ComparedAnswer(run_id="night-7", attempt=2, analysis_digest=_DIGEST),
        preferred="second",
        confidence=0.75,
        votes=(
            PairVote(swapped=False, preferred="second", confidence=0.75, reason="It names the image"),
            PairVote(swapped=True, preferred="second", confidence=0.75, reason="It is precise"),
        ),
        judge=_JUDGE,
        decision_id="0b3c",
    ),
}
"""The payloads by event type."""


def scored_by_judge(older: Payload) -> EvalScored:
    """A score of version 3: what an older one states, and everything that version 3 adds."""
    added = Component(
        name="tone",
        applicable=True,
        score=100.0,
        weight=0.5,
        mark=50.0,
        passed=True,
        findings=(
            PatternFinding(
                expectation="tone.patterns[0]",
                pattern="calm",
                match_type="stem",
                matched=True,
                where="decision.why",
                start=3,
                end=9,
                text="calmly",
                similarity=0.5,
                note="matched by its stem",
            ),
        ),
        verdict=CriterionVerdict(
            decision_id="0b3d",
            passed=True,
            confidence=0.7,
            votes=_VOTES,
            question="Is it calm?",
            reference="No exclamation marks",
        ),
    )
    facts = EmbeddingsFacts(endpoint="localhost:8080", model="example-embed", threshold=0.75)
    read = msgspec.convert(msgspec.to_builtins(older), EvalScored)
    judged = [structs.replace(component, verdict=added.verdict) for component in read.components]
    return structs.replace(
        read,
        components=(*judged, added),
        failure="judge",
        judge=_JUDGE,
        embeddings=facts,
        retry=2,
        input_tokens=2_400,
        output_tokens=310,
        cost_usd=0.0125,
        steps=9,
        tool_calls=4,
        trace_digest=_DIGEST,
        trace_id="0af7651916cd43dd8448eb211c80319c",
        span_id="b7ad6b7169203331",
        response_id="chatcmpl-7",
    )

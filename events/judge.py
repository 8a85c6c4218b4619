"""Judges of answers: the verdicts of a language model on criteria, the labels of people, and comparisons of pairs.

A judge is an agent of the ledger. Each of its verdicts is also a decision, with its confidence; each label of a person
on the same answer and criterion is the review of that decision.
"""

from typing import Annotated, Literal

import msgspec

from events.limits import ITEMS_MAX
from events.payload import Confidence, Count, Digest, Label, Payload, PayloadPart, StreamId, StreamName, Text

AGENT_PREFIX = "judge:"
"""What the name of a judge as an agent begins with."""

Preferred = Literal["first", "second", "tie"]
"""The better one of two answers."""


class JudgeVote(PayloadPart, frozen=True, kw_only=True):
    """The verdict of one reply of a judge."""

    passed: bool
    """Whether the answer meets the criterion. Source: the judge."""
    confidence: Confidence
    """Stated probability that this verdict is right, 0..1. Source: the judge."""
    reason: Text
    """Why, in words. Source: the judge."""
    quote: str | None = None
    """The part of the answer that the verdict relies on, word for word. Source: the judge; the runner checks it."""


class CriterionVerdict(PayloadPart, frozen=True, kw_only=True):
    """The verdict of a judge on one criterion: that of most of its votes."""

    decision_id: StreamName
    """The decision that records this verdict: its agent is the judge. Source: the runner."""
    passed: bool
    """Whether the answer meets the criterion. Source: the judge."""
    confidence: Confidence
    """Probability that this verdict is right, 0..1: the mean over all votes of the probability that each gives it.
    Source: the judge."""
    votes: Annotated[tuple[JudgeVote, ...], msgspec.Meta(min_length=1, max_length=ITEMS_MAX)]
    """One vote for each repeat. Source: the judge."""
    question: Text | None = None
    """The criterion as a question, as the judge got it. Source: the scenario."""
    reference: Text | None = None
    """What a right answer says, as the judge got it. Source: the scenario."""


class JudgeFacts(PayloadPart, frozen=True, kw_only=True):
    """What judged an answer, and what that took."""

    agent: Label
    """The judge's name as an agent of this ledger. Source: the runner."""
    model: Label
    """The language model. Source: the caller of the runner."""
    reported_model: Label | None = None
    """The model that the endpoint named. Source: the endpoint."""
    prompt_digest: Digest
    """Digest of the prompt's template, which the verdict's schema is part of. Source: measured."""
    rubric_digest: Digest
    """Digest of the criteria and their weights. Source: measured."""
    repeats: Count
    """Times that the judge was asked. Source: the caller of the runner."""
    input_tokens: Count | None = None
    """Tokens of all prompts together. Source: the endpoint."""
    output_tokens: Count | None = None
    """Tokens of all replies together. Source: the endpoint."""
    elapsed_ns: Count | None = None
    """Time that the judge took, nanoseconds. Source: measured."""


class EvalLabelled(Payload, frozen=True, kw_only=True):
    """A person's label of an answer. The latest label of an answer and a criterion is used."""

    label_id: StreamId
    """Names the stream `label/ID`. It follows from the scenario, the answer and the criterion, so that a label holds
    for every run with that answer. Source: the client."""
    run_id: StreamName
    """The evaluation in which the person saw the answer. Source: the client."""
    scenario_id: StreamName
    """The scenario. Source: the client."""
    attempt: Annotated[int, msgspec.Meta(ge=1)]
    """Number of the attempt, 1-based. Source: the client."""
    analysis_digest: Digest
    """Digest of the answer. Source: measured."""
    criterion: Label | None = None
    """The criterion; absent for the answer as a whole. Source: the client."""
    passed: bool
    """Whether the answer meets the criterion, or passes as a whole. Source: the person."""
    note: Text | None = None
    """Why, in words. Source: the person."""


class ComparedAnswer(PayloadPart, frozen=True, kw_only=True):
    """One of two answers to the same scenario."""

    run_id: StreamName
    """Its evaluation. Source: the runner."""
    attempt: Annotated[int, msgspec.Meta(ge=1)]
    """Number of the attempt, 1-based. Source: the runner."""
    analysis_digest: Digest
    """Digest of the answer. Source: measured."""


class PairVote(PayloadPart, frozen=True, kw_only=True):
    """The preference in one reply of a judge."""

    swapped: bool
    """Whether the judge was shown the second answer before the first. Source: the runner."""
    preferred: Preferred
    """The better answer, after undoing the swap. Source: the judge."""
    confidence: Confidence
    """Stated probability that this preference is right, 0..1. Source: the judge."""
    reason: Text
    """Why, in words. Source: the judge."""


class JudgeCompared(Payload, frozen=True, kw_only=True):
    """The preference of a judge between two answers to the same scenario, shown in both orders."""

    comparison_id: StreamId | None = None
    """Names the stream `comparison/ID`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    scenario_id: StreamName
    """The scenario. Source: the runner."""
    first: ComparedAnswer
    """The first answer. Source: the runner."""
    second: ComparedAnswer
    """The second answer. Source: the runner."""
    preferred: Preferred
    """The better answer; a tie also where the votes of both orders disagree. Source: the judge."""
    confidence: Confidence
    """Probability that this preference is right, 0..1: the mean over all votes of the probability that each gives it.
    Source: the judge."""
    votes: Annotated[tuple[PairVote, ...], msgspec.Meta(min_length=1, max_length=ITEMS_MAX)]
    """One vote for each repeat and order. Source: the judge."""
    judge: JudgeFacts
    """What judged, and what that took. Source: the runner."""
    decision_id: StreamName
    """The decision that records this preference: its agent is the judge. Source: the runner."""

"""Answers about agents compared with each other."""

import msgspec

from tallystick.shapes.parts import Interval


class AgentSide(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's figures in a category that two agents share."""

    agent: str
    """The agent's name."""
    reviewed: int
    """Decisions that are used."""
    skill: float | None
    """As in `CalibrationScores`; None with too few reviews, or if all outcomes are alike."""


class SharedQuestions(msgspec.Struct, frozen=True, kw_only=True):
    """A category in which two agents have reviews; it does not say which agent is better."""

    category: str | None
    """The category."""
    sides: tuple[AgentSide, ...]
    """Both agents."""


class AgentPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two agents compared on the questions that both answered.

    An agent's loss on a question is the mean Brier score of its answers. `interval`, `p` and `e_value` are for this
    pair alone, and None if all questions are of one cluster.
    """

    agents: tuple[str, ...]
    """Their names."""
    paired: bool
    """Whether they share enough questions to be compared."""
    shared: int
    """How many questions they share."""
    brier_scores: tuple[float, ...] | None = None
    """Their mean Brier scores on these questions."""
    mean_difference: float | None = None
    """The first agent's score minus the second's; below 0 the first is better."""
    interval: Interval | None = None
    """The interval of the difference at one look."""
    p: float | None = None
    """The probability of such a difference between equally good agents, if these two alone are compared, once."""
    adjusted_p: float | None = None
    """`p`, corrected for the number of pairs (Benjamini and Hochberg)."""
    e_value: float | None = None
    """The evidence that the agent with the lower score is better, as odds to 1, however often one looks."""
    supported: bool | None = None
    """Whether the evidence confirms it, whatever the number of pairs and of looks."""
    clusters: int | None = None
    """How many clusters the shared questions are of, those of a single question included."""
    effective_questions: float | None = None
    """The number of independent questions that would show the difference as precisely."""
    note: str | None = None
    """Why they are not compared, or have no interval."""
    categories: tuple[SharedQuestions, ...] = ()
    """The categories that both have, if they are not compared."""


class AgentRank(msgspec.Struct, frozen=True, kw_only=True):
    """The place of an agent among those compared. An agent that is not paired may be better or worse."""

    agent: str
    """The agent's name."""
    rank: int | None
    """1 has the lowest loss; None if the agent is not paired with every other."""
    rank_interval: tuple[int, ...]
    """The ranks that the supported differences leave open."""
    worse: float | None
    """The share of the other agents whose loss is greater, 0..1."""
    worse_interval: Interval
    """The shares that the supported differences leave open."""


class AgentComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison of every two agents."""

    pairs: tuple[AgentPair, ...]
    """The pairs, by name."""
    left_out: int
    """How many agents are left out."""
    ranks: tuple[AgentRank, ...] = ()
    """The agents, the best first; none if no two are paired."""

    @property
    def compared(self) -> int:
        """The number of pairs that have a test."""
        return sum(pair.p is not None for pair in self.pairs)

"""Count how far the inputs of scenarios tell their truths apart.

Scenarios with the same input but different truths cannot all be answered right, because an agent that gets only the
input has to give the same answer each time. The truth of a scenario is its expected root cause; a scenario without one
is known by all its expectations.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

import msgspec

from instruments.evals.scenario import Scenario

_canonical = msgspec.json.Encoder(order="sorted").encode


class InputCeiling(msgspec.Struct, frozen=True, kw_only=True):
    """How many scenarios can be answered right from their inputs alone."""

    scenarios: int
    inputs: int
    """Distinct inputs: the investigation without its analysis, and the settings for the agent."""
    truths: int
    """Distinct truths."""
    ambiguous: int
    """Scenarios that share their input with a scenario of another truth."""
    answerable: int
    """The most scenarios that are right if equal inputs get equal answers, each of which names one truth."""

    @property
    def share(self) -> float:
        """`answerable` as a share of the scenarios, 0 to 1."""
        return self.answerable / self.scenarios


def measure_ceiling(scenarios: Iterable[Scenario]) -> InputCeiling:
    """Count the inputs and truths of one or more scenarios."""
    by_input: defaultdict[bytes, Counter[bytes]] = defaultdict(Counter)
    for scenario in scenarios:
        by_input[_input(scenario)][_truth(scenario)] += 1
    return InputCeiling(
        scenarios=sum(truths.total() for truths in by_input.values()),
        inputs=len(by_input),
        truths=len({truth for truths in by_input.values() for truth in truths}),
        ambiguous=sum(truths.total() for truths in by_input.values() if len(truths) > 1),
        answerable=sum(max(truths.values()) for truths in by_input.values()),
    )


def _input(scenario: Scenario) -> bytes:
    return _canonical([scenario.investigation, scenario.about.test_config])


def _truth(scenario: Scenario) -> bytes:
    expected = scenario.about.expected_outcomes
    return _canonical(expected if expected.root_cause is None else expected.root_cause)

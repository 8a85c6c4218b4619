"""The scenarios of a run: those that an expression selects, and how many of them can be answered right."""

from collections.abc import Sequence

from instruments.evals import Scenario
from instruments.evals.suite.answerable_inputs import measure_ceiling
from instruments.evals.suite.filter_expression import select
from instruments.evals.suite.loader import Suite
from ledger.errors import InvalidQuery

TITLES_SHOWN = 20
"""The most scenarios that an error lists."""


def describe_limit(scenarios: Sequence[Scenario]) -> str | None:
    """Return in words how many scenarios can be right if equal inputs get equal answers; None if all can."""
    ceiling = measure_ceiling(scenarios)
    if not ceiling.ambiguous:
        return None
    return (
        f"{ceiling.ambiguous:,} scenarios have the same input as a scenario with another truth: at most "
        f"{ceiling.answerable:,} of {ceiling.scenarios:,} ({ceiling.share:.1%}) can be answered right from the input."
    )


def select_scenarios(suite: Suite, expression: str | None) -> tuple[Scenario, ...]:
    """Return the scenarios that an expression selects; without one, all. Errors: InvalidQuery, if it selects none."""
    if expression is None:
        return suite.scenarios
    selected = select(suite.scenarios, expression)
    if not selected:
        titles = [scenario.title for scenario in suite.scenarios]
        more = f", and {len(titles) - TITLES_SHOWN} more" if len(titles) > TITLES_SHOWN else ""
        listed = f"{', '.join(titles[:TITLES_SHOWN])}{more}"
        raise InvalidQuery("-k", f"{expression!r} chooses no scenario.", f"Scenarios: {listed}.")
    return selected

"""Score the components that packages add to a scenario (`plugins.py`)."""

import msgspec

from events.evaluation import Component, PatternFinding
from instruments.evals.analysis import Analysis
from instruments.evals.plugins import COMPONENTS, PluginFailed, component_points, load_plugin
from instruments.evals.scenario import ADDED_PASS_POINTS, Scenario
from instruments.evals.scoring.component_scores import DIGITS


def score_added(scenario: Scenario, analysis: Analysis) -> list[Component]:
    """Return each added component of a scenario, without its weight. Errors: PluginFailed."""
    answer = msgspec.to_builtins(analysis)
    return [_component(name, answer, value) for name, value in scenario.about.expected_outcomes.added.items()]


def _component(name: str, answer: dict[str, object], expected: object) -> Component:
    points, findings = component_points(name, answer, expected)
    defaults = {"expectation": name, "pattern": name, "match_type": name}
    try:
        checked = tuple(msgspec.convert(defaults | finding, PatternFinding) for finding in findings)
    except msgspec.ValidationError as error:
        plugin = load_plugin(COMPONENTS, name)
        raise PluginFailed(f"the component {plugin} gave a finding that cannot be recorded: {error}") from None
    return Component(
        name=name,
        applicable=True,
        score=round(points, DIGITS),
        mark=ADDED_PASS_POINTS,
        passed=points >= ADDED_PASS_POINTS,
        findings=checked,
    )

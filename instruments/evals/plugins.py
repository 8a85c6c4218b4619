"""Match types and components that other packages add, as entry points.

A package names an object in the group `tallystick.match_types` or `tallystick.components`. The name of the entry point
is the name in `scenario.yaml`. Nothing of a package is loaded before a scenario uses such a name. Plugins run in this
process, without a time limit.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol, cast

MATCH_TYPES = "tallystick.match_types"
COMPONENTS = "tallystick.components"

_METHODS = {MATCH_TYPES: ("check", "find"), COMPONENTS: ("check", "score")}


class MatchTypePlugin(Protocol):
    """A way to search a pattern."""

    def check(self, pattern: str) -> str | None:
        """Return what is wrong with a pattern, in words; None if nothing is. Called when a scenario is loaded."""

    def find(self, pattern: str, text: str) -> tuple[int, int] | None:
        """Return the start and end of a match, in characters of the text; None without a match."""


class ComponentPlugin(Protocol):
    """A component of a score."""

    def check(self, expected: Any) -> str | None:  # noqa: ANN401 - any JSON value
        """Return what is wrong with an expectation, in words; None if nothing is. Called when a scenario is loaded."""

    def score(
        self,
        analysis: Mapping[str, Any],
        expected: Any,  # noqa: ANN401 - any JSON value
    ) -> tuple[float, Sequence[Mapping[str, Any]]]:
        """Return the points of an analysis, 0..100, and its findings.

        A finding has `matched`, and maybe `pattern`, `where`, `text` and `note`.
        """


class BadPlugin(Exception):
    """A plugin that does not exist or cannot be used; the text says why, and `advice` gives the remedy."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.advice = advice


class PluginFailed(Exception):
    """A plugin raised an exception, or returned something else than it may; the text names it."""


class Plugin(NamedTuple):
    """A loaded plugin, and the package that added it."""

    name: str
    package: str
    version: str
    part: object

    def __str__(self) -> str:
        return f"{self.name}@{self.package}-{self.version}"


def plugin_names(group: str) -> tuple[str, ...]:
    """Return the names in a group that packages add, sorted."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - only scenarios that use a plugin need it

    return tuple(sorted({point.name for point in entry_points(group=group)}))


@cache
def load_plugin(group: str, name: str) -> Plugin:
    """Load a plugin. Errors: BadPlugin, if no package or several packages add it, or if it cannot be used."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - only scenarios that use a plugin need it

    points = list(dict.fromkeys(entry_points(group=group, name=name)))
    packages = sorted({f"{point.dist.name} {point.dist.version}" for point in points if point.dist is not None})
    if not points:
        raise BadPlugin("is unknown", "Install the package that adds it.")
    if len(points) > 1:
        raise BadPlugin(f"is added by several packages: {', '.join(packages)}", "Remove all but one of them.")
    (point,) = points
    try:
        part = point.load()
        part = part() if isinstance(part, type) else part
    except Exception as error:
        problem = f"cannot be loaded from {', '.join(packages)}: {type(error).__name__}: {error}"
        raise BadPlugin(problem, "Repair or remove that package.") from error
    missing = [method for method in _METHODS[group] if not callable(getattr(part, method, None))]
    if missing:
        raise BadPlugin(f"has no function {' and no '.join(missing)} ({point.value})", "Repair that package.")
    dist = point.dist
    return Plugin(name, "unknown" if dist is None else dist.name, "0" if dist is None else dist.version, part)


def check_value(plugin: Plugin, value: object) -> str | None:
    """Return what a plugin finds wrong with a pattern or expectation; None if nothing. Never raises."""
    try:
        problem = cast("ComponentPlugin", plugin.part).check(value)
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        return f"cannot be checked by {plugin}: {type(error).__name__}: {error}"
    return None if problem is None else str(problem) or "is refused"


def find_match(name: str, pattern: str, text: str) -> tuple[int, int] | None:
    """Return the span that an added match type finds. Errors: PluginFailed."""
    plugin = load_plugin(MATCH_TYPES, name)
    try:
        span: Any = cast("MatchTypePlugin", plugin.part).find(pattern, text)
        if span is None:
            return None
        start, end = span
    except Exception as error:
        raise PluginFailed(f"the match type {plugin} failed: {type(error).__name__}: {error}") from error
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)):
        raise PluginFailed(f"the match type {plugin} found {start!r} to {end!r}, which is not in the text")
    return start, end


def component_points(name: str, analysis: Mapping[str, Any], expected: object) -> tuple[float, list[dict[str, Any]]]:
    """Return the points and the findings of an added component. Errors: PluginFailed."""
    plugin = load_plugin(COMPONENTS, name)
    try:
        points, findings = cast("ComponentPlugin", plugin.part).score(analysis, expected)
        points, found = float(points), [dict(finding) for finding in findings]
    except Exception as error:
        raise PluginFailed(f"the component {plugin} failed: {type(error).__name__}: {error}") from error
    if not 0.0 <= points <= 100.0:
        raise PluginFailed(f"the component {plugin} gave {points!r} points, which is not from 0 to 100")
    return points, found

"""The version of the scorer for a suite: its own, and that of everything else that the scores depend on.

`3 example-embed>=0.75 tone@tone-pack-1.2` means version 3, with texts compared by an embeddings model and a threshold,
and a component of a package. Scores of different versions are not compared.
"""

from collections.abc import Sequence
from typing import get_args

from events.limits import LABEL_CHARS_MAX
from instruments.evals.plugins import COMPONENTS, MATCH_TYPES, load_plugin
from instruments.evals.scenario import MatchType, Scenario
from instruments.evals.scoring.expected_patterns import match_types
from instruments.evals.scoring.semantic_matcher import SemanticMatcher
from instruments.stored_text import sha256_hex

SCORER_ID = "rca"
SCORER_VERSION = "3"

TOOLS_VERSION = "tools-1"
"""The version of the rules for tools, named where a scenario of the suite expects some."""

_DIGEST_CHARS = 12


def scorer_version(scenarios: Sequence[Scenario], matcher: SemanticMatcher | None) -> str:
    """Return the version for a suite; the order of scenarios has no effect.

    A version that is too long for a label ends with a digest of all of it.
    """
    used = {kind for scenario in scenarios for kind in match_types(scenario.about.expected_outcomes)}
    added = {name for scenario in scenarios for name in scenario.about.expected_outcomes.added}
    facts = None if matcher is None else matcher.facts
    parts = [SCORER_VERSION]
    if "semantic" in used and facts is not None:
        parts.append(f"{facts.model}>={facts.threshold:g}")
    if any(scenario.about.expected_outcomes.tools is not None for scenario in scenarios):
        parts.append(TOOLS_VERSION)
    parts += [str(load_plugin(MATCH_TYPES, name)) for name in sorted(used - {*get_args(MatchType), "word"})]
    parts += [str(load_plugin(COMPONENTS, name)) for name in sorted(added)]
    version = " ".join(parts)
    if len(version) <= LABEL_CHARS_MAX:
        return version
    return f"{version[: LABEL_CHARS_MAX - _DIGEST_CHARS - 1]}-{sha256_hex(version)[:_DIGEST_CHARS]}"

"""All probes and scorers. New ones may be added; existing ones never change under their version."""

from collections.abc import Mapping

from instruments.probes.probe import Probe, Scorer
from instruments.probes.refactor.checked_scorer import REFACTOR_GO_CHECKED, REFACTOR_PYTHON_CHECKED
from instruments.probes.text.debugging_scorer import DEBUGGING
from instruments.probes.text.summarising_scorer import SUMMARISING
from instruments.probes.text.weighting_scorer import WEIGHTING

PROBES: tuple[Probe, ...] = (DEBUGGING, REFACTOR_GO_CHECKED, REFACTOR_PYTHON_CHECKED, SUMMARISING, WEIGHTING)
"""All versions of all probes; of several versions of a probe, the newest is the last."""

FORMER_PROBE_IDS: Mapping[str, str] = {"refactor-v1": "refactor-go"}
"""Probe ids in imported runs, and the id of the same probe here. Source: reference implementation of discovery."""


def scorer_name(scorer: Scorer) -> str:
    """Return a scorer's name with its version: `debugging@1`."""
    return f"{scorer.id}@{scorer.version}"


SCORERS: Mapping[str, Scorer] = {scorer_name(scorer): scorer for probe in PROBES for scorer in probe.scorers}
"""All versions of all scorers by name with version: `debugging@1`."""


def find_probe(probe_id: str, version: str | None = None) -> Probe | None:
    """Return a probe by id, the newest version by default; None if it does not exist."""
    return next(
        (probe for probe in reversed(PROBES) if probe.id == probe_id and version in {None, probe.version}), None
    )

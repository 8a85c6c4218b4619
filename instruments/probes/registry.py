"""Every probe there is, and every scorer: both are added to, and neither ever changes under its version."""

from collections.abc import Mapping

from instruments.probes.probe import Probe, Scorer
from instruments.probes.refactor.scorer import REFACTOR_GO, REFACTOR_PYTHON
from instruments.probes.text.debugging import DEBUGGING
from instruments.probes.text.summarising import SUMMARISING
from instruments.probes.text.weighting import WEIGHTING

PROBES: tuple[Probe, ...] = (DEBUGGING, REFACTOR_GO, REFACTOR_PYTHON, SUMMARISING, WEIGHTING)
"""The probes, each version of one, the newest of an id last."""

FORMERLY: Mapping[str, str] = {"refactor-v1": "refactor-go"}
"""Ids under which imported runs asked what a probe of ours asks now. Source: reference implementation of discovery."""


def name_of(scorer: Scorer) -> str:
    """A scorer as people name it: `debugging@1`."""
    return f"{scorer.id}@{scorer.version}"


SCORERS: Mapping[str, Scorer] = {name_of(probe.scorer): probe.scorer for probe in PROBES}
"""The scorers by name and version: `debugging@1`."""


def find_probe(probe_id: str, version: str | None = None) -> Probe | None:
    """A probe by its id, the newest version where none is asked for; None where there is none."""
    return next(
        (probe for probe in reversed(PROBES) if probe.id == probe_id and version in {None, probe.version}), None
    )

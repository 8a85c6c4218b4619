"""The stored line of each published type, and what each version of a probe asks: files are added, never edited.

`python -m tests.golden` writes the files that are missing, from tests/events/samples.py and `instruments.probes`.
"""

from pathlib import Path

import msgspec

from instruments.probes import Probe

FOLDER = Path(__file__).parent
PROBES = FOLDER / "probes"


def path_of(type_: str) -> Path:
    """The golden file of a type."""
    return FOLDER / f"{type_}.json"


def path_of_probe(probe: Probe) -> Path:
    """The golden file of one version of a probe."""
    return PROBES / f"{probe.id}@{probe.version}.json"


def bytes_of_probe(probe: Probe) -> bytes:
    """What a model is given of a probe."""
    given = {"id": probe.id, "version": probe.version, "stimulus": probe.stimulus, "prompt": probe.prompt}
    return msgspec.json.format(msgspec.json.encode(given), indent=2) + b"\n"


def path_of_report(name: str) -> Path:
    """The file of a report on the evaluations in tests/api/reports/fixed_evaluations.py."""
    return FOLDER / "reports" / name

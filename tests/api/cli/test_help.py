"""--help: what an option is without being given is shown, not taken for markup."""

from pathlib import Path

import pytest

from api.service.discovery.run_types import PROBE
from tests.api.cli.command import done


@pytest.mark.parametrize(
    ("verb", "shown"),
    [
        (("decisions",), "The largest number of results.  [default: 100]"),
        (("run", "list"), "The largest number of results.  [default: 100]"),
        (("calibration",), "The length of the trend's windows, in days.  [default: 30]"),
        (("token", "add"), "[default: append, read]"),
        (("probe", "prompt"), f"The probe.  [default: {PROBE}]"),
    ],
)
def test_a_default_is_shown(tmp_path: Path, verb: tuple[str, ...], shown: str) -> None:
    assert shown in done(tmp_path / "none.db", *verb, "--help").text

"""A session with scenarios keeps the files of its suite in the ledger, unless it says no."""

import json
from pathlib import Path

import pytest

from tests.api.cli.command import done
from tests.api.pytest_plugin.test_plugin import pytest_in, suite

pytestmark = pytest.mark.slow


def test_the_files_of_the_suite_are_kept_unless_the_session_says_no(tmp_path: Path) -> None:
    suite(tmp_path)
    recorded = ("--tallystick-fixtures", "fixtures", "--tallystick-ledger")
    pytest_in(tmp_path, *recorded, "without.db", "--tallystick-no-keep-files", code=1)
    pytest_in(tmp_path, *recorded, "with.db", code=1)
    listed: list[dict[str, str]] = []
    for ledger, state in (("without.db", "not_kept"), ("with.db", "stored")):
        listed = json.loads(done(tmp_path / ledger, "eval", "suite", "list", "--json").out)["versions"]
        assert [(each["suite"], each["state"]) for each in listed] == [("fixtures", state)]
    done(tmp_path / "with.db", "eval", "suite", "save", listed[0]["last_run"], "--to", tmp_path / "saved")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == ["build", "image"]

"""What standard output cannot encode is printed as an escape."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.cli.command import done, environment
from tests.support.paths import ROOT
from tests.support.server import COMMAND

VERBS = (("decisions",), ("decision", "t-1"), ("graph", "t-1"), ("log",), ("decisions", "--json"))


@pytest.mark.slow
@pytest.mark.trial("P11")
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_character_that_the_encoding_lacks_is_an_escape(tmp_path: Path, encoding: str) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "record", "Keep the cache in \u6771\u4eac", "--agent", "s", "--id", "t-1")
    for words in VERBS:
        command = [sys.executable, "-m", COMMAND, "--ledger", str(ledger), *words]
        ended = subprocess.run(
            command, cwd=ROOT, env={**environment(), "PYTHONIOENCODING": encoding}, capture_output=True, check=False
        )
        assert (ended.returncode, ended.stderr.count(b"Traceback")) == (0, 0), words
        if words[0] in ("decisions", "decision") and "--json" not in words:
            assert b"\\u6771\\u4eac" in ended.stdout

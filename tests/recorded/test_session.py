"""The server answers the recorded session as it did when the session was recorded."""

from pathlib import Path

import msgspec
import pytest

from tests.faults.shim import unfit
from tests.recorded.difference import difference, encoded, lines_of
from tests.recorded.recorder import record
from tests.recorded.scenes import ANSWERS, SCENES

RECORDED = lines_of(ANSWERS.read_bytes()) if ANSWERS.exists() else []


@pytest.mark.slow
@pytest.mark.skipif(unfit() is not None, reason=str(unfit()))
@pytest.mark.parametrize("name", SCENES)
def test_the_server_answers_as_recorded(name: str, tmp_path: Path) -> None:
    found = lines_of(encoded(record(name, SCENES[name], tmp_path)))
    expected = [line for line in RECORDED if line.startswith(f'{{"scene":"{name}"')]
    differs = difference(expected, found)
    assert not differs, differs


def test_the_session_is_large_enough() -> None:
    lines = [msgspec.json.decode(line) for line in RECORDED]
    assert len(lines) == sum(len(scene.requests) for scene in SCENES.values()) >= 320
    assert not [line for line in lines if line["status"] >= 500 and line["scene"] not in {"limits", "damaged"}]

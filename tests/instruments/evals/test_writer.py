"""A scenario's files: readable, the same each time, read back as they were, and all there or none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from instruments.errors import FixtureExists
from instruments.evals.suite.writer import json_text, write_scenario, yaml_text

DESCRIPTION: dict[str, Any] = {
    "name": "Image pull: tag is gone",
    "family": "no",
    "failure_type": "ImagePullBackOff",
    "description": "The tag was deleted.\nThe pod waits.\n",
    "weight": 1.0,
    "expected_outcomes": {
        "root_cause": {
            "patterns": [r"(?i)tag .*\d+", "1e3", "y", "12:30", "'quoted' # not a comment"],
            "match_type": "regex",
        },
        "next_steps": {"command_types": ["kubectl"], "must_include": []},
    },
    "test_config": {"enable_llm": False, "time_window": "1h"},
}
INVESTIGATION: dict[str, Any] = {"alert": {"labels": {"alertname": "É", "a": "1"}}, "evidence": {"k8s": [1, 2.5, None]}}
NAMES = ["README.md", "investigation.json", "scenario.yaml"]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_three_files_that_read_back_as_they_were(tmp_path: Path) -> None:
    folder = tmp_path / "suite" / "image-pull"
    write_scenario(folder, DESCRIPTION, INVESTIGATION, "# Image pull\n")
    assert names(folder) == NAMES
    assert names(folder.parent) == ["image-pull"]
    assert yaml.safe_load((folder / "scenario.yaml").read_bytes()) == DESCRIPTION
    assert json.loads((folder / "investigation.json").read_bytes()) == INVESTIGATION
    assert (folder / "README.md").read_text() == "# Image pull\n"


def test_they_are_for_people() -> None:
    assert (
        yaml_text(DESCRIPTION)
        == r"""name: 'Image pull: tag is gone'
family: 'no'
failure_type: ImagePullBackOff
description: |
  The tag was deleted.
  The pod waits.
weight: 1.0
expected_outcomes:
  root_cause:
    patterns:
      - (?i)tag .*\d+
      - '1e3'
      - 'y'
      - '12:30'
      - '''quoted'' # not a comment'
    match_type: regex
  next_steps:
    command_types:
      - kubectl
    must_include: []
test_config:
  enable_llm: false
  time_window: 1h
"""
    )
    assert json_text({"b": ["É", 1.0], "a": None}) == '{\n  "b": [\n    "É",\n    1.0\n  ],\n  "a": null\n}\n'


def test_a_long_line_is_not_folded_and_what_is_shared_is_no_alias() -> None:
    shared = ["word " * 100]
    assert yaml_text({"a": shared, "b": tuple(shared)}).splitlines()[1::2] == [f"  - '{shared[0]}'"] * 2


@given(st.dictionaries(texts, values, max_size=5))
def test_whatever_stands_in_them_reads_back(value: dict[str, Any]) -> None:
    text = yaml_text(value)
    assert yaml.safe_load(text) == value
    assert yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) == value
    assert json.loads(json_text(value)) == value


@pytest.mark.parametrize("name", [*NAMES, "scenario.yml", "scenario.json"])
def test_a_fixture_that_is_there_is_not_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(FixtureExists) as caught:
        write_scenario(tmp_path, DESCRIPTION, INVESTIGATION, "")
    assert caught.value.detail == f"{tmp_path} already contains a fixture ({name})."
    assert "--force" in caught.value.advice
    assert names(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_with_force_it_is_replaced_and_other_files_stay(tmp_path: Path) -> None:
    write_scenario(tmp_path / "a", DESCRIPTION, INVESTIGATION, "old")
    (tmp_path / "a" / "manifest.yaml").write_text("mine")
    (tmp_path / "a" / "scenario.yaml").rename(tmp_path / "a" / "scenario.yml")
    write_scenario(tmp_path / "a", DESCRIPTION | {"name": "New"}, {}, "new", force=True)
    assert names(tmp_path / "a") == sorted([*NAMES, "manifest.yaml"])
    assert (tmp_path / "a" / "README.md").read_text() == "new"
    assert (tmp_path / "a" / "investigation.json").read_text() == "{}\n"
    assert yaml.safe_load((tmp_path / "a" / "scenario.yaml").read_bytes())["name"] == "New"
    assert names(tmp_path) == ["a"]


def test_a_folder_with_other_files_takes_a_fixture(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    write_scenario(tmp_path, DESCRIPTION, INVESTIGATION, "")
    assert names(tmp_path) == [*NAMES[:2], "notes.txt", NAMES[2]]


def _no_json(folder: Path) -> None:
    write_scenario(folder, DESCRIPTION, {"figure": float("nan")}, "", force=True)


def _no_text(folder: Path) -> None:
    write_scenario(folder, DESCRIPTION, INVESTIGATION, "half a pair: \ud800", force=True)


@pytest.mark.parametrize("spoilt", [_no_json, _no_text])
def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, spoilt: Callable[[Path], None]) -> None:
    with pytest.raises(ValueError, match=r"JSON|surrogates"):
        spoilt(tmp_path / "new" / "a")
    assert names(tmp_path) == []
    write_scenario(tmp_path / "a", DESCRIPTION, INVESTIGATION, "old")
    with pytest.raises(ValueError, match=r"JSON|surrogates"):
        spoilt(tmp_path / "a")
    assert (tmp_path / "a" / "README.md").read_text() == "old"
    assert names(tmp_path / "a") == NAMES
    assert names(tmp_path) == ["a"]


def test_where_one_file_cannot_be_put_in_place_the_old_ones_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_scenario(tmp_path / "a", DESCRIPTION, INVESTIGATION, "old")
    before = {name: (tmp_path / "a" / name).read_bytes() for name in NAMES}
    rename = Path.rename

    def full(self: Path, target: Path) -> Path:
        if self.parent != tmp_path / "a" and target.name == "scenario.yaml" and self.name == "scenario.yaml":
            raise OSError(28, "No space left on device", str(target))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="No space"):
        write_scenario(tmp_path / "a", {"name": "New"}, {}, "new", force=True)
    assert {name: (tmp_path / "a" / name).read_bytes() for name in NAMES} == before
    assert names(tmp_path / "a") == NAMES
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("odd", ["a file", "a folder of a file's name"])
def test_a_place_that_cannot_be_a_fixture(tmp_path: Path, odd: str) -> None:
    place = tmp_path / "a"
    if odd == "a file":
        place.write_text("mine")
    else:
        (place / "scenario.yaml").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_scenario(place, DESCRIPTION, INVESTIGATION, "", force=True)
    assert names(tmp_path) == ["a"]
    assert place.is_file() or names(place) == ["scenario.yaml"]


def test_the_folder_may_be_the_one_we_are_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_scenario(Path(), DESCRIPTION, INVESTIGATION, "")
    assert names(Path()) == NAMES

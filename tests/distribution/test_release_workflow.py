"""The workflow that publishes a release: it cannot be run here, so its rules are read from the file."""

import re
from typing import Any

import yaml

from tests.distribution.checkers import WORKFLOWS
from tests.support.paths import ROOT

TEXT = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
JOBS: dict[str, Any] = yaml.safe_load(TEXT)["jobs"]
ORDER = ["test", "build", "attest", "publish", "announce"]


def test_each_job_follows_the_one_before() -> None:
    assert list(JOBS) == ORDER
    assert "needs" not in JOBS["test"]
    assert [JOBS[name]["needs"] for name in ORDER[1:]] == ORDER[:-1]


def test_only_tags_start_it() -> None:
    assert yaml.safe_load(TEXT)[True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 reads the key `on` as true


def test_no_job_may_do_more_than_it_must() -> None:
    assert yaml.safe_load(TEXT)["permissions"] == {}
    assert {name: job["permissions"] for name, job in JOBS.items()} == {
        "test": {"contents": "read"},
        "build": {"contents": "read"},
        "attest": {"attestations": "write", "id-token": "write"},
        "publish": {"id-token": "write"},
        "announce": {"contents": "write"},
    }
    assert JOBS["publish"]["environment"]["name"] == "pypi"


def test_no_job_that_may_write_runs_code_of_the_repository() -> None:
    for name, job in JOBS.items():
        checked_out = any(step.get("uses", "").startswith("actions/checkout@") for step in job["steps"])
        assert checked_out == ("write" not in job["permissions"].values()), name


def test_no_secret_is_named_and_no_text_of_others_is_in_a_script() -> None:
    assert "secrets." not in TEXT
    assert not [step["run"] for job in JOBS.values() for step in job["steps"] if "${{" in step.get("run", "")]
    assert "password" not in TEXT


def test_every_action_is_pinned_to_a_commit_with_its_version_beside_it() -> None:
    """One version of each action in all workflows."""
    pinned: dict[str, set[str]] = {}
    for path in WORKFLOWS:
        for action, rest in re.findall(r"uses: ([^@\n]+)@(.*)", path.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[0-9a-f]{40} # v\d+\.\d+\.\d+", rest), f"{path.name}: {action}@{rest}"
            pinned.setdefault("/".join(action.split("/")[:2]), set()).add(rest)
    assert len(pinned) == 7
    assert not [action for action, versions in pinned.items() if len(versions) > 1]


def test_the_tag_must_be_the_version() -> None:
    """The step looks for files of the tag's version, as `make dist` names them."""
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    (script,) = (
        step["run"] for step in JOBS["build"]["steps"] if step.get("name") == "Compare the tag with the version"
    )
    assert version
    assert "dist/tallystick-${TAG#v}-py3-none-any.whl" in script
    assert "dist/tallystick-${TAG#v}.tar.gz" in script

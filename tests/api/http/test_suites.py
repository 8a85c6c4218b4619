"""The routes of suite versions: what they answer, media types, the past, and what they refuse."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.cli.evaluating import NAMES, evaluate, scenario, suite
from tests.api.http.posts import post
from tests.support.server import serving

KUBE = {"suite": "kube"}
"""The suite of all tests but one, which may have added another before."""


@pytest.fixture(scope="module")
def fixtures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return suite(tmp_path_factory.mktemp("fixtures") / "kube", NAMES)


@pytest.fixture(scope="module")
def client(fixtures: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A ledger with two versions of a suite."""
    ledger = tmp_path_factory.mktemp("suites") / "ledger.db"
    evaluate(ledger, fixtures, "--run", "one")
    scenario(fixtures, "node-full")
    evaluate(ledger, fixtures, "--run", "two")
    evaluate(ledger, fixtures, "--run", "three")
    with serving(ledger) as url, httpx.Client(base_url=url, timeout=None) as opened:
        yield opened


def test_versions_are_listed_in_pages_and_by_suite(client: httpx.Client) -> None:
    found = client.get("/suites", params=KUBE).json()
    assert [(each["first_run"], each["last_run"], each["runs"]) for each in found["versions"]] == [
        ("two", "three", 2),
        ("one", "one", 1),
    ]
    assert [(each["scenarios"], each["files"], each["files_stored"], each["state"]) for each in found["versions"]] == [
        (4, 8, 8, "stored"),
        (3, 6, 6, "stored"),
    ]
    page = client.get("/suites", params={**KUBE, "limit": 1}).json()
    assert (len(page["versions"]), page["total"], page["next"]) == (1, 2, 1)
    assert client.get("/suites", params={**KUBE, "limit": 1, "offset": 1}).json()["versions"] == found["versions"][1:]
    assert client.get("/suites", params={"suite": "none"}).json()["unknown_names"][0]["parameter"] == "suite"


def test_the_past_has_the_versions_of_then(client: httpx.Client) -> None:
    started = [
        event["position"] for event in client.get("/events", params={"subject": "evaluation/two"}).json()["events"]
    ]
    found = client.get("/suites", params={"as_of": started[0] - 1}).json()
    assert [each["last_run"] for each in found["versions"]] == ["one"]
    assert client.get("/suites/two", params={"as_of": started[0] - 1}).status_code == 404


def test_a_version_by_a_run_by_digests_and_by_their_beginnings(client: httpx.Client) -> None:
    version = client.get("/suites/two").json()["version"]
    for name in (version["suite_digest"], version["suite_digest"][:9], version["files_digest"], "three", "tw"):
        assert client.get(f"/suites/{name}").json()["version"] == version, name
    assert client.get("/suites/t").status_code == 404, "two runs begin with t"
    scenarios = client.get("/suites/two", params={"limit": 1, "offset": 1}).json()
    assert [each["scenario_id"] for each in scenarios["scenarios"]] == [NAMES[1]]
    assert (scenarios["total"], scenarios["next"]) == (4, 2)


def test_a_scenario_has_its_texts_expectations_and_files(client: httpx.Client, fixtures: Path) -> None:
    found = client.get("/suites/one/scenarios/image-pull").json()
    assert (found["scenario"]["name"], found["scenario"]["family"]) == ("hush-image-pull", "hush-family")
    assert found["expected"] == {"root_cause": {"patterns": ["cause of image-pull"], "match_type": "substring"}}
    texts = {each["path"]: each["text"] for each in found["files"]}
    for path in ("image-pull/scenario.json", "image-pull/investigation.json"):
        assert texts[path] == (fixtures / path).read_text()
        answer = client.get("/suites/one/file", params={"path": path})
        assert answer.content == (fixtures / path).read_bytes()
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["cache-control"] == "private, no-store"


def test_two_versions_are_compared(client: httpx.Client) -> None:
    found = client.get("/suites/compare", params={"baseline": "one", "candidate": "three"}).json()
    assert (found["added"], found["removed"], found["changed"], found["unchanged"]) == (["node-full"], [], [], 3)


def test_what_is_wrong_is_refused(client: httpx.Client) -> None:
    for path in ("/suites/none", "/suites/one/scenarios/none", "/suites/one/file?path=../secret"):
        assert client.get(path).status_code == 404, path
    for path in ("/suites/one/file", "/suites/compare?baseline=one", "/suites?limit=0", "/suites/one?offset=-1"):
        assert client.get(path).status_code == 400, path


def test_a_run_that_names_other_evidence_as_its_files_is_refused_alone(client: httpx.Client) -> None:
    digest = client.put("/evidence", content=b'{"../x/scenario.yaml": "1"}').json()["digest"]
    data = {"run_id": "evil", "suite": "evil", "suite_digest": "e" * 64, "suite_files_digest": digest}
    post(client, {"type": "eval.started.v2", "data": data})
    answer = client.get("/suites/evil")
    assert answer.status_code == 422
    assert "the list of its files" in answer.json()["detail"]
    assert client.get("/suites/one").status_code == 200
    listed = client.get("/suites").json()["versions"]
    assert [each["state"] for each in listed if each["suite"] == "evil"] == ["unusable"]

"""Pages of suite versions: lists, files as they were, hostile and long texts, erased files, and runs without files."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from tests.api.cli.command import done
from tests.api.cli.evaluating import NAMES, evaluate, scenario, suite
from tests.api.http.posted_evaluations import finished, scored, started
from tests.api.http.posts import post
from tests.api.pages.page_requests import read_page
from tests.api.reports.hostile import TEXTS
from tests.support.server import serving

SUITES = "/ui/evaluations/suites"
HOSTILE = "".join(text.encode("utf-8", "ignore").decode().replace("\x00", "") for text in TEXTS)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A ledger with a run of a suite whose texts are hostile and long, and one of which a file was erased."""
    folder = tmp_path_factory.mktemp("suites")
    ledger = folder / "ledger.db"
    fixtures = suite(folder / "kube", NAMES)
    scenario(fixtures, "hostile", description=HOSTILE[:2_000])
    investigation = {"evidence": {"log": HOSTILE, "more": "&" * 200_000}}
    (fixtures / "hostile" / "investigation.json").write_text(json.dumps(investigation), encoding="utf-8")
    evaluate(ledger, fixtures, "--run", "one")
    done(ledger, "evidence", "erase", _digest(fixtures / "crash-loop" / "scenario.json"), "--reason", "<b>", "--yes")
    with serving(ledger) as url, httpx.Client(base_url=url, timeout=None) as opened:
        post(opened, [started("bare", "kube"), scored("bare", "x", 90), finished("bare")])
        digest = {"suite_digest": "d" * 64}
        post(opened, [started("old", "old", **digest), scored("old", "x", 90), finished("old")])
        yield opened


def _digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def test_versions_are_listed_and_a_run_links_to_its_own(client: httpx.Client) -> None:
    texts = read_page(client, SUITES).root.text
    assert "7 of 8" in texts
    assert "not kept" in texts
    run = client.get("/ui/evaluations/one").text
    assert f'href="{SUITES}/one"' in run
    assert f'href="{SUITES}/' not in client.get("/ui/evaluations/bare").text
    scenario_page = client.get("/ui/evaluations/one/scenarios/image-pull").text
    assert f'href="{SUITES}/one/scenarios/image-pull"' in scenario_page


def test_a_version_shows_its_scenarios_and_what_was_erased(client: httpx.Client) -> None:
    page = read_page(client, f"{SUITES}/one")
    assert "hush-image-pull" in page.root.text
    assert "scenario.json erased" in page.root.text
    erased = read_page(client, f"{SUITES}/one/scenarios/crash-loop")
    assert "Erased: <b>" in erased.root.text
    assert "cause of crash-loop" in erased.root.text, "the other file is shown"


def test_the_files_of_a_scenario_are_shown_escaped_and_shortened(client: httpx.Client) -> None:
    page = read_page(client, f"{SUITES}/one/scenarios/hostile")
    assert "Shortened here" in page.root.text
    plain = read_page(client, f"{SUITES}/one/scenarios/image-pull")
    assert '"patterns": ["cause of image-pull"]' in plain.root.text
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in plain.elements}, "no text became markup"
    link = next(each["href"] for each in plain.attributes_of("a") if "/file?" in each["href"])
    assert b"cause of image-pull" in client.get(link).content


def test_a_run_without_files_says_so(client: httpx.Client) -> None:
    for address in (f"{SUITES}/old", f"{SUITES}/old/scenarios/x"):
        assert "are not in the ledger" in read_page(client, address).root.text
    for address in (f"{SUITES}/bare", f"{SUITES}/none", f"{SUITES}/one/scenarios/none"):
        read_page(client, address, 404)

"""A page that is not computed yet says so at once, and is shown when it is computed; an error with its status."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import httpx
import pytest
from selenium.webdriver.common.by import By

from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.http.posts import LINES, ndjson, recorded, reviewed
from tests.api.pages import served_without_wait
from tests.api.pages.browser import WAIT, Browser, browsing, needs_browser
from tests.api.pages.html_page import HtmlPage
from tests.sdks.conftest import path_with
from tests.support.server import Served, served

pytestmark = pytest.mark.slow

MODULE = served_without_wait.__name__

AT_ONCE: Mapping[str, str] = {"prefer": "wait=0"}
"""The header of a request that does not wait, as those of browsers; the others here do."""

DECISIONS = 30

ADDRESSES = (
    "/ui", "/ui/decisions", "/ui/decisions?agent=claude&limit=10", "/ui/decisions/d-3", "/ui/reviews",
    "/ui/calibration", "/ui/calibration?part=drift", "/ui/models", "/ui/models/runs", "/ui/evaluations",
    "/ui/evaluations/scoreboard", "/ui/log", "/ui/log/3", "/ui/proof", "/ui/operate", "/ui/decisions?as_of=20",
    "/ui/calibration?as_of=20", "/ui/reviews?sample=true&size=3&seed=7&drawn_at=20",
)  # fmt: skip


def post(client: httpx.Client, *numbers: int) -> None:
    """Record and review decisions."""
    events = [event for number in numbers for event in (recorded(f"d-{number}"), reviewed(f"d-{number}", "success"))]
    assert client.post("/events", content=ndjson(events), headers=LINES).status_code == 201


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("unfinished") / "ledger.db", module=MODULE) as server:
        with httpx.Client(base_url=server.url, timeout=None) as client:
            post(client, *range(DECISIONS))
        yield server


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=None) as client:
        yield client


def head(client: httpx.Client) -> int:
    """The newest position."""
    position: int = client.get("/events?limit=1&order=desc").json()["head"]
    return position


def is_whole(response: httpx.Response) -> bool:
    """Whether a response is a page itself, and no page says that it is being computed."""
    return "data-unfinished-page" not in response.text


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_is_first_unfinished_and_then_whole(client: httpx.Client, address: str) -> None:
    first = client.get(address, headers=AT_ONCE)
    assert first.status_code == 200
    assert not is_whole(first)
    page = HtmlPage(first.text)
    events = 20 if "as_of" in address else head(client)
    assert f"being computed from the {events:,} events up to position {events:,}." in page.text
    assert f"As of position {events:,}." in page.text
    assert {"/ui/decisions", "/ui/calibration"} <= set(page.addresses)
    assert "Load the page again." in page.text
    whole = client.get(address)
    assert whole.status_code == 200
    assert is_whole(whole)
    assert f"As of position {events:,}." in HtmlPage(whole.text).text


def test_the_filters_are_shown(client: httpx.Client) -> None:
    page = HtmlPage(client.get("/ui/decisions?agent=a%3Cb%3E&as_of=7", headers=AT_ONCE).text)
    assert "agent a<b>" in page.text
    assert "from the 7 events up to position 7." in page.text


def test_what_was_computed_meanwhile_is_shown_at_once(client: httpx.Client) -> None:
    address = "/ui/decisions?agent=claude&as_of=11"
    assert not is_whole(client.get(address, headers=AT_ONCE))
    while not is_whole(client.get(address, headers=AT_ONCE)):
        sleep(0.01)


def test_requests_of_one_page_share_it(client: httpx.Client) -> None:
    address = "/ui/calibration?as_of=13"
    with ThreadPoolExecutor(8) as pool:
        texts = {answer.text for answer in pool.map(client.get, [address] * 8)}
    assert len(texts) == 1


def test_a_later_event_is_not_missed_silently(client: httpx.Client) -> None:
    address = "/ui/decisions?limit=5"
    client.get(address, headers=AT_ONCE)
    client.get(address)
    before = head(client)
    assert is_whole(client.get(address, headers=AT_ONCE))
    post(client, 1_000)
    earlier = client.get(address, headers=AT_ONCE)
    assert not is_whole(earlier)
    text = HtmlPage(earlier.text).text
    assert f"As of position {before:,}, computed at 20" in text
    assert "this page is being computed again." in text
    assert "d-1000" not in earlier.text
    assert "data-live" not in earlier.text
    current = client.get(address)
    assert is_whole(current)
    assert "d-1000" in current.text
    assert f"As of position {before + 2:,}." in HtmlPage(current.text).text


@pytest.mark.parametrize(
    ("address", "status"),
    [("/ui/decisions/nothing", 404), ("/ui/decisions?sort=colour", 400), ("/ui/calibration?as_of=soon", 400)],
)
def test_an_error_is_shown_with_its_status(client: httpx.Client, address: str, status: int) -> None:
    client.get(address, headers=AT_ONCE)
    for headers in (WAIT, AT_ONCE):
        answer = client.get(address, headers=headers)
        while answer.status_code == 200:
            assert not is_whole(answer)
            answer = client.get(address, headers=headers)
        assert answer.status_code == status
        assert "This cannot be shown" in answer.text


def test_an_unknown_parameter_is_refused_at_once(client: httpx.Client) -> None:
    assert client.get("/ui/decisions?colour=red", headers=AT_ONCE).status_code == 400


def test_a_drawing_waits(client: httpx.Client) -> None:
    drawing = client.get("/ui/calibration/figures/curve.svg", headers=AT_ONCE)
    assert drawing.headers["content-type"].startswith("image/svg+xml")


def test_a_head_request_is_answered_like_a_get(client: httpx.Client) -> None:
    answer = client.head("/ui/models?as_of=9", headers=AT_ONCE)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["cache-control"] == "no-store"


def test_a_page_is_not_shared_with_other_rights(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    tokens = TokenStore(ledger)
    secrets = [
        tokens.add("claude", ("read",), system_clock())[1],
        tokens.add("claude", ("append", "read"), system_clock())[1],
        tokens.add("claude", ("append", "read"), system_clock(), review="none")[1],
    ]
    with served(ledger, module=MODULE) as server, httpx.Client(base_url=server.url, timeout=None) as client:
        for secret in secrets:
            client.headers["authorization"] = f"Bearer {secret}"
            assert not is_whole(client.get("/ui/operate", headers=AT_ONCE))
            assert is_whole(client.get("/ui/operate"))


def test_a_server_stops_while_a_page_is_computed(tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db", module=MODULE) as server:
        with httpx.Client(base_url=server.url, timeout=None) as client:
            post(client, *range(100))
            for address in ADDRESSES:
                client.get(address, headers=AT_ONCE)
        assert server.stop() == 0


@pytest.fixture(scope="module")
def browser(server: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(server.url, tmp_path_factory.mktemp("profile"), waits=False) as browser:
        yield browser


def wait_until_whole(browser: Browser) -> None:
    while browser.driver.find_elements(By.CSS_SELECTOR, "[data-unfinished-page]"):
        sleep(0.02)


@needs_browser
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_comes_by_itself(browser: Browser, address: str) -> None:
    browser.driver.get("about:blank")
    length = browser.driver.execute_script("return history.length")
    browser.open(address)
    wait_until_whole(browser)
    assert browser.driver.current_url == browser.url + address
    assert browser.driver.execute_script("return history.length") == length + 1
    assert browser.driver.execute_script("return document.querySelectorAll('body').length") == 1
    browser.check()


@needs_browser
def test_a_page_that_came_by_itself_works(browser: Browser) -> None:
    browser.open("/ui/decisions?limit=20")
    wait_until_whole(browser)
    while browser.driver.find_element(By.ID, "live").text != "live":
        sleep(0.02)
    with httpx.Client(base_url=browser.url, timeout=None) as client:
        post(client, 2_000)
    while "d-2000" not in browser.driver.page_source:
        sleep(0.02)
    browser.driver.find_element(By.TAG_NAME, "body").send_keys("jj")
    assert browser.driver.switch_to.active_element.get_attribute("class") == "open"
    browser.check()


@needs_browser
def test_an_error_comes_by_itself(browser: Browser) -> None:
    browser.driver.get(browser.url + "/ui/decisions/nothing")
    while browser.driver.title != "This cannot be shown · Tallystick":
        sleep(0.02)
    assert "nothing" in browser.driver.find_element(By.ID, "content").text
    browser.check()


@needs_browser
def test_the_script_of_a_page_is_loaded_with_it(browser: Browser) -> None:
    browser.open("/ui/proof?position=3")
    wait_until_whole(browser)
    assert browser.driver.find_elements(By.CSS_SELECTOR, "head script[src*='receipt.js']")
    browser.check()


@needs_browser
def test_a_page_comes_without_scripts_when_it_is_loaded_again(browser: Browser) -> None:
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    browser.driver.get(browser.url + "/ui/calibration?as_of=17")
    while browser.driver.find_elements(By.CSS_SELECTOR, "[data-unfinished-page]"):
        browser.driver.refresh()
    browser.command("Emulation.setScriptExecutionDisabled", value=False)
    browser.check()


def test_an_unfinished_page_is_valid(
    client: httpx.Client, page_rules: Path, python_environment: Path, tmp_path: Path
) -> None:
    page = tmp_path / "unfinished.html"
    page.write_text(client.get("/ui/calibration?as_of=19&agent=claude", headers=AT_ONCE).text, encoding="utf-8")
    program = page_rules / "node_modules/.bin/html-validate"
    command = [str(program), "--config", str(page_rules / ".htmlvalidate.json"), "--formatter", "json", str(page)]
    environment = {"PATH": path_with(python_environment)}
    done = subprocess.run(command, cwd=page_rules, env=environment, capture_output=True, check=False)
    assert json.loads(done.stdout or b"[]") == [], done.stdout

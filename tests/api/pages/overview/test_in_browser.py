"""The overview and the page about the server in a browser: live, by keyboard, and on a phone."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.api.http.posts import LINES, ndjson, recorded, reviewed
from tests.api.pages.browser import DESKTOP, PHONE, Browser, browsing, needs_browser
from tests.support.server import Served, served

pytestmark = [pytest.mark.slow, needs_browser]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A ledger of two agents; `busy` has more decisions."""
    with served(tmp_path_factory.mktemp("live") / "ledger.db") as running:
        events = [
            {**event, "source": f"/agents/{agent}"}
            for agent, decisions in (("busy", 80), ("calm", 30))
            for number in range(decisions)
            for event in (recorded(f"{agent}-{number}"), reviewed(f"{agent}-{number}", "success"))
        ]
        assert httpx.post(f"{running.url}/events", content=ndjson(events), headers=LINES).status_code == 201
        yield running


@pytest.fixture(scope="module")
def browser(server: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(server.url, tmp_path_factory.mktemp("profile")) as driven:
        yield driven


def part(browser: Browser, name: str) -> str:
    """The text of a part of the page."""
    return browser.driver.find_element(By.CSS_SELECTOR, f'[data-part="{name}"]').text


def leave(browser: Browser) -> None:
    """Leave the pages of a server."""
    browser.driver.get("about:blank")
    browser.check()


def wait_for(browser: Browser, name: str, text: str) -> None:
    """Wait until a part of the page has a text."""
    browser.wait_until(lambda: text in part(browser, name))
    browser.check()


def keys(browser: Browser, *pressed: str) -> None:
    """Press keys wherever the focus is."""
    for key in pressed:
        browser.driver.switch_to.active_element.send_keys(key)


def test_a_new_event_appears_without_loading_the_page(browser: Browser, server: Served) -> None:
    browser.open("/ui")
    wait_for(browser, "contents", "220")
    browser.driver.execute_script("window.loadedOnce = true")
    assert httpx.post(f"{server.url}/events", json=recorded("new", decision="Try it")).status_code == 201
    wait_for(browser, "contents", "221")
    wait_for(browser, "waiting", "1 decision has no outcome")
    assert browser.driver.execute_script("return window.loadedOnce") is True


def test_the_first_event_of_an_empty_ledger_fills_the_page(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db") as empty:
        other = Browser(browser.driver, empty.url)
        leave(browser)
        other.open("/ui")
        assert "tallystick record" in part(other, "contents")
        assert not other.driver.find_elements(By.CSS_SELECTOR, "table")
        other.wait_until(lambda: other.driver.find_element(By.ID, "live").text == "live")
        assert httpx.post(f"{empty.url}/events", json=recorded("first")).status_code == 201
        other.wait_until(lambda: other.driver.find_elements(By.CSS_SELECTOR, "table.agents"))
        other.check()
        leave(other)


def test_what_is_unfinished_comes_by_itself(browser: Browser) -> None:
    browser.open("/ui?window=30d")
    browser.wait_until(lambda: not browser.driver.find_elements(By.CSS_SELECTOR, "[data-unfinished]"))
    assert len(browser.driver.find_elements(By.CSS_SELECTOR, "svg.spark")) == 2
    browser.check()


def test_an_agent_and_a_section_are_opened_by_keys(browser: Browser) -> None:
    browser.open("/ui")
    keys(browser, "j", "j")
    assert browser.driver.switch_to.active_element.text == "calm"
    keys(browser, "k", Keys.ENTER)
    assert browser.driver.current_url.endswith("/ui/calibration?agent=busy")
    browser.open("/ui")
    sections = browser.driver.find_elements(By.CSS_SELECTOR, ".top nav a")
    keys(browser, "g", str(len(sections)))
    assert browser.driver.current_url.endswith("/ui/operate")
    browser.check()


@pytest.mark.parametrize("address", ["/ui", "/ui?window=30d", "/ui/operate"])
def test_no_page_is_wider_than_the_screen(browser: Browser, address: str, tmp_path: Path) -> None:
    for size in (DESKTOP, PHONE):
        for scheme in ("light", "dark"):
            browser.resize(size)
            browser.prefer(scheme)
            browser.open(address)
            width = browser.driver.execute_script("return document.documentElement.scrollWidth")
            assert width <= size[0]
            picture = tmp_path / f"{scheme}.png"
            browser.screenshot(picture)
            assert picture.stat().st_size > 10_000
    browser.resize(DESKTOP)


def test_a_figure_is_explained_on_focus(browser: Browser) -> None:
    browser.open("/ui")
    term = browser.driver.find_element(By.XPATH, "//button[.='Accuracy']")
    tip = browser.driver.find_element(By.XPATH, "//button[.='Accuracy']/following-sibling::span")
    assert not tip.is_displayed()
    while browser.driver.switch_to.active_element != term:
        keys(browser, Keys.TAB)
    assert tip.is_displayed()
    assert "the mean outcome of reviewed decisions" in tip.text

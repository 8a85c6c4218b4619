"""The pages of evaluations in a real browser: no violation of the policy, the keyboard alone, and a live run."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.api.http.posted_evaluations import FIXTURE, component, failed, finished, scored, started
from tests.api.http.posts import post
from tests.api.pages.browser import DESKTOP, PHONE, Browser, browsing, needs_browser
from tests.support.server import serving

pytestmark = [pytest.mark.slow, needs_browser]

WAIT_S = 600

PATHS = (
    "/ui/evaluations", "/ui/evaluations/new", "/ui/evaluations/new/scenarios/s1", "/ui/evaluations/scenarios/s1",
    "/ui/evaluations/compare", "/ui/evaluations/compare?baseline=old&candidate=new", "/ui/evaluations/scoreboard",
)  # fmt: skip


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with two runs that ended."""
    with serving(tmp_path_factory.mktemp("served") / "ledger.db") as address:
        with httpx.Client(base_url=address, timeout=None) as client:
            for run, shift in (("old", 0), ("new", 30)):
                parts = [component(("root_cause.patterns[0]", "limit", shift > 0), score=40 + shift)]
                post(client, [
                    started(run, "incidents", agent="rca", agent_version=run, attempts=2),
                    *(scored(run, f"s{n}", 40 + (n * 7 + shift) % 60, attempt=attempt, components=parts,
                             fixture_digest=FIXTURE) for n in range(40) for attempt in (1, 2)),
                    failed(run, "broken", failure="crash", detail="exit 3", said="boom"), finished(run),
                ])  # fmt: skip
        yield address


@pytest.fixture(scope="module")
def browser(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(url, tmp_path_factory.mktemp("profile")) as started_browser:
        yield started_browser


def key(browser: Browser, *keys: str) -> None:
    """Press keys wherever the focus is."""
    browser.driver.switch_to.active_element.send_keys(*keys)


def choose(browser: Browser, name: str, run: str) -> None:
    """Go to the column of the baseline or the candidate, and choose a run there."""
    driver = browser.driver
    while driver.switch_to.active_element.get_attribute("name") != name:
        key(browser, Keys.TAB)
    while driver.switch_to.active_element.get_attribute("value") != run:
        key(browser, Keys.ARROW_DOWN)
    key(browser, Keys.SPACE)
    assert driver.switch_to.active_element.is_selected()
    assert driver.switch_to.active_element.get_attribute("name") == name


def arrive(browser: Browser, part: str) -> None:
    """Wait until the address has a part."""
    WebDriverWait(browser.driver, WAIT_S).until(lambda driver: part in driver.current_url)


@pytest.mark.parametrize("path", PATHS)
def test_every_page_keeps_the_policy_and_fits_a_phone(browser: Browser, path: str) -> None:
    for size in (DESKTOP, PHONE):
        browser.resize(size)
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            browser.open(path)
            assert browser.driver.execute_script("return document.documentElement.scrollWidth") <= size[0]
    browser.resize(DESKTOP)


def test_two_runs_are_compared_with_the_keyboard_alone(browser: Browser) -> None:
    browser.open("/ui/evaluations")
    choose(browser, "baseline", "old")
    choose(browser, "candidate", "new")
    key(browser, Keys.ENTER)
    arrive(browser, "/compare?")
    assert "new against old" in browser.driver.title
    key(browser, "j")
    assert browser.driver.switch_to.active_element.get_attribute("class") == "open"
    key(browser, Keys.ENTER)
    arrive(browser, "/scenarios/")
    browser.check()


def test_a_run_is_opened_and_its_scenarios_are_chosen(browser: Browser) -> None:
    browser.open("/ui/evaluations/new")
    browser.driver.find_element(By.CSS_SELECTOR, "select[name=verdict]").send_keys("failing")
    arrive(browser, "verdict=failing")
    chips = browser.driver.find_elements(By.CSS_SELECTOR, ".results .chip")
    assert {chip.text for chip in chips} == {"failing"}
    browser.open("/ui/evaluations/new")
    key(browser, "c")
    arrive(browser, "baseline=latest")
    assert "new against old" in browser.driver.title
    browser.check()


def test_a_run_that_goes_on_is_followed(browser: Browser, url: str) -> None:
    with httpx.Client(base_url=url, timeout=None) as client:
        post(client, [started("going", "incidents", scenarios=2), scored("going", "first", 90)])
        browser.open("/ui/evaluations/going")
        WebDriverWait(browser.driver, WAIT_S).until(lambda driver: driver.find_element(By.ID, "live").text == "live")
        assert "1 of 2 attempts are recorded" in browser.driver.find_element(By.TAG_NAME, "main").text
        post(client, [scored("going", "second", 10), finished("going")])
        WebDriverWait(browser.driver, WAIT_S).until(
            lambda driver: "second" in driver.find_element(By.CSS_SELECTOR, "[data-part=scenarios]").text
        )
        assert "has not ended" not in browser.driver.find_element(By.TAG_NAME, "main").text
    browser.check()


def test_drawings_have_files(browser: Browser, tmp_path: Path) -> None:
    for path in ("/ui/evaluations/scoreboard", "/ui/evaluations/scenarios/s1"):
        browser.open(path)
        address = browser.driver.find_element(By.CSS_SELECTOR, ".figure .actions a").get_attribute("href")
        assert address is not None
        browser.open(address.removeprefix(browser.url))
        assert browser.driver.find_elements(By.CSS_SELECTOR, "svg desc")

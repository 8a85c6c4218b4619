"""The pages of models in a real browser: live runs, keys, narrow screens, nothing from elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.api.http.discovery_agent import Asker, model
from tests.api.http.posts import fresh
from tests.api.pages.browser import DESKTOP, PHONE, Browser, browsing, needs_browser
from tests.support.server import Served

pytestmark = [pytest.mark.slow, needs_browser]

WAIT_S = 600


@pytest.fixture(scope="module")
def client(served_client: httpx.Client) -> httpx.Client:
    """A client of the server that the browser asks."""
    return served_client


@pytest.fixture(scope="module")
def browser(server: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(server.url, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def runs(client: httpx.Client) -> list[str]:
    """Runs that found models, the first with a name that fills any line."""
    agent, ids = Asker(client), []
    for name in (f"{fresh()}-{'w' * 200}", "model-a", "model-b"):
        run = agent.begin(router=f"router-{'r' * 100}")["run_id"]
        agent.respond(run, model(name, reported_model="model-c"))
        agent.respond(run, model("model-c", tokens_used=7))
        ids.append(run)
    return ids


def press(browser: Browser, *keys: str) -> None:
    for key in keys:
        browser.driver.switch_to.active_element.send_keys(key)


def wait_for(browser: Browser, text: str) -> None:
    body = "return document.body.innerText"
    WebDriverWait(browser.driver, WAIT_S).until(lambda driver: text in driver.execute_script(body))


def test_a_run_is_live_until_it_ends(browser: Browser, client: httpx.Client) -> None:
    agent = Asker(client)
    run = agent.begin()["run_id"]
    browser.open(f"/ui/models/runs/{run}")
    wait_for(browser, "live")
    wait_for(browser, "No attempt yet.")
    agent.respond(run, model("model-new", work="the first answer"))
    wait_for(browser, "Attempt 1")
    wait_for(browser, "the first answer")
    agent.ask("POST", f"/discovery/{run}/finish", {"reason": "seen enough"})
    wait_for(browser, "seen enough")
    browser.check()


def test_keys_open_a_model_a_run_and_its_attempts(browser: Browser, runs: list[str]) -> None:
    browser.open("/ui/models/runs")
    press(browser, "j", Keys.ENTER)
    wait_for(browser, "Models identified")
    press(browser, "j", Keys.ENTER)
    wait_for(browser, "Prompt")
    assert browser.driver.current_url.endswith("/attempts/1")
    press(browser, "n")
    WebDriverWait(browser.driver, WAIT_S).until(lambda driver: driver.current_url.endswith("/attempts/2"))
    press(browser, "p")
    WebDriverWait(browser.driver, WAIT_S).until(lambda driver: driver.current_url.endswith("/attempts/1"))
    browser.open("/ui/models")
    press(browser, "j", "j", "k", Keys.ENTER)
    wait_for(browser, "What supports it")
    browser.check()


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_no_page_is_wider_than_the_screen(browser: Browser, runs: list[str], size: tuple[int, int]) -> None:
    browser.resize(size)
    paths = ["/ui/models", "/ui/models?model=model-c", "/ui/models?list=contradictions", "/ui/models/runs"]
    paths += ["/ui/models/probes", *(f"/ui/models/runs/{runs[0]}{end}" for end in ("", "/attempts/1", "/attempts/2"))]
    for path in paths:
        browser.open(path)
        width = browser.driver.execute_script("return document.documentElement.scrollWidth")
        assert width <= size[0], (path, width)
    browser.resize(DESKTOP)


def test_a_drawing_is_saved_and_its_file_has_its_style(browser: Browser, runs: list[str], tmp_path: Path) -> None:
    browser.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.open("/ui/models/probes")
    browser.driver.find_element(By.CSS_SELECTOR, ".save-png").send_keys(Keys.ENTER)
    WebDriverWait(browser.driver, WAIT_S).until(lambda _: list(tmp_path.glob("*.png")))
    (saved,) = tmp_path.glob("*.png")
    assert saved.read_bytes().startswith(b"\x89PNG")
    address = browser.driver.find_element(By.CSS_SELECTOR, ".actions a").get_attribute("href")
    assert address is not None
    browser.open(address.removeprefix(browser.url))
    style = browser.driver.execute_script("return getComputedStyle(document.querySelector('.subject')).fontSize")
    assert style == "26px"

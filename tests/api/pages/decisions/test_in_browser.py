"""Pages of decisions in a real browser: tasks by keyboard alone, new events without a reload, and phones."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.api.http.posts import get, recorded, reviewed, thought
from tests.api.http.posts import post as append
from tests.api.pages.browser import DESKTOP, PHONE, Browser, browsing, needs_browser
from tests.api.pages.decisions.test_decision import HOSTILE, RICH
from tests.support.server import serving

pytestmark = [pytest.mark.slow, needs_browser]

PATIENCE_S = 600.0


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("browsed") / "ledger.db") as served:
        yield served


@pytest.fixture(scope="module")
def browser(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(url, tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=None) as connected:
        append(connected, recorded("rich", **RICH))
        append(connected, recorded("hostile", decision=HOSTILE, context=HOSTILE, tags=[HOSTILE]))
        for source, target in (("rich", "hostile"), ("hostile", "rich"), ("rich", "elsewhere")):
            link = {"source_id": source, "target_id": target, "edge_type": "relates_to"}
            append(connected, {"type": "decision.linked.v1", "data": link})
        append(connected, reviewed("rich", "partial", actual_result=HOSTILE))
        yield connected


def press(browser: Browser, *keys: str) -> None:
    """Press keys, one after another, wherever the focus is."""
    for key in keys:
        browser.driver.switch_to.active_element.send_keys(key)


def wait_for(browser: Browser, text: str) -> None:
    """Wait until the page shows a text."""
    shows = f"return document.body.innerText.includes({text!r})"
    WebDriverWait(browser.driver, PATIENCE_S).until(lambda driver: driver.execute_script(shows))


def test_a_decision_is_found_and_reviewed_by_keyboard_alone(browser: Browser, client: httpx.Client) -> None:
    for name in ("otter", "heron"):
        append(client, recorded(f"find-{name}", decision=f"Move the {name} pond"))
    browser.open("/ui")
    press(browser, "/", *"heron pond", Keys.ENTER)
    wait_for(browser, "1 decision.")
    press(browser, "j", Keys.ENTER)
    wait_for(browser, "no review yet")
    browser.check()
    summary = browser.driver.find_element(By.CSS_SELECTOR, ".review-box summary")
    while browser.driver.switch_to.active_element != summary:
        press(browser, Keys.TAB)
    press(browser, Keys.ENTER, "3", Keys.TAB, *"It dried up.")
    browser.driver.switch_to.active_element.send_keys(Keys.CONTROL, Keys.ENTER)
    wait_for(browser, "It dried up.")
    browser.check()
    review = get(client, "/decisions/find-heron")["review"]
    assert (review["outcome"], review["actual_result"]) == ("failure", "It dried up.")


def test_the_queue_is_worked_through_by_keyboard_alone(browser: Browser, client: httpx.Client) -> None:
    names = [f"queue-{number}" for number in range(4)]
    for name in names:
        append(client, recorded(name, decision=f"decide {name}") | {"source": "/agents/queued"})
    browser.open("/ui/reviews?agent=queued")
    wait_for(browser, "4 left to review")
    for left, key in ((3, "1"), (2, "4")):
        press(browser, "2", key)
        browser.driver.switch_to.active_element.send_keys(Keys.CONTROL, Keys.ENTER)
        wait_for(browser, f"{left} left to review")
        browser.check()
    press(browser, "s")
    wait_for(browser, "1 skipped")
    press(browser, "3", Keys.TAB, Keys.TAB, *"learned s 1 2")
    browser.driver.switch_to.active_element.send_keys(Keys.CONTROL, Keys.ENTER)
    wait_for(browser, "but what was skipped")
    browser.check()
    states = [get(client, f"/decisions/{name}").get("review", {}) for name in names]
    assert [state.get("outcome") for state in states] == ["success", "abandoned", None, "failure"]
    assert states[3]["lessons"] == "learned s 1 2"


def test_the_page_of_a_decision_shows_its_new_events(browser: Browser, client: httpx.Client) -> None:
    append(client, recorded("lively", decision="Watch this one"))
    browser.open("/ui/decisions/lively")
    WebDriverWait(browser.driver, PATIENCE_S).until(lambda driver: driver.find_element(By.ID, "live").text == "live")
    append(client, thought("lively", "A thought that came later."))
    wait_for(browser, "A thought that came later.")
    append(client, reviewed("lively", "success"))
    wait_for(browser, "reviewed success")
    for source, target, kind in (("late", "late-too", "relates_to"), ("rich", "lively", "depends_on")):
        link = {"source_id": source, "target_id": target, "edge_type": kind}
        append(client, {"type": "decision.linked.v1", "data": link})
    wait_for(browser, "depends on this")
    browser.check()
    browser.open("/ui/decisions?search=later")
    append(client, recorded("late", decision="Recorded later"))
    wait_for(browser, "Recorded later")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/ui/decisions", "/ui/decisions/rich", "/ui/decisions/hostile", "/ui/reviews"])
def test_pages_fit_a_phone_and_are_complete(
    browser: Browser, client: httpx.Client, tmp_path: Path, path: str, scheme: str
) -> None:
    append(client, thought("rich"))
    browser.prefer(scheme)
    for size in (DESKTOP, PHONE):
        browser.resize(size)
        browser.open(path)
        width = browser.driver.execute_script("return document.documentElement.scrollWidth")
        assert width <= size[0], (path, size)
    browser.screenshot(tmp_path / "page.png")
    browser.resize(DESKTOP)
    levels = [int(each.tag_name[1]) for each in browser.driver.find_elements(By.CSS_SELECTOR, "h1,h2,h3,h4")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    ids = [each.get_attribute("id") for each in browser.driver.find_elements(By.CSS_SELECTOR, "[id]")]
    assert len(ids) == len(set(ids))


def test_the_drawing_of_links_is_saved_as_png(browser: Browser, client: httpx.Client) -> None:
    browser.open("/ui/decisions/rich")
    script = """
    const done = arguments[0];
    HTMLAnchorElement.prototype.click = function () { done([this.download, this.href.slice(0, 5)]); };
    document.querySelector(".save-png").click();
    """
    assert browser.driver.execute_async_script(script) == ["links.png", "blob:"]
    browser.check()

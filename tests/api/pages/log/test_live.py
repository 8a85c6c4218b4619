"""The log in a browser: new events appear while it is open, also over a restart of the server; and keys."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Thread

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.api.http.posts import Json, post, recorded
from tests.api.pages.browser import DESKTOP, PHONE, Browser, browsing, needs_browser
from tests.support.server import Served, served

pytestmark = [pytest.mark.slow, needs_browser]

PATIENCE_S = 600.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "ledger.db") as running:
        yield running


@pytest.fixture
def browser(server: Served, tmp_path: Path) -> Iterator[Browser]:
    with browsing(server.url, tmp_path / "profile") as opened:
        yield opened


def shown(browser: Browser) -> list[int]:
    """The positions on the page."""
    found: list[str] = browser.driver.execute_script(
        "return [...document.querySelectorAll('tr.row a.open')].map((link) => link.getAttribute('href'))"
    )
    return [int(address.rpartition("/")[2]) for address in found]


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    begun_s = time.monotonic()
    while not condition():
        assert time.monotonic() - begun_s < PATIENCE_S
        time.sleep(0.05)


def is_live(browser: Browser) -> bool:
    return bool(browser.driver.find_element(By.ID, "live").text == "live")


def newest(count: int, head: int) -> Sequence[int]:
    return list(range(head, head - count, -1))


def test_events_appear_also_after_a_restart(server: Served, browser: Browser, tmp_path: Path) -> None:
    post_to(server.url, [recorded(f"before{n}") for n in range(5)])
    browser.open("/ui/log")
    wait_until(lambda: is_live(browser))
    assert shown(browser) == newest(5, 5)
    for head in (6, 7, 8):
        post_to(server.url, recorded())
        wait_until(lambda: shown(browser) == newest(head, head))  # noqa: B023 - called in this turn
    browser.check()
    port = server.url.rpartition(":")[2]
    assert server.stop() == 0
    wait_until(lambda: not is_live(browser))
    with served(tmp_path / "ledger.db", "--port", port) as again:
        assert again.url == server.url
        post_to(again.url, recorded("while-it-connects"))
        wait_until(lambda: shown(browser) == newest(9, 9))
        wait_until(lambda: is_live(browser))
        post_to(again.url, recorded("after"))
        wait_until(lambda: shown(browser) == newest(10, 10))
        assert "As of position 10." in browser.driver.find_element(By.TAG_NAME, "footer").text
        posting = Thread(target=lambda: [post_to(again.url, recorded(f"many{n}")) for n in range(60)])
        posting.start()
        seen: list[list[int]] = []
        while posting.is_alive() or shown(browser)[0] < 70:
            seen.append(shown(browser))
        posting.join()
        assert shown(browser) == newest(50, 70)
        for positions in seen:
            assert positions == newest(len(positions), positions[0]), "none is missed, and none is there twice"
        entries: list[dict[str, str]] = browser.driver.get_log("browser")  # type: ignore[no-untyped-call]
        errors = [entry["message"] for entry in entries]
        assert all("ERR_" in message or "Failed to load" in message for message in errors), errors


def test_only_matching_events_appear(server: Served, browser: Browser) -> None:
    post_to(server.url, {**recorded("first"), "source": "/agents/scout"})
    browser.open("/ui/log?source=scout&type=decision.recorded.v1")
    wait_until(lambda: is_live(browser))
    post_to(server.url, {**recorded("other"), "source": "/agents/planner"})
    post_to(server.url, {**recorded("mine"), "source": "/agents/scout"})
    wait_until(lambda: shown(browser) == [3, 1])
    browser.check()


def test_the_log_is_read_by_keyboard(server: Served, browser: Browser) -> None:
    post_to(server.url, [recorded(f"d{n}") for n in range(3)])
    post_to(server.url, {"type": "decision.reviewed.v1", "data": {"decision_id": "d0", "outcome": "success"}})
    browser.open("/ui/log")
    wait_until(lambda: is_live(browser))
    press(browser, "jj")
    assert browser.driver.switch_to.active_element.text == "3"
    post_to(server.url, recorded("d3"))
    wait_until(lambda: shown(browser)[0] == 5)
    assert browser.driver.switch_to.active_element.text == "3", "the focus stays on its row"
    press(browser, "jj" + Keys.ENTER)
    wait_until(lambda: browser.driver.current_url.endswith("/ui/log/1"))
    press(browser, "n")
    wait_until(lambda: browser.driver.current_url.endswith("/ui/log/4"))
    press(browser, "p")
    wait_until(lambda: browser.driver.current_url.endswith("/ui/log/1"))
    browser.check()


def test_pages_fit_a_phone(server: Served, browser: Browser) -> None:
    event = {**recorded("d" * 64, context="w" * 5_000), "correlationid": "c" * 256, "id": "i" * 128}
    post_to(server.url, [event, {**recorded("e"), "correlationid": "c" * 256, "causationid": "i" * 128}])
    for size in (DESKTOP, PHONE):
        browser.resize(size)
        for path in ("/ui/log", "/ui/log/1", f"/ui/log/related?correlationid={'c' * 256}", "/ui/proof?position=1"):
            browser.open(path)
            width = browser.driver.execute_script("return document.documentElement.scrollWidth")
            assert width <= size[0], path


def press(browser: Browser, keys: str) -> None:
    for key in keys:
        browser.driver.switch_to.active_element.send_keys(key)


def post_to(url: str, body: object) -> Json:
    with httpx.Client(base_url=url, timeout=None) as client:
        return post(client, body)

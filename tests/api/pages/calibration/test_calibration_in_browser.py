"""The calibration pages in a browser: nothing is blocked or wide, the slider replays, keys work, drawings are saved."""

import struct
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from api.http.pages.calibration.parts import PARTS
from tests.api.http.posts import post, recorded, reviewed
from tests.api.pages.browser import DESKTOP, PHONE, Browser, browsing, needs_browser
from tests.support.server import serving

pytestmark = [pytest.mark.slow, needs_browser]

PAGE = "/ui/calibration"

WIDER = "return document.documentElement.scrollWidth - innerWidth"

PNG_SIZE = """
const done = arguments[arguments.length - 1];
const create = URL.createObjectURL;
URL.createObjectURL = (blob) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result);
  reader.readAsDataURL(blob);
  return create(blob);
};
HTMLAnchorElement.prototype.click = () => {};
document.querySelector(".save-png").click();
"""
"""Saves the first drawing as PNG, and returns the file instead of downloading it."""


@pytest.fixture(scope="module")
def browser(agents_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(agents_url, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def address(part: str) -> str:
    return f"{PAGE}/compare" if part == "compare" else f"{PAGE}?part={part}&agent=scout&threshold=0.8"


def wait_until(browser: Browser, script: str) -> None:
    browser.wait_until(lambda: browser.driver.execute_script(script))


@pytest.mark.parametrize("part", PARTS)
def test_a_part_fits_a_wide_screen_and_a_phone(browser: Browser, part: str) -> None:
    for scheme, size in (("light", DESKTOP), ("dark", DESKTOP), ("light", PHONE)):
        browser.prefer(scheme)
        browser.resize(size)
        browser.open(address(part))
        assert browser.driver.execute_script(WIDER) <= 0
        for drawing in browser.driver.find_elements(By.CSS_SELECTOR, ".figure > svg"):
            assert drawing.accessible_name
            assert 300 <= drawing.size["width"] <= 660
    browser.resize(DESKTOP)


def test_the_slider_replays_the_past(browser: Browser) -> None:
    browser.open(f"{PAGE}?agent=novice")
    slider = browser.driver.find_element(By.ID, "replay")
    head = int(slider.get_attribute("value") or 0)
    slider.send_keys(Keys.HOME)
    wait_until(browser, "return location.search.includes('as_of=')")
    browser.check()
    assert "agent=novice" in browser.driver.current_url
    first = int(browser.driver.find_element(By.ID, "replay").get_attribute("value") or head)
    assert first < 100
    browser.driver.find_element(By.TAG_NAME, "body").send_keys("]")
    wait_until(browser, f"return location.search.endsWith('as_of={first + head // 20}')")
    browser.driver.find_element(By.LINK_TEXT, "back to now").click()
    wait_until(browser, "return !location.search.includes('as_of')")
    assert browser.driver.find_element(By.ID, "replay").get_attribute("value") == str(head)


def test_a_group_is_opened_by_keys(browser: Browser) -> None:
    browser.open(f"{PAGE}?part=groups&group_by=agent")
    browser.driver.find_element(By.TAG_NAME, "body").send_keys("jj")
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    wait_until(browser, "return location.search === '?agent=pilot'")
    browser.check()


def test_a_choice_is_sent_at_once(browser: Browser) -> None:
    browser.open(f"{PAGE}?part=drift&agent=scout")
    browser.driver.find_element(By.NAME, "window").send_keys("last 90")
    wait_until(browser, "return location.search.includes('window=90d')")
    assert "part=drift" in browser.driver.current_url
    browser.check()


def test_a_drawing_is_saved_as_png(browser: Browser) -> None:
    browser.open(f"{PAGE}?agent=scout")
    found: str = browser.driver.execute_async_script(PNG_SIZE)
    content = b64decode(found.partition(",")[2])
    width, height = struct.unpack(">II", content[16:24])
    assert content.startswith(b"\x89PNG")
    assert (width, height) == (1280, 1660), "twice the size of the drawing"
    browser.check()


def test_a_drawing_as_a_file_has_its_style(browser: Browser) -> None:
    browser.open(f"{PAGE}/figures/curve.svg?agent=scout")
    script = "return getComputedStyle(document.querySelector('.curve')).stroke"
    browser.prefer("light")
    assert browser.driver.execute_script(script) == "rgb(11, 98, 196)"


def test_a_new_review_changes_the_page(tmp_path: Path) -> None:
    with serving(tmp_path / "t.db") as url, httpx.Client(base_url=url, timeout=None) as client:
        for number in range(10):
            post(client, [recorded(f"d{number}"), reviewed(f"d{number}")])
        with browsing(url, tmp_path / "profile") as opened:
            opened.open(PAGE)
            wait_until(opened, "return document.querySelector('#live').textContent === 'live'")
            post(client, [recorded("d10"), reviewed("d10", "failure")])
            wait_until(opened, "return document.querySelector('.card b').textContent === '11'")
            opened.check()


def test_without_scripts_everything_is_there(browser: Browser) -> None:
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(f"{PAGE}?part=drift&agent=scout")
        assert browser.driver.find_elements(By.CSS_SELECTOR, ".figure > svg")
        slider = browser.driver.find_element(By.ID, "replay")
        slider.send_keys(Keys.PAGE_DOWN)
        browser.driver.find_element(By.CSS_SELECTOR, ".replay button").click()
        browser.wait_until(lambda: "as_of=" in browser.driver.current_url)
        browser.check()
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)

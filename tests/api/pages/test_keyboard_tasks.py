"""The tasks of an owner, by keyboard alone: every key goes to the page, wherever the focus is.

Each begins at the overview. The page is never clicked, and no element is given the focus by the test.
"""

from collections.abc import Iterator

import httpx
import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.api.http.posts import get
from tests.api.pages.browser import Browser, browsing, needs_browser
from tests.api.pages.shown_ledgers import make_realistic, post_realistic
from tests.support.server import served

pytestmark = [pytest.mark.slow, needs_browser]

PATIENCE_S = 600
TABS_MAX = 200


class Keyboard:
    """A person at a browser without a mouse."""

    def __init__(self, browser: Browser, client: httpx.Client) -> None:
        self.browser = browser
        self.client = client

    def press(self, *keys: str) -> None:
        """Press keys, one after another."""
        for key in keys:
            ActionChains(self.browser.driver).send_keys(key).perform()

    def tab_to(self, label: str) -> None:
        """Press Tab until the focus is on the control with a label."""
        named = (
            "const at = document.activeElement;"
            "const words = at.getAttribute('aria-label') || at.labels?.[0]?.textContent || at.textContent || '';"
            "return words.trim().startsWith(arguments[0])"
        )
        for _ in range(TABS_MAX):
            self.press(Keys.TAB)
            if self.browser.driver.execute_script(named, label):
                return
        raise AssertionError(f"{label} is not reached by Tab")

    def choose(self, label: str, value: str) -> None:
        """Go to a group of choices, which is one stop of Tab, and choose by the arrow keys."""
        self.tab_to(label)
        chosen = "const at = document.activeElement; return at.checked && at.value === arguments[0]"
        while not self.browser.driver.execute_script(chosen, value):
            self.press(Keys.ARROW_DOWN)

    def wait_for_title(self, text: str) -> None:
        """Wait until a page with a title is there."""
        shows = "return document.readyState === 'complete' && document.title.includes(arguments[0])"
        WebDriverWait(self.browser.driver, PATIENCE_S).until(lambda driver: driver.execute_script(shows, text))

    def wait_for(self, text: str) -> None:
        """Wait until the page shows a text."""
        shows = "return document.body.innerText.includes(arguments[0])"
        WebDriverWait(self.browser.driver, PATIENCE_S).until(lambda driver: driver.execute_script(shows, text))

    def go_to(self, section: str) -> None:
        """Open a section by `g` and its number, as the list of keys names it."""
        self.browser.open("/ui")
        links = [each.text for each in self.browser.driver.find_elements(By.CSS_SELECTOR, ".top nav a")]
        self.press("g", str(links.index(section) + 1))
        self.wait_for_title(section)

    @property
    def address(self) -> str:
        """The address of the page, below the server's."""
        return self.browser.driver.current_url.removeprefix(self.browser.url)


@pytest.fixture(scope="module")
def keyboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyboard]:
    folder = tmp_path_factory.mktemp("keyboard")
    make_realistic(folder / "ledger.db")
    with served(folder / "ledger.db") as server, httpx.Client(base_url=server.url, timeout=None) as client:
        post_realistic(client)
        with browsing(server.url, folder / "profile") as browser:
            yield Keyboard(browser, client)


def test_find_a_decision_and_open_it(keyboard: Keyboard) -> None:
    keyboard.browser.open("/ui")
    keyboard.press("/", "session store", Keys.ENTER)
    keyboard.wait_for_title("Decisions")
    assert "search=session+store" in keyboard.address
    keyboard.press("j", Keys.ENTER)
    keyboard.wait_for("Profiles say so.")
    assert keyboard.address == "/ui/decisions/rich"
    keyboard.browser.check()


def test_review_a_decision(keyboard: Keyboard) -> None:
    keyboard.browser.open("/ui/decisions/waits")
    keyboard.tab_to("Record the outcome")
    keyboard.press(Keys.ENTER, "3", Keys.TAB, "It dried up.")
    ActionChains(keyboard.browser.driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    keyboard.wait_for("It dried up.")
    assert get(keyboard.client, "/decisions/waits")["review"]["outcome"] == "failure"
    keyboard.browser.check()


def test_filter_calibration(keyboard: Keyboard) -> None:
    keyboard.go_to("Calibration")
    keyboard.tab_to("Agent")
    keyboard.press("scout", Keys.ENTER)
    keyboard.wait_for("scout")
    WebDriverWait(keyboard.browser.driver, PATIENCE_S).until(lambda _: "agent=scout" in keyboard.address)
    figures = get(keyboard.client, "/calibration", agent="scout")
    keyboard.wait_for(f"{figures['coverage']['reviewed']:,}")
    keyboard.browser.check()


def test_compare_two_runs(keyboard: Keyboard) -> None:
    keyboard.go_to("Evaluations")
    keyboard.choose("Baseline", "base")
    keyboard.choose("Candidate", "next")
    keyboard.press(Keys.ENTER)
    WebDriverWait(keyboard.browser.driver, PATIENCE_S).until(lambda _: "/compare?" in keyboard.address)
    keyboard.wait_for("image-pull-missing-tag")
    assert "baseline=base" in keyboard.address
    assert "candidate=next" in keyboard.address
    keyboard.browser.check()


def test_check_a_receipt(keyboard: Keyboard) -> None:
    keyboard.go_to("Proof")
    keyboard.tab_to("Position")
    keyboard.press("1", Keys.ENTER)
    WebDriverWait(keyboard.browser.driver, PATIENCE_S).until(lambda _: "position=1" in keyboard.address)
    result = WebDriverWait(keyboard.browser.driver, PATIENCE_S).until(
        lambda driver: driver.find_element(By.ID, "receipt-result").get_attribute("data-verdict")
    )
    assert result == "valid"
    keyboard.browser.check()


def test_every_key_is_explained(keyboard: Keyboard) -> None:
    keyboard.browser.open("/ui")
    keyboard.press("?")
    keyboard.wait_for("show these keys")
    keyboard.press(Keys.ESCAPE)
    closed = "return !document.getElementById('keys').open"
    WebDriverWait(keyboard.browser.driver, PATIENCE_S).until(lambda driver: driver.execute_script(closed))

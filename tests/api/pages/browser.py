"""A real Chromium, driven as a person drives it, and what it reports: errors, policy violations, requests elsewhere."""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")

needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="a browser is not installed here: apt-get install chromium chromium-driver",
)

ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip

FAULTS = ("SEVERE", "WARNING")
"""The levels of console messages that are faults of a page; advice for developers is below them."""

POLL_S = 0.05
SCRIPT_S = 600
WAIT: Mapping[str, str] = {"prefer": "wait=60"}
"""The header of requests that wait until a page is computed."""

DESKTOP, PHONE = (1280, 900), (390, 844)


class Browser:
    """A browser and one server's address. Addresses are paths on that server."""

    def __init__(self, driver: Chrome, url: str) -> None:
        self.driver = driver
        self.url = url

    def open(self, path: str) -> None:
        """Open a page, and check that it has caused no error and no request elsewhere."""
        self.driver.get(self.url + path)
        self.check()

    def wait_until(self, true: Callable[[], object]) -> None:
        """Wait until something of the page is true. Fail where the server has ended: it will not change any more."""
        while not true():
            httpx.get(f"{self.url}/healthz").raise_for_status()
            time.sleep(POLL_S)

    def check(self) -> None:
        """Fail if the console has an error or a policy violation, or if a request went to another host.

        The log entry of a page's own status, such as 404, does not count.
        """
        entries: list[dict[str, Any]] = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        own = [entry for entry in entries if "Failed to load resource" in entry["message"]]
        errors = [each["message"] for each in entries if each["level"] in FAULTS and each not in own]
        assert not errors, errors
        hosts = {urlsplit(url).netloc for url in self.requested()}
        assert hosts <= {urlsplit(self.url).netloc}, hosts

    def requested(self) -> list[str]:
        """The address of every request over a network since the last call; the browser's own pages are none."""
        messages = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))  # type: ignore[no-untyped-call]
        sent = [each["params"] for each in messages if each["method"] == "Network.requestWillBeSent"]
        urls = [each["request"]["url"] for each in sent]
        return [url for url in urls if urlsplit(url).scheme in {"http", "https", "ws", "wss"}]

    def resize(self, size: tuple[int, int]) -> None:
        """Show pages as on a screen of a size in CSS pixels."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False
        )

    def prefer(self, scheme: str) -> None:
        """Show pages `light` or `dark`."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def command(self, name: str, **parameters: object) -> Mapping[str, Any]:
        """Send a command of the DevTools protocol."""
        answer: Mapping[str, Any] = self.driver.execute_cdp_cmd(name, parameters)
        return answer

    def screenshot(self, path: Path) -> None:
        """Save the whole page as PNG."""
        self.driver.get_screenshot_as_file(str(path))


@contextmanager
def browsing(url: str, profile: Path, *, waits: bool = True) -> Iterator[Browser]:
    """Start a browser with an empty profile. If it waits, the server computes a page before it answers."""
    assert CHROMIUM is not None
    assert DRIVER is not None
    options = ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options, Service(DRIVER))
    try:
        driver.set_script_timeout(SCRIPT_S)
        browser = Browser(driver, url)
        browser.resize(DESKTOP)
        if waits:
            browser.command("Network.enable")
            browser.command("Network.setExtraHTTPHeaders", headers=dict(WAIT))
        yield browser
    finally:
        driver.quit()

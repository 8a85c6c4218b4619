"""Every page in a real browser, on six ledgers: light and dark, on a desk and on a phone, with and without scripts.

`TALLYSTICK_SCREENSHOTS=FOLDER` keeps a screenshot of each.
"""

import gzip
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from selenium.common.exceptions import WebDriverException

from api.http.pages.assets import asset_address
from api.http.pages.page_table import PAGES
from tests.api.pages.browser import DESKTOP, PHONE, Browser, browsing, needs_browser
from tests.api.pages.page_addresses import ADDRESSES, FILES, addresses_of
from tests.api.pages.shown_ledgers import LEDGERS, wait_for_figures
from tests.sdks.conftest import path_with
from tests.support.server import served

HTML_BYTES_MAX = 200_000
TRIES, PAUSE_S = 50, 0.1
SCRIPT_BYTES_MAX = 30_000
"""Bytes of all scripts, each compressed."""

WAYS = {
    "light-1280": ("light", DESKTOP), "dark-1280": ("dark", DESKTOP),
    "light-390": ("light", PHONE), "dark-390": ("dark", PHONE),
}  # fmt: skip
OF_THE_MOMENT = "/ui/operate"
"""The page whose figures are other ones each time: memory, requests, seconds."""

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
AXE = (
    "const done = arguments[arguments.length - 1];"
    f"axe.run(document, {{runOnly: {json.dumps(RULES)}}}).then((found) => done(found.violations.map((each) =>"
    " `${each.id}: ${each.nodes.map((node) => node.target.join(' ')).slice(0, 3).join(' | ')}"
    " ${each.nodes[0].failureSummary}`)));"
)
WIDE = (
    "return [document.documentElement.scrollWidth, [...document.querySelectorAll('main *')]"
    ".filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && !each.closest('.wide, svg, .hidden'))"
    ".slice(0, 3).map((each) => each.outerHTML.slice(0, 120))]"
)
WORD_CHARS_MAX = 16
BROKEN = (
    "const found = []; for (const cell of document.querySelectorAll('main td:not(.long), main tbody th')) {"
    "  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);"
    "  while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {"
    f"    if (word[0].length > {WORD_CHARS_MAX}) continue;"
    "    const range = document.createRange(); range.setStart(texts.currentNode, word.index);"
    "    range.setEnd(texts.currentNode, word.index + word[0].length);"
    "    if (new Set([...range.getClientRects()].map((each) => each.top)).size > 1) found.push(word[0]);"
    "  }"
    "} return found.slice(0, 3);"
)
"""Words that a table shows on several lines. Long texts may break words, and long words are broken."""


class Shown(NamedTuple):
    """A ledger's server, the addresses of its pages, and a browser."""

    name: str
    client: httpx.Client
    addresses: list[str]
    browser: Browser


@contextmanager
def shown(name: str, folder: Path) -> Iterator[Shown]:
    """Serve a ledger, and wait until every figure is there."""
    make, post = LEDGERS[name]
    ledger = folder / "ledger.db"
    make(ledger)
    with served(ledger) as server, httpx.Client(base_url=server.url, timeout=None) as client:
        post(client)
        wait_for_figures(client)
        with browsing(server.url, folder / "profile") as browser:
            yield Shown(name, client, addresses_of(client), browser)


@pytest.fixture(scope="module", params=LEDGERS)
def ledger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    with shown(request.param, tmp_path_factory.mktemp("shown")) as made:
        yield made


def test_every_page_has_an_address() -> None:
    declared = {row.path for row in PAGES if row.method == "GET"}
    assert declared == ADDRESSES.keys() | FILES, "a new page needs an address in page_addresses.py"


def test_the_scripts_are_small() -> None:
    assert sum(len(gzip.compress(text.encode())) for text in scripts().values()) <= SCRIPT_BYTES_MAX


def scripts() -> dict[str, str]:
    """Every script of the pages, by name."""
    folder = Path(__file__).parents[3] / "api" / "http" / "pages" / "static"
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.js")}
    assert "pages.js" in found
    assert all(asset_address(name).startswith(f"/ui/assets/{name}?v=") for name in found)
    return found


@pytest.mark.slow
@needs_browser
def test_pages_follow_the_rules(ledger: Shown, page_rules: Path) -> None:
    """No error, policy violation, request elsewhere, or page that scrolls sideways; axe-core finds nothing."""
    axe = (page_rules / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
    faults: list[str] = []
    for address in ledger.addresses:
        for way, (scheme, size) in WAYS.items():
            ledger.browser.prefer(scheme)
            ledger.browser.resize(size)
            if way == next(iter(WAYS)):
                faults += load_faults(ledger.browser, address, axe)
            faults += [f"{way} {address}: {fault}" for fault in faults_of(ledger.browser)]
            keep_screenshot(ledger, address, way)
    assert not faults, "\n".join(faults)


def load_faults(browser: Browser, address: str, axe: str) -> list[str]:
    """Open a page with the program that checks it, and return what is wrong at once."""
    try:
        browser.open(address)
    except AssertionError as error:
        return [f"{address}: the console says {error}"]
    finally:
        browser.driver.execute_script(axe)
    return []


def faults_of(browser: Browser) -> list[str]:
    """What is wrong with a page as it is shown now."""
    width, wide = browser.driver.execute_script(WIDE)
    allowed = browser.driver.execute_script("return innerWidth")
    found = [f"the page is {width} px wide: {wide}"] if width > allowed else []
    broken: list[str] = browser.driver.execute_script(BROKEN)
    rules: list[str] = browser.driver.execute_async_script(AXE)
    try:
        browser.check()
    except AssertionError as error:
        found.append(f"the console says {error}")
    return found + [f"a table breaks the word {word}" for word in broken] + rules


def keep_screenshot(ledger: Shown, address: str, way: str) -> None:
    """Save what the browser shows, if a folder is named."""
    if folder := os.environ.get("TALLYSTICK_SCREENSHOTS"):
        name = re.sub(r"[^a-z0-9]+", "-", address.lower()).strip("-")
        path = Path(folder) / ledger.name.replace(" ", "-") / f"{name}-{way}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        ledger.browser.screenshot(path)


@pytest.mark.slow
@needs_browser
def test_pages_are_valid_and_small(ledger: Shown, page_rules: Path, python_environment: Path, tmp_path: Path) -> None:
    files: dict[str, str] = {}
    for number, address in enumerate(ledger.addresses):
        answer = ledger.client.get(address, follow_redirects=True)
        assert answer.status_code < 500, address
        if ledger.name == "realistic":
            assert answer.status_code == (404 if "nosuch" in address else 200), address
        assert len(answer.content) <= HTML_BYTES_MAX, address
        path = tmp_path / f"{number}.html"
        path.write_bytes(answer.content)
        files[path.name] = address
    faults = validate(tmp_path, page_rules, python_environment)
    assert not faults, "\n".join(f"{files[name]}: {fault}" for name, fault in faults)


def validate(pages: Path, rules: Path, node: Path) -> list[tuple[str, str]]:
    """What html-validate finds in the pages of a folder: file and fault."""
    program = rules / "node_modules/.bin/html-validate"
    command = [str(node / "node"), str(program), "--config", str(rules / ".htmlvalidate.json"), "--formatter", "json"]
    variables = {**os.environ, "PATH": path_with(node)}
    said = pages / "said.json"
    with said.open("wb") as output:  # what it writes to a pipe is cut when it ends
        done = subprocess.run(
            [*command, *map(str, sorted(pages.glob("*.html")))],
            cwd=rules, env=variables, stdout=output, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert said.stat().st_size or done.returncode == 0, done.stderr
    reports: list[dict[str, Any]] = json.loads(said.read_bytes() or b"[]")
    return [
        (Path(report["filePath"]).name, f"{each['ruleId']}, line {each['line']}: {each['message']} {each['selector']}")
        for report in reports
        for each in report["messages"]
    ]


@pytest.mark.slow
@needs_browser
def test_pages_show_the_same_without_scripts(ledger: Shown) -> None:
    """The text of a page is there with JavaScript off; only what scripts add, such as `live`, is not."""
    ledger.browser.resize(DESKTOP)
    addresses = sorted(
        ledger.addresses, key=OF_THE_MOMENT.__eq__
    )  # it counts refusals of the other pages, so it is last
    with_scripts = {address: figures_of(ledger.browser, address) for address in addresses}
    ledger.browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        without = {address: figures_of(ledger.browser, address) for address in addresses}
    finally:
        ledger.browser.command("Emulation.setScriptExecutionDisabled", value=False)
    changed = {
        address: list(unified_diff(with_scripts[address], without[address], n=1, lineterm=""))
        for address in addresses
        if address != OF_THE_MOMENT and with_scripts[address] != without[address]
    }
    assert not changed
    assert len(with_scripts[OF_THE_MOMENT]) == len(without[OF_THE_MOMENT]) > 10


def figures_of(browser: Browser, address: str) -> list[str]:
    """Every figure in the tables, cards and drawings of a page, without what depends on the time of asking."""
    browser.driver.get(browser.url + address)
    html = main_of(browser)
    html = re.sub(r'<noscript.*?</noscript>|<div id="receipt-result".*?<h3>Offline', "", html, flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", " ", html)
    text = re.sub(r"\S+ (?:m?s|seconds?|min|minutes?|h|hours?|days?|[KM]iB|MB)\b", "", text)
    return re.findall(r"\d[\d.,]*", text)


def main_of(browser: Browser) -> str:
    """The HTML of a page's content; read again if the browser renews its tree of nodes meanwhile."""
    for left in reversed(range(TRIES)):
        try:
            root = browser.command("DOM.getDocument", depth=0)["root"]
            main = browser.command("DOM.querySelector", nodeId=root["nodeId"], selector="main")
            return str(browser.command("DOM.getOuterHTML", nodeId=main["nodeId"])["outerHTML"])
        except WebDriverException:
            if not left:
                raise
            time.sleep(PAUSE_S)
    raise AssertionError("never: the last try returns or raises")

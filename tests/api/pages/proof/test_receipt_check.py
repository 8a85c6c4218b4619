"""A receipt checked in the browser: it agrees with the Python verifier, and says with which key it was checked."""

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from api.token_store import TokenStore
from ledger.clock import system_clock
from ledger.transparency.keys import read_key
from ledger.transparency.merkle import verify_consistency
from tests.api.cli.command import tally
from tests.api.http.posts import post, recorded
from tests.api.pages.browser import Browser, browsing, needs_browser
from tests.api.pages.proof.damaged_receipts import flips, random_changes, rearranged, restated, verdict_of
from tests.support.server import Served, served
from tests.support.witness import Witness, witnessing

pytestmark = [pytest.mark.slow, needs_browser]

EVENTS = 300
POSITIONS = (1, 2, 7, 128, 256, 257, EVENTS - 1, EVENTS)
BATCH = 400

CHECK = """
const [receipts, key, done] = arguments;
import(document.querySelector('script[src*="receipt.js"]').src).then(async ({ checkReceipt }) => {
  const decoded = receipts.map((text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
  const verdicts = [];
  for (const bytes of decoded) verdicts.push((await checkReceipt(bytes, key, true)).verdict);
  return verdicts;
}).then(done, (error) => done(String(error)));
"""


@pytest.fixture(scope="module")
def client(served_client: httpx.Client) -> httpx.Client:
    """A client of the server that the browser asks."""
    return served_client


@pytest.fixture(scope="module")
def ledger(server: Served, served_client: httpx.Client) -> Path:
    post(served_client, [recorded(f"d{number}", context="é\u202e" * (number % 5)) for number in range(EVENTS)])
    return Path(server.wait_for("serving")["ledger"])


@pytest.fixture(scope="module")
def key(ledger: Path) -> str:
    signer = read_key(ledger)
    assert signer is not None
    return str(signer.verifier)


@pytest.fixture(scope="module")
def browser(server: Served, ledger: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(server.url, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def receipt_of(client: httpx.Client, position: int) -> bytes:
    return client.get(f"/events/{position}/receipt").raise_for_status().content


def check_all(browser: Browser, receipts: Sequence[bytes], key: str) -> list[str]:
    """What the page's module says of each receipt."""
    verdicts: list[str] = []
    for first in range(0, len(receipts), BATCH):
        batch = [b64encode(each).decode() for each in receipts[first : first + BATCH]]
        found = browser.driver.execute_async_script(CHECK, batch, key)
        assert isinstance(found, list), found
        verdicts += found
    return verdicts


def compare(browser: Browser, receipts: Sequence[bytes], key: str) -> Counter[str]:
    """Check that the browser agrees with the Python verifier on every receipt; return how often each verdict came."""
    expected = [verdict_of(each, key) for each in receipts]
    found = check_all(browser, receipts, key)
    differ = [(each, *pair) for each, *pair in zip(receipts, expected, found, strict=True) if pair[0] != pair[1]]
    assert not differ, f"{len(differ)} of {len(receipts)} differ; the first: {differ[0]}"
    return Counter(expected)


def test_the_browser_agrees_with_python_on_good_receipts(browser: Browser, client: httpx.Client, key: str) -> None:
    browser.open("/ui/proof")
    good = [receipt_of(client, position) for position in POSITIONS]
    assert compare(browser, good, key) == {"valid": len(POSITIONS)}


def test_the_browser_agrees_with_python_on_damaged_receipts(browser: Browser, client: httpx.Client, key: str) -> None:
    browser.open("/ui/proof")
    receipt = receipt_of(client, 7)
    flipped = compare(browser, list(flips(receipt)), key)
    assert flipped["valid"] == 0, "no byte of a receipt may change"
    assert min(flipped["invalid"], flipped["unreadable"]) > 100
    assert compare(browser, list(rearranged(receipt)), key)["unreadable"] > 100
    for position in POSITIONS:
        good = receipt_of(client, position)
        assert compare(browser, list(restated(good)), key)["invalid"] > 20
        compare(browser, list(random_changes(good, 250, position)), key)


def test_the_browser_agrees_with_python_on_keys(browser: Browser, client: httpx.Client, key: str) -> None:
    browser.open("/ui/proof")
    receipt = receipt_of(client, 3)
    with witnessing(Witness("witness.example/w1", key)) as witness:
        others = [witness.key]
    name, _, encoded = key.split("+", 2)
    others += ["", "key", f"{name}+00000000+{encoded}", key[:-1], f"{key} ", key.upper(), key.replace("+", " "), key]
    for other in others:
        assert check_all(browser, [receipt], other) == [verdict_of(receipt, other)], other


def test_the_command_ends_as_the_browser_says(browser: Browser, client: httpx.Client, key: str, tmp_path: Path) -> None:
    browser.open("/ui/proof")
    receipt = receipt_of(client, 9)
    damaged = [receipt, receipt.replace(b"index 8", b"index 9"), receipt[:-1], receipt.replace(b"\nindex", b"\nplace")]
    codes = []
    for number, each in enumerate(damaged):
        file = tmp_path / f"{number}.tlog-proof"
        file.write_bytes(each)
        codes.append(tally(tmp_path / "none.db", "receipt", "--check", file, "--key", key).code)
    assert codes == [0, 1, 2, 2]
    assert check_all(browser, damaged, key) == [("valid", "invalid", "unreadable")[code] for code in codes]


def verdict(browser: Browser, where: str = "receipt-result") -> str:
    """The verdict that the page shows, once it is there."""

    def shown(_: object) -> str | None:
        return browser.driver.find_element(By.ID, where).get_attribute("data-verdict")

    return str(WebDriverWait(browser.driver, 600).until(shown))


def result_text(browser: Browser, where: str = "receipt-result") -> str:
    return str(browser.driver.find_element(By.ID, where).text)


def check_as(browser: Browser, *, text: str | None = None, key: str = "") -> str:
    """Check what a person types, by keyboard; return the verdict."""
    field = browser.driver.find_element(By.ID, "receipt-key")
    field.clear()
    if text is not None:
        area = browser.driver.find_element(By.ID, "receipt-text")
        browser.driver.execute_script(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", area, text
        )
    browser.driver.execute_script("document.getElementById('receipt-result').removeAttribute('data-verdict')")
    field.send_keys(f"{key}\n")
    return verdict(browser)


def test_a_person_checks_a_receipt(browser: Browser, client: httpx.Client, key: str, tmp_path: Path) -> None:
    browser.open("/ui/proof?position=7")
    assert verdict(browser) == "valid"
    assert "this server shows" in result_text(browser)
    line = client.get("/events/7").text
    assert line.replace("\u202e", "[U+202E]") in result_text(browser)
    assert check_as(browser, key=key) == "valid"
    assert "You pasted the key" in result_text(browser)
    text = receipt_of(client, 7).decode()
    assert check_as(browser, text=text.rstrip("\n"), key=key) == "valid", "a copied text often lacks its last line feed"
    assert check_as(browser, text=text.replace("index 6", "index 5"), key=key) == "invalid"
    assert "failed" in result_text(browser)
    assert check_as(browser, text="<script>alert(1)</script>", key=key) == "unreadable"
    assert check_as(browser, text=text, key="not a key") == "unreadable"
    file = tmp_path / "damaged"
    file.write_bytes(text.encode().replace(b"\n", b"\r\n"))
    browser.driver.find_element(By.ID, "receipt-file").send_keys(str(file))
    assert check_as(browser, key=key) == "unreadable"
    browser.open("/ui/proof?position=99999")
    assert verdict(browser) == "unreadable"
    assert "Position 99999 is not in the log" in result_text(browser)
    browser.check()


def test_a_page_without_cryptography_says_so(tmp_path: Path) -> None:
    path = tmp_path / "tokened.db"
    _, token = TokenStore(path).add("auditor", ("read",), system_clock())
    with served(path) as server, browsing(server.url.replace("127.0.0.1", "0.0.0.0"), tmp_path / "profile") as browser:
        browser.open("/ui/proof")
        field = browser.driver.find_element(By.ID, "token")
        field.send_keys(f"{token}\n")
        assert verdict(browser) == "unreadable"
        assert "plain HTTP from another machine" in result_text(browser)
        assert not browser.driver.find_element(By.CSS_SELECTOR, "#check button").is_enabled()
        browser.check()


def test_without_scripts_the_page_says_how_to_verify(browser: Browser) -> None:
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.driver.get(f"{browser.url}/ui/proof?position=7")
        shown = browser.driver.find_element(By.TAG_NAME, "main").text
        assert not browser.driver.find_element(By.ID, "check").is_displayed()
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
    assert "This browser runs no scripts" in shown
    assert "tallystick receipt --check receipt.tlog-proof --key" in shown
    assert "Save the receipt of position 7" in shown


CONTINUES = """
const [cases, done] = arguments;
import(document.querySelector('script[src*="receipt.js"]').src).then(async ({ verifyConsistency }) => {
  const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const results = [];
  for (const [older, size, proof, olderRoot, root] of cases) {
    results.push(await verifyConsistency(BigInt(older), BigInt(size), proof.map(bytes), bytes(olderRoot), bytes(root)));
  }
  return results;
}).then(done, (error) => done(String(error)));
"""


def test_the_browser_agrees_with_python_on_consistency(browser: Browser, client: httpx.Client, ledger: Path) -> None:
    browser.open("/ui/proof")
    cases: list[tuple[int, int, list[bytes], bytes, bytes]] = []
    for older, newer in [
        (0, 0),
        (0, 5),
        (5, 5),
        (1, 2),
        (1, 300),
        (7, 8),
        (8, 300),
        (128, 256),
        (255, 257),
        (299, 300),
    ]:
        answer = client.get("/proofs/consistency", params={"from": older, "to": newer}).raise_for_status().json()
        proof = [b64decode(each) for each in answer["hashes"]]
        roots = b64decode(answer["from_root"]), b64decode(answer["to_root"])
        zero = bytes(32)
        cases.append((older, newer, proof, *roots))
        cases += [(older, newer, proof[:-1], *roots), (older, newer, [*proof, zero], *roots)]
        cases += [(older, newer, [*proof[:at], zero, *proof[at + 1 :]], *roots) for at in range(len(proof))]
        cases += [(older, newer, proof, zero, roots[1]), (older, newer, proof, roots[0], zero)]
        cases += [(older + 1, newer, proof, *roots), (older, newer + 1, proof, *roots), (newer, older, proof, *roots)]
    expected = [verify_consistency(*case) for case in cases]
    encoded = [
        [older, size, [b64encode(each).decode() for each in proof], b64encode(one).decode(), b64encode(two).decode()]
        for older, size, proof, one, two in cases
    ]
    assert browser.driver.execute_async_script(CONTINUES, encoded) == expected
    assert 10 <= sum(expected) < len(expected) / 2


def test_the_browser_compares_an_older_checkpoint(browser: Browser, client: httpx.Client, key: str) -> None:
    note = client.get("/checkpoint").text
    size = int(note.split("\n")[1])
    post(client, [recorded() for _ in range(5)])
    client.get(f"/events/{size + 5}/receipt").raise_for_status()
    for older in (note, client.get("/events/4/receipt").text):
        browser.open(f"/ui/proof?{urlencode({'older': older.replace(chr(10), chr(13) + chr(10))})}")
        assert verdict(browser, "consistency-result") == "valid"
        assert "continues the older one" in result_text(browser, "consistency-result")
    zeros = b64encode(bytes(32)).decode()
    browser.open(f"/ui/proof?{urlencode({'older': note.replace(note.split(chr(10))[2], zeros)})}")
    assert verdict(browser, "consistency-result") == "invalid"
    browser.check()

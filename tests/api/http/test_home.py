"""The page at `/`: what it links to, what a browser may load for it, and what it does not show."""

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from api.http.route_table import OPERATIONS
from api.principal import DEFAULT_SCOPES
from api.token_store import TokenStore
from ledger import system_clock
from tests.api.http.posts import recorded
from tests.support.server import Served, served

VOID = {"br", "meta", "path"}


class Page(HTMLParser):
    """The elements of a page: every attribute, every link, and the style sheet."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.style = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value for name, value in attrs if name == "href" and value}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:
            self.style += data


def test_every_link_of_the_page_is_answered(client: httpx.Client) -> None:
    response = client.get("/", headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    links = Page(response.text).links
    assert {"/calibration", "/scoreboard", "/events", "/healthz", "/openapi.json"} <= links
    statuses = {link: client.get(link).status_code for link in links}
    # Nothing is cosigned without a witness.
    assert {link for link, status in statuses.items() if status != 200} == {"/checkpoint/witnessed"}


def test_the_page_links_every_view_that_needs_no_parameter(client: httpx.Client) -> None:
    listed = {
        each.path
        for each in OPERATIONS
        if each.method == "GET" and "{" not in each.path and not any(one.required for one in each.query)
    }
    assert Page(client.get("/").text).links == listed - {"/"}


def test_a_browser_may_load_nothing_but_its_style(client: httpx.Client) -> None:
    response = client.get("/")
    page = Page(response.text)
    digest = b64encode(sha256(page.style.encode()).digest()).decode()
    policies = response.headers.get_list("content-security-policy")
    assert policies == [
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ]
    assert not page.tags & {"script", "iframe", "img", "link", "form", "object", "base"}
    assert not {name for name in page.attributes if name.startswith("on") or name in {"style", "src"}}
    assert "url(" not in page.style
    assert "@import" not in page.style


def test_the_page_is_answered_like_any_other(client: httpx.Client) -> None:
    response = client.get("/")
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert client.head("/").headers["content-length"] == response.headers["content-length"]
    assert client.get("/", headers={"host": "ledger.example"}).status_code == 421
    assert client.post("/").status_code == 405


def test_programs_get_the_links_as_json(client: httpx.Client) -> None:
    response = client.get("/", headers={"accept": "application/json"})
    index = response.json()
    assert (index["name"], index["token_required"], response.headers["vary"]) == ("tallystick", False, "accept")
    assert index["links"]["get_calibration"] == "/calibration"
    assert set(index["links"].values()) == Page(client.get("/").text).links


def test_the_page_shows_nothing_of_the_ledger(client: httpx.Client) -> None:
    before = client.get("/").text
    assert client.post("/events", json=recorded()).status_code == 201
    assert client.get("/").text == before


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over a ledger with a token."""
    ledger: Path = tmp_path_factory.mktemp("guarded") / "ledger.db"
    TokenStore(ledger).add("scout", DEFAULT_SCOPES, system_clock())
    with served(ledger) as server:
        yield server


def test_the_page_says_that_a_token_is_needed(guarded: Served, client: httpx.Client) -> None:
    page = httpx.get(guarded.url).text
    assert page.count("Authorization: Bearer TOKEN") == 2
    assert "Authorization" not in client.get("/").text
    assert httpx.get(guarded.url, headers={"accept": "application/json"}).json()["token_required"] is True


@pytest.mark.parametrize("host", ['x"><script>alert(1)</script>', "<b>", "x&amp;y", "a b", "'; rm -rf ~; '"])
def test_a_host_is_escaped(guarded: Served, host: str) -> None:
    text = httpx.get(guarded.url, headers={"host": host}).text
    page = Page(text)
    assert not page.tags & {"script", "b"}
    assert re.findall(r"curl (\S+)events", text)

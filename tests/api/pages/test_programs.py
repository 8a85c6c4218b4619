"""The page about the interfaces for programs: what it links to, and that no page has anything inline."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.http.pages.response import POLICY
from api.http.route_table import operations
from api.principal import DEFAULT_SCOPES
from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.http.posts import recorded
from tests.api.pages.html_page import HtmlPage
from tests.support.server import Served, served

PROGRAMS = "/ui/programs"


def test_every_link_is_answered(client: httpx.Client) -> None:
    response = client.get(PROGRAMS)
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    links = set(HtmlPage(response.text).addresses) - {"#content"}
    assert {"/calibration", "/scoreboard", "/events", "/healthz", "/openapi.json", "/ui"} <= links
    statuses = {link: client.get(link).status_code for link in links}
    # Nothing is cosigned without a witness.
    assert {link for link, status in statuses.items() if status != 200} == {"/checkpoint/witnessed"}


def test_every_view_that_needs_no_parameter_is_linked(client: httpx.Client) -> None:
    listed = {
        each.path
        for each in operations()
        if each.method == "GET" and "{" not in each.path and not any(one.required for one in each.query)
    }
    links = set(HtmlPage(client.get(PROGRAMS).text).addresses)
    assert {link for link in links if not link.startswith(("/ui", "#"))} == listed - {"/"}


@pytest.mark.parametrize("path", ["/ui", PROGRAMS, "/ui/nowhere"])
def test_a_browser_may_load_nothing_of_others(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.headers.get_list("content-security-policy") == [POLICY]
    assert response.headers.get_list("referrer-policy") == ["same-origin"], "a form needs Origin"
    page = HtmlPage(response.text)
    assert not page.tags & {"style", "iframe", "object", "base"}
    assert not {name for name in page.attributes if name.startswith("on") or name == "style"}
    loaded = [(tag, found[name]) for tag, found in page.elements for name in ("src", "href") if name in found]
    assert all(address.startswith(("/", "#")) and not address.startswith("//") for _, address in loaded), loaded
    for tag, address in loaded:
        if tag in {"script", "link"}:
            asset = client.get(address)
            assert (asset.status_code, asset.headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
            assert "url(" not in asset.text
            assert "@import" not in asset.text


def test_an_asset_that_does_not_exist_is_a_problem(client: httpx.Client) -> None:
    for name in ("nosuch.js", "pages.py", "..%2f..%2fpage.py", "%00"):
        response = client.get(f"/ui/assets/{name}")
        assert response.status_code == 404


@pytest.mark.slow
def test_the_page_is_answered_like_any_other(served_client: httpx.Client) -> None:
    response = served_client.get(PROGRAMS)
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert served_client.head(PROGRAMS).headers["content-length"] == response.headers["content-length"]
    assert served_client.get(PROGRAMS, headers={"host": "ledger.example"}).status_code == 421
    assert served_client.post(PROGRAMS).status_code == 405


def test_the_page_shows_nothing_of_the_ledger(client: httpx.Client) -> None:
    before = client.get(PROGRAMS).text
    assert client.post("/events", json=recorded()).status_code == 201
    assert client.get(PROGRAMS).text == before


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over a ledger with a token."""
    ledger: Path = tmp_path_factory.mktemp("guarded") / "ledger.db"
    TokenStore(ledger).add("scout", DEFAULT_SCOPES, system_clock())
    with served(ledger) as server:
        yield server


def test_the_page_says_that_a_token_is_needed(guarded: Served, client: httpx.Client) -> None:
    page = httpx.get(guarded.url + PROGRAMS).text
    assert page.count("Authorization: Bearer TOKEN") == 2
    assert "Authorization" not in client.get(PROGRAMS).text


@pytest.mark.parametrize("host", ['x"><script>alert(1)</script>', "<b>", "x&amp;y", "a b", "'; rm -rf ~; '"])
def test_a_host_is_escaped(guarded: Served, host: str) -> None:
    text = httpx.get(guarded.url + PROGRAMS, headers={"host": host}).text
    page = HtmlPage(text)
    assert [found for tag, found in page.elements if tag == "script" and "src" not in found] == []
    assert "b" not in page.tags
    assert re.findall(r"curl (\S+)events", text)

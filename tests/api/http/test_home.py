"""The address `/`: a browser is sent to the web pages, and a program gets the links."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.http.route_table import operations
from api.principal import DEFAULT_SCOPES
from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.http.posts import recorded
from tests.support.server import Served, served

JSON = {"accept": "application/json"}


@pytest.mark.parametrize(
    "accept", ["text/html,application/xhtml+xml,*/*;q=0.8", "*/*", "", "text/html, application/json"]
)
def test_a_browser_is_sent_to_the_pages(client: httpx.Client, accept: str) -> None:
    response = client.get("/", headers={"accept": accept})
    assert (response.status_code, response.headers["location"], response.content) == (303, "/ui", b"")
    assert (response.headers["vary"], response.headers["cache-control"]) == ("accept", "no-store")
    followed = client.get("/", headers={"accept": accept}, follow_redirects=True)
    assert (followed.status_code, followed.headers["content-type"]) == (200, "text/html; charset=utf-8")


def test_programs_get_the_links_as_json(client: httpx.Client) -> None:
    response = client.get("/", headers=JSON)
    index = response.json()
    assert (index["name"], index["token_required"], response.headers["vary"]) == ("tallystick", False, "accept")
    assert index["links"]["get_calibration"] == "/calibration"
    listed = {
        each.name: each.path
        for each in operations()
        if each.method == "GET" and "{" not in each.path and not any(one.required for one in each.query)
    }
    assert index["links"] == {name: path for name, path in listed.items() if path != "/"}


@pytest.mark.slow
@pytest.mark.parametrize("headers", [JSON, {}])
def test_the_address_is_answered_like_any_other(served_client: httpx.Client, headers: dict[str, str]) -> None:
    response = served_client.get("/", headers=headers)
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert served_client.head("/", headers=headers).headers["content-length"] == response.headers["content-length"]
    assert served_client.get("/", headers={**headers, "host": "ledger.example"}).status_code == 421
    assert served_client.post("/", headers=headers).status_code == 405


def test_it_shows_nothing_of_the_ledger(client: httpx.Client) -> None:
    before = client.get("/", headers=JSON).text
    assert client.post("/events", json=recorded()).status_code == 201
    assert client.get("/", headers=JSON).text == before


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over a ledger with a token."""
    ledger: Path = tmp_path_factory.mktemp("guarded") / "ledger.db"
    TokenStore(ledger).add("scout", DEFAULT_SCOPES, system_clock())
    with served(ledger) as server:
        yield server


@pytest.mark.slow
def test_it_says_that_a_token_is_needed(guarded: Served) -> None:
    assert httpx.get(guarded.url, headers=JSON).json()["token_required"] is True
    wanted = httpx.get(guarded.url, follow_redirects=True)
    assert (wanted.status_code, wanted.url.path) == (200, "/ui/sign-in")

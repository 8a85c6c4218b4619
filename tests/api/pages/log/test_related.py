"""The events of one correlation id: the list is that of the JSON route, and the tree shows the causes."""

import re
from html import unescape

import httpx
import pytest

from tests.api.http.posts import Json, get, post, recorded, reviewed
from tests.api.pages.log.shown import json_address, json_at, link, page_of, positions, rows

ADDRESS = "/ui/log/related"


def event(name: str, cause: str | None = None) -> Json:
    attributes = {"id": name, "correlationid": "order-7", "source": "/agents/scout"}
    return {**recorded(name), **attributes, **({} if cause is None else {"causationid": cause})}


@pytest.fixture(scope="module", autouse=True)
def posted(client: httpx.Client) -> None:
    post(client, [event("a"), event("b", "a"), event("c", "b"), event("d", "a"), event("e", "z")])
    post(client, [recorded("apart"), {**reviewed("b"), "correlationid": "order-7", "causationid": "b"}])


def test_the_list_is_that_of_the_json_route(client: httpx.Client) -> None:
    page = page_of(client, ADDRESS, correlationid="order-7")
    found = json_at(client, json_address(page))
    assert found == get(client, "/related", correlationid="order-7")
    assert positions(page) == [event["position"] for event in found["events"]]
    assert [event["cause"] for event in found["events"]] == [None, 1, 2, 1, None, 2]
    assert found["events"][4]["causationid"] == "z"
    shown = rows(page)
    assert shown[1].endswith(" 1")
    assert shown[4].endswith("not listed")
    assert f"{len(found['decisions'])} decisions, 0 evaluation scores and" in page


def test_the_tree_shows_each_event_below_its_cause(client: httpx.Client) -> None:
    page = page_of(client, ADDRESS, correlationid="order-7")
    drawn = [unescape(text) for text in re.findall(r'<text class="ink"[^>]*>(\d[^<]*)</text>', page)]
    assert [int(text.split()[0]) for text in drawn] == [1, 2, 3, 7, 4, 5]
    assert "6 events; 4 of them name one of the others as their cause." in page
    address = link(page, "SVG")
    assert address is not None
    file = client.get(address)
    assert file.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in file.headers["content-security-policy"]
    assert re.findall(r"<circle[^>]*/>", file.text) == re.findall(r"<circle[^>]*/>", page)
    assert "<desc>" in file.text
    numbers = re.findall(r"<tr><td>(\d+)</td><td>[^<]*</td><td>[^<]*</td><td>(\d*)</td></tr>", page)
    assert numbers == [("1", ""), ("2", "1"), ("3", "2"), ("4", "1"), ("5", ""), ("7", "2")]


def test_an_older_state(client: httpx.Client) -> None:
    page = page_of(client, ADDRESS, correlationid="order-7", as_of=3)
    assert positions(page) == [1, 2, 3]
    assert json_at(client, json_address(page)) == get(client, "/related", correlationid="order-7", as_of=3)
    assert "data-live" not in page
    assert positions(page_of(client, ADDRESS, correlationid="order-7", after=3)) == [4, 5, 7]
    assert 'data-live="correlationid=order-7"' in page_of(client, ADDRESS, correlationid="order-7")
    assert "is beyond the head" in page_of(client, ADDRESS, status=400, correlationid="order-7", after=99)


def test_many_events_are_listed_by_page_and_some_are_drawn(client: httpx.Client) -> None:
    post(client, [{**recorded(f"m{n}"), "id": f"m{n}", "causationid": f"m{n - 1}", "correlationid": "many"}
                  for n in range(130)])  # fmt: skip
    page = page_of(client, ADDRESS, correlationid="many")
    assert len(positions(page)) == 100
    assert len(re.findall("<circle", page)) == 40
    assert "The first 40 events are drawn." in page
    assert len(page.encode()) < 200_000
    address = link(page, "Search after position")
    assert address is not None
    assert len(positions(page_of(client, address))) == 30

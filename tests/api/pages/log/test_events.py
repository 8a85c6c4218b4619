"""The log: the rows are the events of the JSON route, whatever the filters; pages cover everything once."""

from collections.abc import Mapping
from itertools import chain

import httpx
import pytest

from tests.api.http.posts import Json, get, post, recorded, reviewed
from tests.api.pages.log.shown import json_address, json_at, link, page_of, positions, rows
from tests.support.server import served

AGENTS = ("scout", "planner", "claude")

FILTERS: tuple[Mapping[str, str], ...] = (
    {},
    {"type": "decision.reviewed.v1"},
    {"type": "decision.reviewed.v1,decision.recorded.v1", "source": "scout"},
    {"source": "/agents/planner"},
    {"subject": "decision/d3"},
    {"subject": "decision/d3,decision/d4", "type": "decision.recorded.v1"},
    {"correlationid": "order-2"},
    {"since": "2026-02-02", "until": "2026-02-03T12:00:00Z"},
    {"source": "scout", "since": "2026-02-03", "correlationid": "order-5"},
    {"source": "nobody"},
    {"before": "60"},
    {"source": "claude", "before": "100"},
    {"correlationid": "order-2", "before": "40"},
    {"before": "999999"},
    {"before": "1"},
)


def decisions(count: int) -> list[Json]:
    """Decisions of three agents, under ten correlation ids, on four days, every second one reviewed."""
    events: list[Json] = []
    for number in range(count):
        attributes = {"correlationid": f"order-{number % 10}", "time": f"2026-02-0{1 + number % 4}T10:00:00Z"}
        source = f"/agents/{AGENTS[number % 3]}"
        events.append({**recorded(f"d{number}"), **attributes, "id": f"e{number}", "source": source})
        if number % 2:
            events.append({**reviewed(f"d{number}"), **attributes, "causationid": f"e{number}"})
    return events


@pytest.fixture(scope="module", autouse=True)
def posted(client: httpx.Client) -> None:
    post(client, decisions(300))


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_the_rows_are_the_events_of_the_json_route(client: httpx.Client, filters: Mapping[str, str]) -> None:
    page = page_of(client, "/ui/log", filters)
    events = json_at(client, json_address(page))["events"]
    assert positions(page) == [event["position"] for event in events]
    for row, event in zip(rows(page), events, strict=True):
        time = f"{event['time'][:10]} {event['time'][11:19]}"
        agent = event["source"].removeprefix("/agents/")
        assert row == f"{event['position']:,} {time} {event['type']} {event['subject']} {agent}"
    whole = get(client, "/events", **filters, order="desc", limit=50)["events"]
    assert events == whole, "nothing that matches is left out"


@pytest.mark.parametrize("filters", [{}, {"type": "decision.recorded.v1"}, {"source": "scout"}], ids=str)
def test_links_lead_over_every_event_and_back(client: httpx.Client, filters: Mapping[str, str]) -> None:
    last = str(httpx.URL("/ui/log", params=filters))
    address: str | None = last
    down: list[list[int]] = []
    while address is not None:
        page = page_of(client, address)
        down.append(positions(page))
        last, address = address, link(page, "Older")
    every = get(client, "/events", **filters, order="desc", limit=1000)["events"]
    assert [*chain(*down)] == [event["position"] for event in every]
    assert len(down) > 1
    address, up = last, [down[-1]]
    while (address := link(page_of(client, address), "Newer")) is not None:
        up.append(positions(page_of(client, address)))
    assert up[-1] == down[0], "the last link leads to the newest events"
    assert set(chain(*up)) == set(chain(*down))
    assert "before" not in str(link(page_of(client, last), "Newest"))


def test_only_the_newest_events_are_live(client: httpx.Client) -> None:
    page = page_of(client, "/ui/log", source="scout", type="decision.recorded.v1")
    assert 'data-live="source=scout&amp;type=decision.recorded.v1"' in page
    assert 'data-live=""' in page_of(client, "/ui/log")
    assert "data-live" not in page_of(client, "/ui/log", before=50)


def test_a_form_without_values_has_no_filter(client: httpx.Client) -> None:
    page = page_of(client, "/ui/log?type=&source=&subject=&since=&until=&correlationid=")
    assert positions(page) == positions(page_of(client, "/ui/log"))


@pytest.mark.parametrize(
    "wrong", [{"type": "no.such.v1"}, {"since": "x"}, {"before": "0"}, {"before": "a"}, {"limit": "5"}, {"page": "2"}]
)
def test_wrong_filters_are_refused_as_by_the_json_route(client: httpx.Client, wrong: Mapping[str, str]) -> None:
    page = page_of(client, "/ui/log", wrong, status=400)
    if "limit" not in wrong:
        detail = client.get("/events", params=wrong).json()["detail"]
        assert detail.partition(": ")[0] in page.replace("&#39;", "'")


def test_the_form_shows_the_filters(client: httpx.Client) -> None:
    filters = {"source": 'sc"out', "subject": "decision/x", "since": "2026-02-01", "correlationid": "<b>"}
    page = page_of(client, "/ui/log", filters)
    for value in ("sc&#34;out", "decision/x", "2026-02-01", "&lt;b&gt;"):
        assert f'value="{value}"' in page
    several = page_of(client, "/ui/log", type="decision.recorded.v1,decision.reviewed.v1")
    assert "<option selected>decision.recorded.v1,decision.reviewed.v1</option>" in several
    assert "No event matches." in page


@pytest.mark.slow
def test_an_empty_ledger_has_pages(tmp_path_factory: pytest.TempPathFactory) -> None:
    with served(tmp_path_factory.mktemp("empty") / "l.db") as server, httpx.Client(base_url=server.url) as client:
        assert "The log is empty." in page_of(client, "/ui/log")
        assert "is not in the log" in page_of(client, "/ui/log/1", status=404)
        assert "No event has this correlation id." in page_of(client, "/ui/log/related", correlationid="x")
        assert "Name a correlation id." in page_of(client, "/ui/log/related")
        proof = page_of(client, "/ui/proof")
        assert "of 0 in the log" in proof

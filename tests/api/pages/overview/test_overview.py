"""The overview shows the figures of the JSON routes, and every ledger can be shown, an empty one and a hostile one."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import httpx
import pytest

from api.http.pages.response import POLICY
from api.reports.format import gap, gap_interval, rate
from tests.api.http.posted_evaluations import finished, scored, started
from tests.api.http.posts import LINES, ndjson, recorded, reviewed
from tests.api.pages.html_page import HtmlPage
from tests.support.server import served

Json = dict[str, Any]

NOW = datetime.now(UTC)
HOSTILE = "<script>alert(1)</script> \u202egnp.exe </title><b>"


def history(agent: str, days: range, chance: float, *, seed: int) -> Iterator[Json]:
    """Three decisions on each of some days, stated with 0.8, all but each tenth reviewed six hours later."""
    random = Random(seed)
    for number, day in enumerate(each for each in days for _ in range(3)):
        time, decision = NOW - timedelta(days=day - 0.5, minutes=number), f"{agent}-{number}"
        event = recorded(decision, decision=f"Choice {number}", confidence=0.8, category="tooling")
        yield {**event, "source": f"/agents/{agent}", "time": time.isoformat()}
        if number % 10:
            outcome = "success" if random.random() < chance else "failure"
            when = (time + timedelta(hours=6)).isoformat()
            yield {**reviewed(decision, outcome), "source": f"/agents/{agent}", "time": when}


def post_lines(client: httpx.Client, events: Iterator[Json] | list[Json]) -> None:
    """Append events."""
    assert client.post("/events", content=ndjson(events), headers=LINES).status_code == 201


def get(client: httpx.Client, address: str) -> Json:
    """The JSON at an address."""
    response = client.get(address)
    assert response.status_code == 200, response.text
    found: Json = response.json()
    return found


def look(client: httpx.Client, agent: str) -> Json:
    """The drift of an agent."""
    found: Json = get(client, f"/calibration?agent={agent}&include=drift")["drift"]
    return found


def page(client: httpx.Client, address: str = "/ui") -> HtmlPage:
    """The page at an address, when everything on it is computed."""
    while True:
        response = client.get(address)
        assert response.status_code == 200, response.text
        assert response.headers["content-security-policy"] == POLICY
        assert len(response.content) < 200_000
        if "data-unfinished" not in response.text:
            break
        sleep(0.05)
    found = HtmlPage(response.text)
    assert len(found.ids) == len(set(found.ids))
    assert "style" not in found.attributes | found.tags
    assert not [name for name in found.attributes if name.startswith("on")]
    return found


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A ledger of four agents: one calibrated, one overconfident, one that changed, one with two decisions."""
    with (
        served(tmp_path_factory.mktemp("overview") / "ledger.db") as server,
        httpx.Client(base_url=server.url, timeout=None) as client,
    ):
        post_lines(client, history("even", range(120, 60, -1), 0.8, seed=1))
        post_lines(client, history("bold", range(90, 20, -1), 0.45, seed=2))
        post_lines(client, history("turned", range(200, 100, -1), 0.85, seed=3))
        moved = history("turned", range(100, 0, -1), 0.25, seed=4)
        post_lines(client, [_renamed(event) for event in moved])
        post_lines(client, history("new", range(5, 4, -1), 1, seed=5))
        post_lines(
            client, [started("first", "incidents", agent="even"), scored("first", "dns", 90.0), finished("first")]
        )
        post_lines(client, [started("second", "incidents", agent="bold"), scored("second", "dns", 20.0)])
        yield client


def _renamed(event: Json) -> Json:
    return {**event, "data": {**event["data"], "decision_id": event["data"]["decision_id"] + "-later"}}


def shown_row(group: Json) -> list[str]:
    """The cells of an agent's row but for the verdict and the trend, from the JSON."""
    figures = f"{gap(group['gap'])} {_interval(group['gap_interval'])}" if group["gap"] is not None else "-"
    counts = f"{group['reviewed']:,} of {group['total']:,}"
    return [group["group"], counts, rate(group["mean_confidence"]), rate(group["accuracy"]), figures]


def _interval(ends: list[float]) -> str:
    return f"{gap(ends[0])} to {gap(ends[1])}"


@pytest.mark.parametrize(
    "query", ["", "?window=all", "?window=90d", "?window=30d", "?since=2020-01-01&until=2100-01-01"]
)
def test_rows_of_agents_equal_the_json(client: httpx.Client, query: str) -> None:
    shown = page(client, f"/ui{query}")
    (address,) = {each for each in shown.addresses if each.startswith("/calibration?") and "group_by=agent" in each}
    answer = get(client, address)
    if "window" in query:
        asked = get(client, f"/calibration{query}&group_by=agent&group_sort=decisions")
        assert [group["group"] for group in asked["groups"]] == [group["group"] for group in answer["groups"]]
    rows = shown.parts["agents"].cells[1:]
    assert [row[:5] for row in rows] == [shown_row(group) for group in answer["groups"]]
    for row, group in zip(rows, answer["groups"], strict=True):
        verdict = (group["interpretation"] or "too few reviews").replace("_", " ")
        assert verdict in row[5]
        assert ("supported" in row[5]) is bool(group["supported"])
        assert ("not sure" in row[5] or "not enough" in row[5]) is (group["supported"] is False)


def test_agents_with_the_most_decisions_are_first(client: httpx.Client) -> None:
    totals = [group["total"] for group in get(client, "/calibration?group_by=agent&group_sort=decisions")["groups"]]
    assert totals == sorted(totals, reverse=True)
    assert len(totals) == 4


def test_trends_equal_the_json(client: httpx.Client) -> None:
    response = client.get("/ui")
    for agent in ("even", "bold", "turned"):
        windows = get(client, f"/calibration?agent={agent}&include=trend")["trend"]["windows"]
        described = re.search(rf"Gap of {agent} over time</title><desc[^>]*>([^<]*)", response.text)
        assert described is not None
        known = [window for window in windows if window["gap"] is not None]
        first, last = known[0], known[-1]
        assert described[1].startswith(
            f"{len(known)} windows. First {gap(first['gap'])} ({_interval(first['gap_interval'])})"
        )
        assert f"last {gap(last['gap'])} ({_interval(last['gap_interval'])}), n={last['reviewed']}" in described[1]


@pytest.mark.slow
def test_drift_equals_the_json_and_has_its_interval(client: httpx.Client) -> None:
    shown = page(client)
    found = look(client, "turned")["change"]
    interval = f"between {found['earliest'][:10]} and {found['latest'][:10]} (90% interval)"
    assert interval in shown.parts["drift"].text
    assert f"(n={found['reviewed_before']:,})" in shown.parts["drift"].text
    (address,) = {each for each in shown.addresses if "include=drift" in each}
    overall = get(client, address)["drift"]
    assert overall["alarm"], "the history of this test has a change that is seen among all agents"
    assert (
        f"between {overall['change']['earliest'][:10]} and {overall['change']['latest'][:10]}"
        in shown.parts["drift"].text
    )
    quiet = [
        name
        for name in ("even", "bold")
        if not get(client, f"/calibration?agent={name}&include=drift")["drift"]["alarm"]
    ]
    assert f"No drift found in {len(quiet)} agent" in shown.parts["drift"].text


def test_counts_equal_the_json(client: httpx.Client) -> None:
    shown, status = page(client), get(client, "/status")
    contents = shown.parts["contents"].text
    for figure in (status["head"]["position"], status["decisions"], status["evaluations"], len(status["agents"])):
        assert f"{figure:,}" in contents
    assert f"Decisions {status['decisions']:,} {status['reviewed']:,} reviewed" in contents
    waiting = get(client, "/decisions?status=pending&order=asc&limit=1")
    assert f"To review {waiting['total']:,}" in contents
    oldest = waiting["decisions"][0]
    assert f"The oldest was made on {oldest['recorded_at'][:10]}" in shown.parts["waiting"].text
    before = (datetime.now(UTC) - timedelta(days=30)).isoformat().replace("+00:00", "Z")
    stale = client.get("/decisions", params={"status": "pending", "until": before, "limit": 1}).json()["total"]
    assert f"{stale} are older than 30 days" in shown.parts["waiting"].text
    call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.ready"}
    params = {"limit": 5, "actionTypes": ["stale_pending"]}
    ready = client.post("/cstp", json={**call, "params": params}).json()["result"]["actions"]
    assert [row[0] for row in shown.parts["waiting"].cells[1:]] == [action["title"] for action in ready]
    evaluations = get(client, "/evaluations?limit=5")["evaluations"]
    assert [row[0] for row in shown.parts["evaluations"].cells[1:]] == [each["run_id"] for each in evaluations]
    assert [row[6] for row in shown.parts["evaluations"].cells[1:]] == ["not ended", "ended"]


@pytest.mark.slow
def test_the_period_is_in_the_address(client: httpx.Client) -> None:
    assert page(client).current == ["/ui", "/ui"]
    assert page(client, "/ui?window=90d").current == ["/ui", "/ui?window=90d"]
    assert page(client, "/ui?since=2026-01-01").current == ["/ui"]
    assert "/ui/calibration?window=90d&agent=bold" in page(client, "/ui?window=90d").addresses
    assert [row[0] for row in page(client, "/ui?window=30d").parts["agents"].cells[1:]] == ["turned", "bold", "new"]
    nothing = page(client, "/ui?until=2001-01-01")
    assert "No decision was made in this period" in nothing.parts["agents"].text
    assert client.get("/ui?since=").status_code == 200


@pytest.mark.parametrize("query", ["window=7d", "since=soon", "window=30d&window=60d", "agents=bold"])
def test_a_wrong_period_is_the_error_of_the_json(client: httpx.Client, query: str) -> None:
    wrong = client.get(f"/ui?{query}")
    problem = client.get(f"/calibration?{query}").json()
    assert wrong.status_code == problem["status"] == 400
    if "agents" not in query:
        assert problem["detail"].replace("'", "&#39;") in wrong.text


@pytest.mark.slow
def test_an_empty_ledger_says_how_to_begin(tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db") as server, httpx.Client(base_url=server.url, timeout=None) as client:
        shown = page(client)
        assert "tallystick record" in shown.parts["contents"].text
        assert "tallystick review" in shown.parts["contents"].text
        assert server.url in shown.parts["contents"].text
        post_lines(client, [recorded("only", decision=HOSTILE, confidence=0.9)])
        shown = page(client)
        assert shown.parts["agents"].cells[1][1] == "0 of 1"
        assert "too few reviews" in shown.parts["agents"].cells[1][5]
        assert "Every decision has an outcome" not in shown.parts["waiting"].text
        post_lines(client, [reviewed("only")])
        assert "Every decision has an outcome" in page(client).parts["waiting"].text


def test_texts_of_agents_do_no_harm(tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db") as server, httpx.Client(base_url=server.url, timeout=None) as client:
        due = (NOW - timedelta(days=3)).isoformat()
        post_lines(
            client,
            [
                recorded("a", decision=HOSTILE, category=HOSTILE, review_by=due),
                recorded("b", decision="x" * 60_000, review_by=due),
                started("run", HOSTILE, agent=HOSTILE, agent_version=HOSTILE),
            ],
        )
        shown = page(client)
        text = client.get("/ui").text
        assert "<script>alert" not in text
        assert "\u202e" not in text
        assert text.count("<script") == 1
        assert "[U+202E]" in shown.parts["waiting"].text
        assert len(text) < 20_000


@pytest.mark.slow
def test_many_agents_are_cut_to_those_with_the_most_decisions(tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db") as server, httpx.Client(base_url=server.url, timeout=None) as client:
        for number in range(23):
            events = (recorded(f"d-{number}-{each}", confidence=0.6) for each in range(1 + number % 5))
            post_lines(client, [{**event, "source": f"/agents/agent-{number:02}"} for event in events])
        shown = page(client)
        counts = [int(row[1].split()[-1]) for row in shown.parts["agents"].cells[1:]]
        assert len(counts) == 20
        assert counts == sorted(counts, reverse=True)
        assert "/ui/calibration?group_by=agent" in shown.links["All 23 agents"]
        paged = get(client, "/calibration?group_by=agent&group_sort=decisions&limit=20&offset=20")
        assert [group["total"] for group in paged["groups"]] == [1, 1, 1]


def test_intervals_are_formatted_like_the_page() -> None:
    assert gap(-0.004) == "0.00"
    assert gap(0.051) == "+0.05"
    assert gap_interval(None) == ""

"""Queries of views: pages of groups, one query of a token at a time, a deadline, and an end when nobody waits."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.api.http.posts import LINES, Json, get, ndjson, recorded, reviewed
from tests.api.http.test_limits import refusal_of, wait_for_use
from tests.api.http.tokened import Tokened, tokened

pytestmark = pytest.mark.slow

FEATURES = 1_200
LONG = "/calibration?group_by=feature&detail=curves&min_decisions=1"
"""A query that takes a second or more: each group has a band of its own."""


def decisions() -> Iterator[Json]:
    """Decisions of many features; no two features have the same numbers of reviews by confidence."""
    for number in range(FEATURES):
        feature = f"feature-{number:04}"
        for level in range(5):
            for repeat in range(1 + (number >> (2 * level)) % 4):
                name = f"d-{number}-{level}-{repeat}"
                yield recorded(name, feature=feature, confidence=0.5 + level / 10)
                yield reviewed(name, "success" if (number + level + repeat) % 3 else "failure")


def fill(running: Tokened) -> None:
    events = list(decisions())
    with running.client("other") as client:
        for start in range(0, len(events), 2_000):
            answer = client.post("/events", content=ndjson(events[start : start + 2_000]), headers=LINES)
            assert answer.status_code == 201, answer.text
        get(client, "/decisions", limit=1)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokened]:
    with tokened(tmp_path_factory.mktemp("many") / "ledger.db") as running:
        fill(running)
        yield running


@pytest.mark.trial("C5")
def test_groups_come_in_pages(many: Tokened) -> None:
    with many.client("other") as client:
        first = get(client, "/calibration", group_by="feature", min_decisions=1)
        assert len(first["groups"]) == 1_000
        assert (first["groups_total"], first["groups_next"]) == (FEATURES, 1_000)
        rest = get(client, "/calibration", group_by="feature", min_decisions=1, offset=1_000)
        assert (rest["groups_total"], rest["groups_next"]) == (FEATURES, None)
        groups = [group["group"] for group in first["groups"] + rest["groups"]]
        assert groups == [f"feature-{number:04}" for number in range(FEATURES)]
        page = get(client, "/calibration", group_by="feature", min_decisions=1, limit=7, offset=500)
        assert page["groups"] == first["groups"][500:507]
        assert get(client, "/calibration", group_by="feature", offset=5_000)["groups"] == []
        whole = get(client, "/calibration", group_by="category")
        assert "groups_total" not in whole
        answer = client.post(
            "/cstp",
            json={
                "jsonrpc": "2.0", "id": 1, "method": "cstp.getCalibration",
                "params": {"groupBy": "feature", "limit": 3, "offset": 1_199},
            },
        ).json()["result"]  # fmt: skip
        assert [group["group"] for group in answer["groups"]] == ["feature-1199"]
        assert (answer["groupsTotal"], answer["groupsNext"]) == (FEATURES, None)


@pytest.mark.trial("C5")
def test_a_token_has_one_query_at_a_time_and_others_have_theirs(many: Tokened) -> None:
    with many.client("greedy") as greedy, many.client("other") as other, ThreadPoolExecutor(4) as threads:
        answers = [threads.submit(greedy.get, LONG) for _ in range(4)]
        wait_for_use(many, "queries", 1)
        assert many.uses("queries") == (2, 1)
        assert get(other, "/calibration", group_by="feature", limit=5)["groups_total"] == FEATURES
        assert not all(answer.done() for answer in answers), "the other did not wait for all of them"
        assert {answer.result().status_code for answer in answers} <= {200, 503}


@pytest.mark.trial("C5")
def test_a_query_ends_when_its_client_has_left(many: Tokened) -> None:
    held = [many.begin("greedy", "GET", LONG) for _ in range(4)]
    wait_for_use(many, "queries", 1)
    for connection in held:
        connection.close()
    wait_for_use(many, "queries", 0)
    assert len([line for line in many.server.log() if line["event"] == "fault"]) == 0
    assert len([line for line in many.server.log() if line.get("status") == 499]) == 4


@pytest.mark.trial("C5")
def test_a_query_has_a_deadline(tmp_path: Path) -> None:
    with tokened(tmp_path / "ledger.db", "--query-seconds", "0.1", "--queries", "1") as running:
        fill(running)
        with running.client("greedy") as greedy:
            answer = greedy.get(LONG)
            assert refusal_of(answer) == (503, "query-timeout")
            assert "0.1 s" in answer.json()["detail"]
            assert answer.json()["advice"]
            wait_for_use(running, "queries", 0)
            answer = greedy.post(
                "/cstp",
                json={
                    "jsonrpc": "2.0", "id": 1, "method": "cstp.getCalibration",
                    "params": {"groupBy": "feature", "detail": "curves", "minDecisions": 1},
                },
            )  # fmt: skip
            assert answer.json()["error"]["data"]["type"] == "QueryTimeout"
            assert answer.json()["error"]["data"]["retry_after_s"] == 1


@pytest.mark.trial("C5")
def test_a_server_that_stops_ends_queries(tmp_path: Path) -> None:
    with tokened(tmp_path / "ledger.db") as running, ThreadPoolExecutor(12) as threads:
        fill(running)
        with running.client("greedy") as greedy:
            answers = [threads.submit(greedy.get, LONG) for _ in range(12)]
            wait_for_use(running, "queries", 1)
            assert running.server.stop() == 0
            statuses = []
            for answer in answers:
                try:
                    statuses.append(answer.result().status_code)
                except httpx.TransportError:
                    statuses.append(0)
        assert 503 in statuses
        assert {200, 503, 0} >= {*statuses}

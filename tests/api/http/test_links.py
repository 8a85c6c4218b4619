"""Links over HTTP and on the command line: what is linked, who may, what is superseded, and the graph as of then."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.api.cli.command import done, refused
from tests.api.cstp.client import Caller
from tests.api.http.posts import Json, get, head, post, recorded
from tests.support.server import Served, served


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "ledger.db") as server:
        yield server


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=None) as client:
        for number in range(4):
            post(client, recorded(f"d{number}", confidence=0.5))
        yield client


def link(client: httpx.Client, source: str, target: str, edge_type: str = "relates_to", /, **more: object) -> Json:
    """Link two decisions, with fields of the payload; `id` and `prefix` are those of the body."""
    body = {name: more.pop(name) for name in ("id", "prefix", "source") if name in more}
    data = {"source_id": source, "target_id": target, "edge_type": edge_type, **more}
    response = client.post("/links", json={"data": data, **body})
    assert response.status_code in (200, 201), response.text
    answer: Json = response.json()
    assert (response.status_code == 200) == answer["duplicate"]
    return answer


def refusal(client: httpx.Client, **data: object) -> Json:
    """The problem of a link that must be refused, of which nothing is written."""
    before = head(client)
    response = client.post("/links", json={"data": {"source_id": "d0", "target_id": "d1", **data}, "prefix": True})
    assert head(client) == before
    problem: Json = response.json()
    return problem


def test_a_link_is_an_event_and_a_retry_writes_nothing(client: httpx.Client) -> None:
    first = link(client, "d1", "d0", "supersedes", id="once", weight=0.5, context="better", source="/agents/ann")
    assert (first["position"], first["duplicate"], first["unknown"]) == (5, False, [])
    event = get(client, "/events/5")
    assert (event["subject"], event["source"]) == (f"link/{first['link_id']}", "/agents/ann")
    assert event["data"] == {
        "link_id": first["link_id"], "source_id": "d1", "target_id": "d0", "edge_type": "supersedes", "weight": 0.5,
        "context": "better",
    }  # fmt: skip
    again = link(client, "d1", "d0", "supersedes", id="once", weight=0.5, context="better", source="/agents/ann")
    assert again == first | {"duplicate": True}
    assert head(client) == 5
    assert link(client, "d1", "elsewhere")["unknown"] == ["elsewhere"]


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"edge_type": "likes"}, "data.edge_type"),
        ({}, "data.edge_type"),
        ({"edge_type": "supersedes", "weight": 0}, "data.weight"),
        ({"edge_type": "supersedes", "weight": 1.5}, "data.weight"),
        ({"edge_type": "supersedes", "target_id": "a b"}, "data.target_id"),
        ({"edge_type": "supersedes", "target_id": "d0"}, "data"),
        ({"edge_type": "supersedes", "unknown": 1}, "data.unknown"),
    ],
)
def test_a_wrong_link_is_refused_by_field(client: httpx.Client, data: dict[str, object], field: str) -> None:
    problem = refusal(client, **data)
    assert (problem["status"], problem["field"]) == (422, field)


@pytest.mark.slow
def test_a_beginning_of_several_ids_is_refused_and_of_one_is_enough(client: httpx.Client) -> None:
    assert refusal(client, edge_type="supersedes", target_id="d")["status"] == 404
    post(client, recorded("unique-id"))
    assert link(client, "uniq", "d0", prefix=True)["source_id"] == "unique-id"
    assert link(client, "uniq", "d0")["unknown"] == ["uniq"]


def test_a_superseded_decision_shows_it_everywhere(server: Served, client: httpx.Client, tmp_path: Path) -> None:
    link(client, "d1", "d0", "supersedes")
    link(client, "d2", "d0", "supersedes")
    link(client, "d3", "d0", "depends_on")
    assert get(client, "/decisions/d0")["superseded_by"] == ["d1", "d2"]
    assert "superseded_by" not in get(client, "/decisions/d1")
    assert "superseded_by" not in get(client, "/decisions/d0", as_of=4)
    listed = {one["decision_id"]: one.get("superseded_by") for one in get(client, "/decisions")["decisions"]}
    assert listed == {"d0": ["d1", "d2"], "d1": None, "d2": None, "d3": None}
    with Caller(server.url) as caller:
        assert caller.decision("d0")["superseded_by"] == ["d1", "d2"]
    assert "superseded by  d1, d2" in done(tmp_path / "ledger.db", "decision", "d0").text
    assert client.post("/retractions", json={"data": {"decision_id": "d1", "reason": "twice"}}).status_code == 201
    assert get(client, "/decisions/d0")["superseded_by"] == ["d2"]


def test_the_graph_is_walked_in_a_direction_up_to_a_depth_and_as_of_then(client: httpx.Client) -> None:
    for number in range(3):
        link(client, f"d{number}", f"d{number + 1}", "depends_on", weight=0.5)
    link(client, "d0", "elsewhere")
    graph = get(client, "/decisions/d0/graph", depth=2)
    assert [one["decision_id"] for one in graph["decisions"]] == ["d0", "d1", "elsewhere", "d2"]
    assert (graph["total"], graph["as_of"]["position"]) == (3, 8)
    assert graph["decisions"][2] == {"decision_id": "elsewhere", "in_degree": 1, "out_degree": 0}
    assert get(client, "/decisions/d0/graph", depth=5, edge_type="depends_on")["total"] == 3
    assert get(client, "/decisions/d0/graph", direction="incoming", depth=5)["total"] == 0
    few = get(client, "/decisions/d0/graph", depth=5, limit=1)
    assert (len(few["links"]), few["total"], len(few["decisions"])) == (1, 4, 2)
    then = get(client, "/decisions/d0/graph", depth=5, as_of=5)
    assert (then["total"], [one["decision_id"] for one in then["decisions"]]) == (1, ["d0", "d1"])
    neighbors = get(client, "/decisions/d1/neighbors")
    assert [(one["decision"]["decision_id"], one["link"]["weight"]) for one in neighbors["neighbors"]] == [
        ("d0", 0.5), ("d2", 0.5),
    ]  # fmt: skip
    assert get(client, "/decisions/elsewhere/neighbors")["total"] == 1
    for path, parameters, status in (
        ("/decisions/nobody/graph", {}, 404),
        ("/decisions/d/neighbors", {"prefix": "true"}, 404),
        ("/decisions/d0/graph", {"depth": 6}, 400),
        ("/decisions/d0/neighbors", {"direction": "up"}, 400),
    ):
        assert client.get(path, params=parameters).status_code == status


@pytest.mark.slow
def test_a_file_and_a_server_give_the_same_graph_and_the_command_writes_both(server: Served, tmp_path: Path) -> None:
    other, named = tmp_path / "other.db", ("--url", server.url)
    for options in ((), named):
        for name in ("old", "new"):
            done(other, "record", f"Do {name}", "--agent", "scout", "--id", name, *options)
        ended = done(other, "link", "new", "old", "--edge-type", "supersedes", "--weight", 0.5, "--by", "ann", *options)
        assert (ended.text, "is not in the ledger" in ended.err) == ("new old\n", False)
        ended = done(other, "link", "old", "gone", "--edge-type", "depends_on", "--by", "ann", *options)
        assert "Decision gone is not in the ledger." in ended.err
    graphs = [
        msgspec.json.decode(done(other, "graph", "old", "--depth", 2, "--json", *options).out)
        for options in ((), named)
    ]
    for graph in graphs:
        del graph["as_of"]
        for one in graph["decisions"]:
            one.pop("recorded_at", None)
        for one in graph["links"]:
            del one["created_at"]
    assert graphs[0] == graphs[1]
    shown = done(other, "graph", "ol", "--edge-type", "supersedes").text
    assert "superseded by new" in shown
    assert "gone" not in shown
    assert "Decision not found: nobody" in refused(other, "graph", "nobody", code=1)
    assert "--weight" in refused(other, "link", "a", "b", "--edge-type", "supersedes", "--weight", 2)
    assert "--edge-type" in refused(other, "link", "a", "b", "--edge-type", "likes")
    assert "two different decisions" in refused(other, "link", "a", "a", "--edge-type", "supersedes")


def test_a_token_that_only_reads_may_not_link(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    tokens = {
        scope: done(ledger, "token", "add", "scout", "--scope", scope).text.split()[-1] for scope in ("read", "append")
    }
    body = {"data": {"source_id": "a", "target_id": "b", "edge_type": "relates_to"}}
    with served(ledger) as server:
        for scope, status in (("read", 403), ("append", 201)):
            headers = {"authorization": f"Bearer {tokens[scope]}"}
            assert httpx.post(f"{server.url}/links", json=body, headers=headers).status_code == status
        headers = {"authorization": f"Bearer {tokens['read']}"}
        neighbors = httpx.get(f"{server.url}/decisions/a/neighbors", headers=headers).json()
        assert neighbors["neighbors"][0]["link"]["created_by"] == "scout"

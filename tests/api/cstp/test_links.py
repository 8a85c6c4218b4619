"""Links over CSTP: linkDecisions, getNeighbors, getGraph, and relatedTo of recordDecision."""

from typing import Any

import pytest

from tests.api.cstp.client import Caller
from tests.api.http.posts import head

EDGE = ["sourceId", "targetId", "edgeType", "weight", "createdAt", "createdBy"]


def link(cstp: Caller, source: str, target: str, edge_type: str = "relates_to", **more: object) -> dict[str, Any]:
    params = {"sourceId": source, "targetId": target, "edgeType": edge_type, **more}
    return cstp.result("linkDecisions", params)


@pytest.mark.trial("D9")
def test_a_link_has_the_shape_of_the_protocol(cstp: Caller) -> None:
    old, new = cstp.record(decision="Poll"), cstp.record(decision="Subscribe", confidence=0.8, tags=["queue"])
    answer = link(cstp, new, old, "supersedes", weight=0.5, context="Polling was slow")
    assert list(answer) == ["success", "edge"]
    assert answer["success"] is True
    assert list(answer["edge"]) == [*EDGE, "context"]
    assert [answer["edge"][name] for name in (*EDGE[:4], "createdBy", "context")] == [
        new, old, "supersedes", 0.5, "anonymous", "Polling was slow",
    ]  # fmt: skip
    assert link(cstp, old, "elsewhere")["unknown"] == ["elsewhere"]
    assert cstp.decision(old)["superseded_by"] == [new]
    assert "superseded_by" not in cstp.decision(new)
    graph = cstp.result("getGraph", {"nodeId": new, "depth": 2})
    assert list(graph) == ["centerId", "depth", "nodes", "edges"]
    assert (graph["centerId"], graph["depth"]) == (new, 2)
    assert [node["id"] for node in graph["nodes"]] == [new, old, "elsewhere"]
    assert [edge["edgeType"] for edge in graph["edges"]] == ["supersedes", "relates_to"]
    assert graph["nodes"][2] == {
        "id": "elsewhere", "category": "", "stakes": "", "date": "", "inDegree": 1, "outDegree": 0,
    }  # fmt: skip
    node = graph["nodes"][0]
    assert list(node)[:6] == ["id", "category", "stakes", "date", "inDegree", "outDegree"]
    stated = (node["summary"], node["confidence"], node["tags"], node["inDegree"], node["outDegree"])
    assert stated == ("Subscribe", 0.8, ["queue"], 0, 1)
    assert graph["edges"][0] == answer["edge"]


@pytest.mark.trial("D9")
def test_the_centre_is_in_a_graph_without_links_and_an_unknown_one_is_a_result(cstp: Caller) -> None:
    alone = cstp.record()
    graph = cstp.result("getGraph", {"nodeId": alone, "depth": 9})
    assert (graph["depth"], [node["id"] for node in graph["nodes"]], graph["edges"]) == (5, [alone], [])
    assert cstp.result("getNeighbors", {"id": alone}) == {"nodeId": alone, "neighbors": [], "total": 0}
    assert cstp.result("getGraph", {"node_id": "not-here", "depth": 0}) == {
        "centerId": "not-here", "depth": 1, "nodes": [], "edges": [], "error": "Node not found: not-here",
    }  # fmt: skip
    assert cstp.result("getNeighbors", {"nodeId": "not-here", "direction": "both", "edgeType": None}) == {
        "nodeId": "not-here", "neighbors": [], "total": 0, "error": "Node not found: not-here",
    }  # fmt: skip


def test_neighbours_are_ordered_by_weight_and_filtered(cstp: Caller, project: str) -> None:
    centre = cstp.record()
    for number in range(5):
        link(cstp, centre, f"{project}-{number}", weight=(number + 1) / 5)
    link(cstp, f"{project}-9", centre, "depends_on")
    link(cstp, centre, f"{project}-0", weight=0.9)
    answer = cstp.result("getNeighbors", {"nodeId": centre})
    assert [one["edge"]["weight"] for one in answer["neighbors"]] == [1, 1, 0.9, 0.8, 0.6, 0.4]
    assert answer["total"] == 6
    one = cstp.result("getNeighbors", {"nodeId": centre, "edge_type": "depends_on", "direction": "incoming"})
    assert [row["node"]["id"] for row in one["neighbors"]] == [f"{project}-9"]
    few = cstp.result("getNeighbors", {"nodeId": centre, "direction": "outgoing", "limit": 0})
    assert (few["total"], few["available"], len(few["neighbors"])) == (1, 5, 1)
    types = {"nodeId": centre, "edgeTypes": ["supersedes", "depends_on"]}
    assert len(cstp.result("getGraph", types)["edges"]) == 1


@pytest.mark.trial("D9")
def test_related_decisions_are_linked_with_the_decision(cstp: Caller) -> None:
    near, far = cstp.record(decision="Poll"), cstp.record(decision="Wait")
    related = [{"id": near, "summary": "Poll", "distance": 0.25}, {"id": far, "distance": 1.5}, {"id": "elsewhere"}]
    params = {"decision": "Subscribe", "relatedTo": related, "idempotencyKey": f"key-{near}"}
    before = head(cstp.http)
    answer = cstp.result("recordDecision", params)
    assert (answer["related_count"], answer["graph_edges_created"]) == (3, 3)
    assert head(cstp.http) == before + 4
    assert cstp.decision(answer["id"])["related_to"] == [
        {"id": near, "summary": "Poll", "distance": 0.25}, {"id": "elsewhere", "summary": "", "distance": 0.5},
        {"id": far, "summary": "Wait", "distance": 0.99},
    ]  # fmt: skip
    assert "related_to" not in cstp.decision(near)
    assert cstp.result("recordDecision", params)["id"] == answer["id"]
    assert head(cstp.http) == before + 4
    assert "is taken" in cstp.error("recordDecision", {**params, "relatedTo": related[:2]})[1]
    assert head(cstp.http) == before + 4


def test_the_graph_can_be_read_as_of_a_position_and_a_time(cstp: Caller, project: str) -> None:
    centre = cstp.record()
    link(cstp, centre, f"{project}-1", weight=0.5)
    before = head(cstp.http)
    moment = cstp.http.get(f"/events/{before}").json()["recordedtime"]
    link(cstp, centre, f"{project}-1", weight=0.9)
    link(cstp, f"{project}-1", f"{project}-2", "depends_on")
    for as_of in (before, str(before), moment):
        for name in ("asOf", "as_of"):
            around = cstp.result("getNeighbors", {"nodeId": centre, name: as_of})
            assert [row["edge"]["weight"] for row in around["neighbors"]] == [0.5]
            graph = cstp.result("getGraph", {"nodeId": centre, "depth": 3, name: as_of})
            assert [node["id"] for node in graph["nodes"]] == [centre, f"{project}-1"]
    assert len(cstp.result("getGraph", {"nodeId": centre, "depth": 3})["nodes"]) == 3
    routed = cstp.http.get(f"/decisions/{centre}/graph", params={"depth": "3", "as_of": str(before)}).json()
    assert [one["decision_id"] for one in routed["decisions"]] == [centre, f"{project}-1"]
    earlier = cstp.result("getNeighbors", {"nodeId": f"{project}-2", "asOf": before})
    assert earlier["error"] == f"Node not found: {project}-2"
    for method in ("getNeighbors", "getGraph"):
        code, message = cstp.error(method, {"nodeId": centre, "asOf": 10_000_000})
        assert (code, message.startswith("asOf: 10000000 is beyond the head")) == (-32602, True)
        assert cstp.error(method, {"nodeId": centre, "as_of": "soon"})[0] == -32602


def test_a_retry_of_a_link_writes_nothing(cstp: Caller) -> None:
    first, before = link(cstp, "a", "b", idempotencyKey="once"), head(cstp.http)
    assert link(cstp, "a", "b", idempotencyKey="once") == first
    assert head(cstp.http) == before
    params = {"sourceId": "a", "targetId": "c", "edgeType": "relates_to", "idempotencyKey": "once"}
    assert "is taken" in cstp.error("linkDecisions", params)[1]


LINK = {"sourceId": "a", "targetId": "b", "edgeType": "relates_to"}


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("getNeighbors", {}, "nodeId is required"),
        ("getGraph", {"nodeId": ""}, "nodeId is required"),
        ("getNeighbors", {"nodeId": 5}, "Validation failed: nodeId: must be a text"),
        (
            "getGraph",
            {"nodeId": "a", "direction": 5},
            "Validation failed: direction: must be one of {both,",
        ),
        ("getGraph", {"nodeId": "a", "edgeTypes": [5]}, "Validation failed: edgeTypes: must be"),
        ("linkDecisions", {"sourceId": "a"}, "targetId is required; edgeType is required"),
        ("linkDecisions", {**LINK, "targetId": "a"}, "sourceId and targetId must be different (no self-loops)"),
        ("linkDecisions", {**LINK, "edgeType": "likes"}, "edgeType must be one of: relates_to, supersedes, depends_on"),
        ("linkDecisions", {**LINK, "weight": 0}, "weight must be positive"),
        ("linkDecisions", {**LINK, "weight": 2}, "weight must be at most 1"),
        ("linkDecisions", {**LINK, "sourceId": "../x"}, "Validation failed: sourceId: must be 1..64 of letters"),
        ("recordDecision", {"decision": "x", "related_to": [{}]}, "Validation failed: related_to[0].id: required"),
        (
            "recordDecision",
            {"decision": "x", "relatedTo": [{"id": "a b"}]},
            "Validation failed: relatedTo[0].id:",
        ),
        (
            "recordDecision",
            {"decision": "x", "relatedTo": [{"id": "a", "distance": -1}]},
            "Validation failed: relatedTo[0].distance: must be a number from 0",
        ),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(
    cstp: Caller, method: str, params: dict[str, object], message: str
) -> None:
    before = head(cstp.http)
    code, reported = cstp.error(method, params)
    assert code == -32602
    assert reported.startswith(message)
    assert head(cstp.http) == before

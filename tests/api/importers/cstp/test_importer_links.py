"""import cstp of an installation with links, preserved decisions and a graph file: kept as events, or named."""

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cli.test_import import events
from tests.api.cstp.client import Caller
from tests.api.importers.cstp.test_importer import shown, taken
from tests.support.cstp_installation import decision, reviewed, write_file, write_store
from tests.support.server import serving

pytestmark = pytest.mark.trial("D4")

T1, T2 = "2026-02-06T08:00:00+00:00", "2026-02-07T08:00:00+00:00"


def edge(source: str, target: str, edge_type: str = "relates_to", **more: object) -> dict[str, object]:
    """A line of a graph file, as CSTP writes it."""
    line = {
        "source_id": source, "target_id": target, "edge_type": edge_type, "weight": 1.0, "created_at": T1,
        "created_by": "scout", "context": None,
    }  # fmt: skip
    return {**line, **more}


def write_graph(path: Path, *lines: Mapping[str, object] | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = (line if isinstance(line, bytes) else msgspec.json.encode(line) for line in lines)
    path.write_bytes(b"".join(line + b"\n" for line in content))
    return path


def links(ledger: Path) -> list[dict[str, Any]]:
    """The links of a ledger: the payload, with source and time of the event."""
    found = [event for event in events(ledger) if event["type"] == "decision.linked.v1"]
    return [{**event["data"], "by": event["source"].rpartition("/")[2], "time": event["time"]} for event in found]


def named(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Name of the file, field and value of each loss."""
    return sorted((Path(one["file"]).name, one["field"], one["value"]) for one in report["losses"])


RELATED = [
    {"id": "aaaa", "summary": "Do aaaa", "distance": 0.232},
    {"id": "gone", "summary": "An erased decision", "distance": 0.5},
]


def installation(folder: Path) -> Path:
    """Decisions with links and results, one of them preserved, a store, and a graph file with a bad line."""
    write_file(folder / "decisions", decision("aaaa", preserve=False))
    write_file(folder / "decisions", decision("bbbb", related_to=RELATED, preserve=True))
    write_file(folder / "decisions", reviewed("cccc", "success", result="p99 halved", date="2026-02-08T10:00:00+00:00"))
    write_store(folder / "data" / "decisions.db", [decision("aaaa"), decision("dddd")])
    write_graph(
        folder / "data" / "graph_edges.jsonl",
        edge("bbbb", "aaaa", weight=0.768, created_by="auto-link", created_at=T1),
        edge("cccc", "aaaa", "supersedes", weight=0.5, context="first"),
        b'{"source_id": "cccc", "target_id"',
        edge("cccc", "aaaa", "supersedes", weight=0.9, context="again", created_at=T2, created_by="warden"),
        edge("dddd", "lost", "depends_on"),
    )
    return folder


@pytest.mark.slow
def test_links_are_kept_and_what_is_not_is_named(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", installation(tmp_path / "installation")
    report = taken(ledger, folder, code=1)
    assert not report["complete"]
    assert (report["graph_files"], report["links"], report["linked"], report["recorded"]) == (1, 4, 4, 4)
    assert named(report) == [
        ("graph_edges.jsonl", "line 3", '{"source_id": "cccc", "target_id"'),
    ]
    assert report["contradictions"] == []
    assert [{name: value for name, value in link.items() if name != "link_id"} for link in links(ledger)] == [
        {"source_id": "bbbb", "target_id": "aaaa", "edge_type": "relates_to", "weight": 0.768, "context": "Do aaaa",
         "created_by": "auto-link", "by": "scout", "time": "2026-02-06T08:00:00.000000Z"},
        {"source_id": "cccc", "target_id": "aaaa", "edge_type": "supersedes", "weight": 0.9, "context": "again",
         "by": "warden", "time": "2026-02-07T08:00:00.000000Z"},
        {"source_id": "dddd", "target_id": "lost", "edge_type": "depends_on", "weight": 1.0,
         "by": "scout", "time": "2026-02-06T08:00:00.000000Z"},
        {"source_id": "bbbb", "target_id": "gone", "edge_type": "relates_to", "weight": 0.5,
         "context": "An erased decision", "created_by": "system", "by": "scout", "time": "2026-02-05T10:00:00.000000Z"},
    ]  # fmt: skip
    kept = [event["subject"] for event in events(ledger) if event["type"] == "decision.preserved.v1"]
    assert (kept, report["preserved"], shown(ledger, "bbbb")["preserve"]) == (["decision/bbbb"], 1, True)
    assert shown(ledger, "cccc")["review"]["actual_result"] == "p99 halved"
    assert shown(ledger, "aaaa")["superseded_by"] == ["cccc"]
    before = done(ledger, "log", "--json").out
    again = taken(ledger, folder, code=1)
    assert (again["appended"], again["linked"], again["preserved"], again["unchanged"]) == (0, 0, 0, 4)
    assert named(again) == named(report)
    assert done(ledger, "log", "--json").out == before
    ended = tally(ledger, "import", "cstp", folder)
    assert "4 links (1 graph file)." in ended.text
    assert 'graph_edges.jsonl: line 3 is \'{"source_id": "cccc", "target_id"\'; allowed: a link as a' in ended.err


@pytest.mark.slow
def test_a_server_takes_it_and_answers_as_the_old_one(tmp_path: Path) -> None:
    folder = installation(tmp_path / "installation")
    with serving(tmp_path / "t.db") as url, Caller(url) as caller:
        report = taken(tmp_path / "none.db", folder, "--url", url, code=1)
        assert (report["linked"], report["recorded"]) == (4, 4)
        found = caller.decision("bbbb")
        assert found["related_to"] == [
            {"id": "aaaa", "summary": "Do aaaa", "distance": 0.232},
            {"id": "gone", "summary": "An erased decision", "distance": 0.5},
        ]
        assert (found["preserve"], report["preserved"]) == (True, 1)
        assert caller.result("compact") == {
            "compacted": 4, "preserved": 1, "levels": caller.result("getCompacted")["levels"], "dryRun": False,
        }  # fmt: skip
        rows = caller.result("getCompacted", {"level": "full"})["decisions"]
        assert {row["id"] for row in rows} == {"aaaa", "bbbb", "dddd"}, "preserved, or not reviewed"
        graph = caller.result("getGraph", {"nodeId": "bbbb", "depth": 5})
        assert {node["id"] for node in graph["nodes"]} == {"aaaa", "bbbb", "cccc", "gone"}
        assert {edge["createdBy"] for edge in graph["edges"]} == {"auto-link", "warden", "system"}
        assert httpx.get(f"{url}/decisions/aaaa").json()["superseded_by"] == ["cccc"]
        assert taken(tmp_path / "none.db", folder, "--url", url, code=1)["appended"] == 0


def test_an_installation_whose_links_all_fit_is_complete(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "installation"
    write_file(folder, decision("bbbb", related_to=["aaaa", {"id": "cccc", "distance": 0}], preserve=False))
    report = taken(ledger, folder)
    assert (report["complete"], report["linked"]) == (True, 2)
    assert [(link["target_id"], link.get("weight")) for link in links(ledger)] == [("aaaa", None), ("cccc", 1.0)]
    graph = write_graph(
        tmp_path / "edges.jsonl", edge("bbbb", "dddd"), {"source": "a", "target": "b", "type": "depends_on"}
    )
    alone = taken(ledger, graph)
    assert (alone["graph_files"], alone["linked"], alone["decisions"]) == (1, 2, 0)
    assert links(ledger)[-1]["by"] == "anonymous"


BAD: tuple[tuple[Mapping[str, object] | bytes, str, str], ...] = (
    (b"[1]", "line 1", "[1]"),
    (b"\xff", "line 1", "\\xff"),
    (edge("aaaa", "aaaa"), "line 1.target_id", "aaaa"),
    (edge("aaaa", "a b"), "line 1.target_id", "a b"),
    (edge("aaaa", "bbbb", "contradicts"), "line 1.edge_type", "contradicts"),
    ({"source_id": "aaaa", "edge_type": "relates_to"}, "line 1.target_id", ""),
)


@pytest.mark.parametrize(("line", "field", "value"), BAD)
def test_a_line_that_is_no_link_is_named(
    tmp_path: Path, line: Mapping[str, object] | bytes, field: str, value: str
) -> None:
    graph = write_graph(tmp_path / "graph.jsonl", line, edge("aaaa", "bbbb"))
    report = taken(tmp_path / "t.db", graph, code=1)
    assert named(report) == [("graph.jsonl", field, value)]
    assert {one["left_out"] for one in report["losses"]} == {"line 1"}
    assert len(links(tmp_path / "t.db")) == 1


def test_a_value_that_does_not_fit_is_left_out_and_the_link_kept(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "installation"
    write_graph(folder / "graph.jsonl", edge("aaaa", "bbbb", weight=2, created_at="then", colour="red"))
    related = [{"id": "cccc", "distance": 1.3}, {"id": "bbbb"}, {"id": "dddd", "distance": "far", "mood": 1}, ["x"]]
    write_file(folder, decision("bbbb", related_to=related))
    write_file(folder, decision("eeee", related_to={"id": "x"}))
    report = taken(ledger, folder, code=1)
    assert named(report) == [
        ("2026-02-05-decision-bbbb.yaml", "related_to[0].distance", "1.3"),
        ("2026-02-05-decision-bbbb.yaml", "related_to[1].id", "bbbb"),
        ("2026-02-05-decision-bbbb.yaml", "related_to[2].distance", "far"),
        ("2026-02-05-decision-bbbb.yaml", "related_to[2].mood", "1"),
        ("2026-02-05-decision-bbbb.yaml", "related_to[3]", '["x"]'),
        ("2026-02-05-decision-eeee.yaml", "related_to", '{"id":"x"}'),
        ("graph.jsonl", "line 1.colour", "red"),
        ("graph.jsonl", "line 1.created_at", "then"),
        ("graph.jsonl", "line 1.weight", "2.0"),
    ]
    assert [(link["source_id"], link["target_id"], link.get("weight")) for link in links(ledger)] == [
        ("aaaa", "bbbb", None), ("bbbb", "cccc", 0.01), ("bbbb", "dddd", None),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_link_that_changed_in_the_ledger_stays_and_a_newer_one_replaces_it(tmp_path: Path) -> None:
    ledger, graph = tmp_path / "t.db", tmp_path / "graph.jsonl"
    write_graph(graph, edge("aaaa", "bbbb", weight=0.4))
    assert taken(ledger, graph)["linked"] == 1
    done(ledger, "link", "aaaa", "bbbb", "--edge-type", "relates_to", "--weight", 0.9)
    assert taken(ledger, graph)["linked"] == 0
    write_graph(graph, edge("aaaa", "bbbb", weight=0.5, created_at=T2))
    report = taken(ledger, graph, code=1)
    assert (report["linked"], report["contradictions"][0]["taken"], report["contradictions"][0]["other"]) == (
        0,
        "0.9",
        "0.5",
    )
    assert report["contradictions"][0]["field"] == "the link to bbbb (relates_to)"
    write_graph(graph, edge("aaaa", "bbbb", weight=0.6, created_at="2036-01-01T00:00:00+00:00"))
    assert taken(ledger, graph)["linked"] == 1


def test_two_files_that_differ_about_a_link_are_a_contradiction(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "installation"
    write_graph(folder / "graph.jsonl", edge("bbbb", "aaaa", weight=0.5, context="by hand"))
    write_file(folder, decision("aaaa"))
    write_file(folder, decision("bbbb", related_to=[{"id": "aaaa", "summary": "Do a...", "distance": 0.1}]))
    report = taken(ledger, folder, code=1)
    assert [one["field"] for one in report["contradictions"]] == ["the weight of the link to aaaa"]
    assert report["losses"] == []
    write_file(folder, decision("bbbb", related_to=[{"id": "aaaa", "summary": "Other words", "distance": 0.5}]))
    assert named(taken(ledger, folder, code=1)) == [
        ("2026-02-05-decision-bbbb.yaml", "related_to[0].summary", "Other words")
    ]


RULES = "- id: no-low-confidence\n  condition_confidence: '< 0.5'\n  action: block\n"
BREAKERS = "circuit_breakers:\n- scope: stakes:high\n  failure_threshold: 3\n"
CONTROLS = "framework: SR 11-7\nrules:\n- id: mv-1\n"
NO_GUARDRAILS = "guardrails: []\n"


def evidence(path: Path) -> Path:
    """A chain of evidence, as CSTP keeps it in the file that PROVENANCE_DB names."""
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE events (seq INTEGER PRIMARY KEY, ts TEXT, event_type TEXT, evidence_class TEXT, payload TEXT,"
        " prev_hash TEXT, hash TEXT)"
    )
    connection.execute("INSERT INTO events VALUES (1, '2026-02-05', 'pr_merged', 'observed', '{}', '', 'ab')")
    connection.execute("CREATE TABLE checkpoints (seq INTEGER)")
    connection.commit()
    connection.close()
    return path


@pytest.mark.slow
def test_other_data_of_an_installation_is_named(tmp_path: Path) -> None:
    ledger, folder = tmp_path / "t.db", tmp_path / "installation"
    store = write_store(folder / "decisions.db", [decision("aaaa")])
    connection = sqlite3.connect(store)
    connection.execute("CREATE TABLE graph_edges (source_id TEXT, target_id TEXT)")
    connection.execute("INSERT INTO graph_edges VALUES ('a', 'b')")
    connection.commit()
    connection.close()
    evidence(folder / "provenance.db")
    evidence(folder / "provenance")
    chroma = sqlite3.connect(folder / "chroma.sqlite3")
    for table in ("collections", "embeddings", "segments"):
        chroma.execute(f"CREATE TABLE {table} (id TEXT)")
        chroma.execute(f"INSERT INTO {table} VALUES ('a')")
    chroma.commit()
    chroma.close()
    (folder / "audit").mkdir()
    texts = {
        "circuit_breakers.jsonl": '{"scope": "global"}\n', "states.jsonl": '{"scope": "global", "state": "open"}\n',
        "rules.yaml": RULES, "wrapped.yml": f"guardrails:\n{RULES}", "circuit_breakers.yaml": BREAKERS,
        "controls.yaml": CONTROLS, "audit/2026-02-05.json": "[]", "audit.log": "checked\n",
        "none.yaml": NO_GUARDRAILS, "server.yaml": "server:\n  port: 8100\n", "notes.jsonl": '{"note": 1}\n',
        "bundle.json": "{}", "README.md": "text",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    os.mkfifo(folder / "pipe.jsonl")
    os.mkfifo(folder / "pipe.db")
    report = taken(ledger, folder, code=1)
    pipe = "not a regular file, but a folder, a pipe or a device"
    lost = (
        "2026-02-05.json", "audit.log", "circuit_breakers.jsonl", "circuit_breakers.yaml", "controls.yaml",
        "rules.yaml", "states.jsonl", "wrapped.yml",
    )  # fmt: skip
    assert named(report) == sorted(
        [
            *((name, "file", name) for name in lost),
            *((name, "file", pipe) for name in ("pipe.jsonl", "pipe.db")),
            *((name, "table events", "1 row") for name in ("provenance", "provenance.db")),
            ("decisions.db", "table graph_edges", "1 row"),
        ]
    )
    skipped = ("bundle.json", "chroma.sqlite3", "none.yaml", "notes.jsonl", "server.yaml")
    assert [Path(path).name for path in report["passed_over"]] == [*skipped]
    allowed = {Path(one["file"]).name: one["allowed"] for one in report["losses"]}
    assert allowed["rules.yaml"].endswith("it holds guardrails: set them with tallystick guardrail set")
    assert allowed["provenance.db"].endswith("record its events again with cstp.ingestEvidence")
    assert (report["recorded"], report["complete"]) == (1, False)
    done(ledger, "guardrail", "set", folder / "rules.yaml")
    done(ledger, "breakers", "set", folder / "circuit_breakers.yaml")
    (tmp_path / "empty").mkdir()
    refused(ledger, "import", "cstp", tmp_path / "empty")


def test_a_ledger_in_the_folder_is_no_part_of_the_installation(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    write_file(tmp_path, decision("aaaa"))
    assert taken(ledger, tmp_path)["recorded"] == 1
    done(ledger, "decisions", "--search", "aaaa")
    again = taken(ledger, tmp_path)
    assert (again["complete"], again["unchanged"]) == (True, 1)
    assert "t.db" in [Path(path).name for path in again["passed_over"]]


@pytest.mark.slow
def test_what_the_ledger_said_later_about_a_preserved_decision_stays(tmp_path: Path) -> None:
    folder = tmp_path / "installation"
    write_file(folder, decision("aaaa", preserve=True))
    write_file(folder, decision("bbbb"))
    with serving(tmp_path / "t.db") as url, Caller(url) as caller:
        assert taken(tmp_path / "none.db", folder, "--url", url)["preserved"] == 1
        assert caller.result("setPreserve", {"id": "aaaa", "preserve": False})["success"]
        assert taken(tmp_path / "none.db", folder, "--url", url)["appended"] == 0
        assert "preserve" not in caller.decision("aaaa")
        write_file(folder, decision("bbbb", preserve=True))
        assert taken(tmp_path / "none.db", folder, "--url", url)["preserved"] == 1, "marked since"
        assert caller.decision("bbbb")["preserve"] is True
        write_file(folder, decision("dddd"))
        assert taken(tmp_path / "none.db", folder, "--url", url)["recorded"] == 1
        caller.events([{"type": "decision.preserved.v1", "data": {"decision_id": "dddd", "preserve": False}}])
        write_file(folder, decision("dddd", preserve=True))
        report = taken(tmp_path / "none.db", folder, "--url", url, code=1)
        (conflict,) = report["contradictions"]
        assert (conflict["field"], conflict["taken"], conflict["other"]) == ("preserve", "false", "true")
        assert report["appended"] == 0

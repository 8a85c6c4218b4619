"""A CSTP installation on disk: decision files and a SQLite store, as its server leaves them, and damaged."""

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

COLUMNS = (
    "id", "decision", "confidence", "category", "stakes", "status", "context", "recorded_by", "project", "feature",
    "pr", "pattern", "outcome", "outcome_result", "outcome_lessons", "outcome_notes", "reviewed_at", "created_at",
    "updated_at",
)  # fmt: skip

_TABLES = """
CREATE TABLE decisions (id TEXT PRIMARY KEY, decision TEXT NOT NULL, confidence REAL NOT NULL, category TEXT NOT NULL,
  stakes TEXT NOT NULL DEFAULT 'medium', status TEXT NOT NULL DEFAULT 'pending', context TEXT, recorded_by TEXT,
  project TEXT, feature TEXT, pr INTEGER, pattern TEXT, outcome TEXT, outcome_result TEXT, outcome_lessons TEXT,
  outcome_notes TEXT, reviewed_at TEXT, created_at TEXT NOT NULL, updated_at TEXT);
CREATE TABLE decision_tags (decision_id TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (decision_id, tag));
CREATE TABLE decision_reasons (id INTEGER PRIMARY KEY AUTOINCREMENT, decision_id TEXT NOT NULL, type TEXT NOT NULL,
  text TEXT NOT NULL, strength REAL DEFAULT 0.8);
CREATE TABLE decision_bridge (decision_id TEXT PRIMARY KEY, structure TEXT, function TEXT, tolerance TEXT,
  enforcement TEXT, prevention TEXT);
CREATE TABLE decision_deliberation (decision_id TEXT PRIMARY KEY, inputs_json TEXT, steps_json TEXT,
  total_duration_ms INTEGER);
CREATE VIRTUAL TABLE decisions_fts USING fts5(id UNINDEXED, decision, context, pattern, content=decisions,
  content_rowid=rowid);
"""

_RENAMED = {"actual_result": "outcome_result", "lessons": "outcome_lessons", "review_notes": "outcome_notes"}

WHOLE: dict[str, Any] = {
    "id": "3f2a9c1e",
    "summary": "Use the connection pool of the gateway",
    "decision": "Use the connection pool of the gateway",
    "category": "architecture",
    "confidence": 0.85,
    "stakes": "high",
    "status": "reviewed",
    "date": "2026-02-05T10:00:00.123456+00:00",
    "context": "Timeouts under load, ünïcode too",
    "reasons": [
        {"type": "analysis", "text": "Idle connections are the cost", "strength": 0.9},
        {"type": "empirical", "text": "It halved the time elsewhere", "strength": 0.7},
    ],
    "trace": [{"step": 1, "thought": "Measure", "output": "40 ms", "confidence": 0.6, "tags": ["load"]}],
    "deliberation": {
        "inputs": [{"id": "i1", "text": "The profile", "source": "file", "timestamp": "2026-02-05T09:58:00+00:00"}],
        "steps": [
            {"step": 1, "thought": "Pools are cheap", "inputs_used": ["i1"], "duration_ms": 900, "type": "analysis"},
            {"step": 2, "thought": "So pool", "conclusion": True},
        ],
        "total_duration_ms": 1200,
        "convergence_point": 2,
    },
    "bridge": {
        "structure": "a pool", "function": "fewer handshakes", "tolerance": ["its size"], "enforcement": ["a limit"],
        "prevention": ["leaks"],
    },
    "kpi_indicators": ["p99"],
    "mental_state": "deliberate",
    "review_by": "2026-02-12",
    "tags": ["pool", "gateway"],
    "pattern": "Share what is costly to open",
    "pre_decision": {"query_run": True, "similar_found": 2, "guardrails_checked": True, "guardrails_passed": True},
    "recorded_by": "scout",
    "project": "acme/gateway",
    "feature": "pooling",
    "pr": 42,
    "file": "gateway/pool.py",
    "line": 17,
    "commit": "0123456",
    "outcome": "success",
    "reviewed_at": "2026-02-10T12:00:00.500000+00:00",
    "actual_result": "p99 halved",
    "lessons": "Idle time first",
    "review_notes": "Watch the limit",
    "affected_kpis": {"p99": -0.5},
    "reviewed_by": "warden",
}  # fmt: skip
"""A decision with every field that CSTP writes and an event has."""


def decision(decision_id: str, **fields: object) -> dict[str, Any]:
    """A pending decision of scout's, as CSTP writes it, with other fields where given; None takes one away."""
    text = fields.get("decision", f"Do {decision_id}")
    base = {
        "id": decision_id, "summary": text, "decision": text, "category": "tooling", "confidence": 0.7,
        "stakes": "medium", "status": "pending", "date": "2026-02-05T10:00:00+00:00", "recorded_by": "scout",
    }  # fmt: skip
    return {name: value for name, value in {**base, **fields}.items() if value is not None}


def reviewed(decision_id: str, outcome: str, **fields: object) -> dict[str, Any]:
    """A reviewed decision of scout's."""
    review = {"status": "reviewed", "outcome": outcome, "reviewed_at": "2026-02-10T12:00:00+00:00"}
    return decision(decision_id, **{**review, **fields})


def write_file(
    folder: Path, said: Mapping[str, Any] | str | bytes, name: str | None = None, changed: str | None = None
) -> Path:
    """A decision file where CSTP puts it; text and bytes are written as they are. `changed` is its time of change."""
    if name is None:
        assert isinstance(said, Mapping)
        day = str(said.get("date", "2026-02-05"))[:10]
        name = f"{day[:4]}/{day[5:7]}/{day}-decision-{said['id']}.yaml"
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(said, Mapping):
        said = yaml.dump(dict(said), default_flow_style=False, sort_keys=False)
    path.write_bytes(said if isinstance(said, bytes) else said.encode())
    if changed is not None:
        moment_s = datetime.fromisoformat(changed).timestamp()
        os.utime(path, (moment_s, moment_s))
    return path


def write_store(path: Path, decisions: Iterable[Mapping[str, Any]], *, updated_at: str | None = None) -> Path:
    """A SQLite store of decisions that are given as files would hold them; closed as its server closes it."""
    connection = open_store(path)
    for said in decisions:
        put(connection, said, updated_at)
    connection.commit()
    connection.close()
    return path


def open_store(path: Path) -> sqlite3.Connection:
    """A new store, with its log live until the connection is closed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(_TABLES)
    return connection


def put(connection: sqlite3.Connection, said: Mapping[str, Any], updated_at: str | None = None) -> None:
    """Save a decision as the server does: what it does not know, it fills in or loses."""
    row = {_RENAMED.get(name, name): value for name, value in said.items()}
    row = {"confidence": 0.0, "category": "", "stakes": "medium", "status": "pending"} | row
    row.setdefault("created_at", said.get("date", "2026-02-05T10:00:00+00:00"))
    row.setdefault("updated_at", updated_at or said.get("reviewed_at") or row["created_at"])
    marks = ", ".join("?" * len(COLUMNS))
    connection.execute(f"INSERT INTO decisions VALUES ({marks})", [row.get(name) for name in COLUMNS])
    for tag in said.get("tags", ()):
        connection.execute("INSERT INTO decision_tags VALUES (?, ?)", (said["id"], tag))
    for reason in said.get("reasons", ()):
        values = (said["id"], reason.get("type", ""), reason.get("text", ""), reason.get("strength", 0.8))
        connection.execute(
            "INSERT INTO decision_reasons (decision_id, type, text, strength) VALUES (?, ?, ?, ?)", values
        )
    if bridge := said.get("bridge"):
        lists = [
            json.dumps(bridge[name]) if bridge.get(name) else None
            for name in ("tolerance", "enforcement", "prevention")
        ]
        values = (said["id"], bridge.get("structure"), bridge.get("function"), *lists)
        connection.execute("INSERT INTO decision_bridge VALUES (?, ?, ?, ?, ?, ?)", values)
    if found := said.get("deliberation"):
        values = (said["id"], *_as_json(found, "inputs", "steps"), found.get("total_duration_ms"))
        connection.execute("INSERT INTO decision_deliberation VALUES (?, ?, ?, ?)", values)


def _as_json(part: Mapping[str, Any], *names: str) -> list[str | None]:
    return [json.dumps(part[name]) if part.get(name) else None for name in names]

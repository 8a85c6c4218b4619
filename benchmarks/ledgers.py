"""Ledger files to measure on: mixed histories of decisions and reviews, made through the log itself."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from events.decision import DecisionRecorded, DecisionReviewed
from events.envelope import Draft
from events.registry import VOCABULARY
from ledger import SqliteLog

BATCH = 1_000
AGENTS = 8
CATEGORIES = ("architecture", "process", "integration", "tooling", "security", "operations")
STAKES = ("low", "medium", "high", "critical")
PROJECTS = ("apollo", "gemini", "mercury")
OUTCOMES = ("success", "success", "success", "partial", "failure", "abandoned")

SINGLE = (
    b'{"type":"decision.recorded.v1","data":{"decision":"Use the connection pool of the gateway","confidence":0.8,'
    b'"category":"architecture","stakes":"high","project":"apollo"}}'
)
"""One event as an agent posts it."""

BATCH_BODY = b"\n".join([SINGLE] * BATCH)
"""A thousand of them as NDJSON."""

_recorded = VOCABULARY.kinds["decision.recorded.v1"].draft
_reviewed = VOCABULARY.kinds["decision.reviewed.v1"].draft


async def make(path: Path, events: int, *, seed: int = 7) -> None:
    """A ledger of a number of events: decisions, each followed by its review some hundred events later."""
    log = await SqliteLog.open(path)
    try:
        batch: list[Draft] = []
        for draft in _history(events, random.Random(seed)):
            batch.append(draft)
            if len(batch) == BATCH:
                await log.append(batch)
                batch = []
        if batch:
            await log.append(batch)
    finally:
        await log.close()


def _history(events: int, rng: random.Random) -> Iterator[Draft]:
    waiting: list[tuple[str, str]] = []
    for number in range(events):
        if len(waiting) > 100 or events - number <= len(waiting):
            decision_id, source = waiting.pop(0)
            outcome = rng.choice(OUTCOMES)
            yield _reviewed(data=DecisionReviewed(decision_id=decision_id, outcome=outcome), source=source)  # type: ignore[arg-type]
            continue
        decision_id, source = f"{number:08x}", f"/agents/agent-{rng.randrange(AGENTS)}"
        waiting.append((decision_id, source))
        data = DecisionRecorded(
            decision_id=decision_id,
            decision=f"Use the connection pool of the gateway for service {number}",
            confidence=rng.randrange(10, 20) / 20,
            category=rng.choice(CATEGORIES),
            stakes=rng.choice(STAKES),  # type: ignore[arg-type]
            project=rng.choice(PROJECTS),
        )
        yield _recorded(data=data, source=source)


def rows(path: Path) -> list[tuple[object, ...]]:
    """Every row of a ledger file, as plain SQLite reads it."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT * FROM events ORDER BY position").fetchall()
    finally:
        connection.close()

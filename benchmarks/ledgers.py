"""Make ledger files for measurements: histories of decisions and reviews, appended through the log itself."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from api.importers.runs.reader import decode_report
from api.importers.runs.to_events import run_events
from events.decision import DecisionRecorded, DecisionReviewed
from events.envelope import Draft
from events.registry import VOCABULARY
from ledger.sqlite.log import SqliteLog

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
"""One event as an agent sends it."""

BATCH_BODY = b"\n".join([SINGLE] * BATCH)
"""A thousand such events as NDJSON."""

_reviewed = VOCABULARY.event_types["decision.reviewed.v1"].draft


async def make_ledger(path: Path, events: int, *, seed: int = 7) -> None:
    """Make a ledger of decisions, each followed by its review about a hundred events later."""
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
    unreviewed: list[tuple[str, str]] = []
    for number in range(events):
        if len(unreviewed) > 100 or events - number <= len(unreviewed):
            decision_id, source = unreviewed.pop(0)
            outcome = rng.choice(OUTCOMES)
            yield _reviewed(data=DecisionReviewed(decision_id=decision_id, outcome=outcome), source=source)  # type: ignore[arg-type]
            continue
        decision_id, source = f"{number:08x}", f"/agents/agent-{rng.randrange(AGENTS)}"
        unreviewed.append((decision_id, source))
        data = DecisionRecorded(
            decision_id=decision_id,
            decision=f"Use the connection pool of the gateway for service {number}",
            confidence=rng.randrange(10, 20) / 20,
            category=rng.choice(CATEGORIES),
            stakes=rng.choice(STAKES),  # type: ignore[arg-type]
            project=rng.choice(PROJECTS),
        )
        yield VOCABULARY.draft_of(data, source=source)


async def make_run_ledger(path: Path, runs: int, attempts: int, *, seed: int = 7) -> None:
    """Make a ledger of imported runs; each attempt has an output of about 1 KB and a score."""
    log = await SqliteLog.open(path)
    rng = random.Random(seed)
    try:
        batch: list[Draft] = []
        for number in range(runs):
            converted = run_events(
                "", decode_report(msgspec.json.encode(make_run_report(f"run-{number:06}", attempts, rng))), "agent-0"
            )
            if len(batch) + len(converted.drafts) > BATCH:
                await log.append(batch)
                batch = []
            batch.extend(entry.draft for entry in converted.drafts)
        await log.append(batch)
    finally:
        await log.close()


def make_run_report(run_id: str, attempts: int, rng: random.Random) -> dict[str, object]:
    """Make a run report as a client writes it, with random models and outputs."""
    models = [{"model_name": f"model-{name}-1", "provider": "Example"} for name in rng.sample(range(40), attempts)]
    results = [
        {
            "iteration": number,
            "model": model,
            "exclusion_prompt": f"You must not be: {', '.join(previous['model_name'] for previous in models[:number])}",
            "probe": {
                "probe_id": "refactor-v1",
                "raw_output": _output(rng),
                "score": {
                    "renames": rng.randrange(7), "function_splits": rng.randrange(4),
                    "comments_added": rng.randrange(5), "structural_changes": rng.randrange(5),
                    "total_score": rng.randrange(21) / 20,
                },
                "elapsed_ns": rng.randrange(10**10),
            },
            "timestamp": f"2026-02-21T16:{number:02}:08.945237141+02:00",
        }
        for number, model in enumerate(models)
    ]  # fmt: skip
    return {
        "run_id": run_id,
        "start_time": "2026-02-21T15:59:23.895071036+02:00",
        "end_time": "2026-02-21T16:59:14.782359404+02:00",
        "config": {"max_iterations": 15, "probe_id": "refactor-v1", "terminate_on_repeat": True},
        "results": results,
        "unique_models": models,
        "termination_reason": "report_requested",
    }


def _output(rng: random.Random) -> str:
    """Make code of about 1 KB."""
    head = "// total adds up what is large.\nfunc total(values []int) int {\n\ttotal := 0\n"
    steps = "".join(f"\tif value > {rng.randrange(1000)} {{\n\t\ttotal += value - {n}\n\t}}\n" for n in range(22))
    return f"{head}{steps}\treturn total\n}}\n"


def read_rows(path: Path) -> list[tuple[object, ...]]:
    """Read all rows of a ledger file with plain SQLite."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT * FROM events ORDER BY position").fetchall()
    finally:
        connection.close()

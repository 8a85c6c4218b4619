"""A ledger whose ids, names and numbers are as long as they may be."""

import json
from pathlib import Path

import msgspec

from events.decision import DecisionRecorded, DecisionReviewed
from events.discovery import DiscoveryAttempted, DiscoveryFinished, DiscoveryStarted
from events.model import ModelIdentity, ModelRegistered
from events.payload import Payload
from events.probe import ProbeScored, score_id_of
from tests.api.cli.command import done
from tests.api.cli.evaluating import agent, evaluate, suite
from tests.support.drafts import draft_of


def long_name(word: str, length: int = 64) -> str:
    """A name of some length that begins with a word, without two equal parts."""
    numbers = "".join(f".{number:02}" for number in range(length))
    return f"{word}{numbers}"[: length - 1] + "z"


AGENTS = (long_name("ann"), long_name("bo"))
DECISIONS = tuple(f"{number:02}-{long_name('decision', 61)}" for number in range(12))
RUN = long_name("run")
EVALUATION = long_name("evaluation")
SUITE = long_name("suite")
SCENARIOS = tuple(f"{number}-{long_name('scenario', 62)}" for number in range(2))
MODEL = long_name("model")
PROVIDER = long_name("provider")
ROUTER = long_name("router")
CATEGORY = long_name("category")
TEXT = "Keep " + " ".join(f"word{number}" for number in range(60))
"""A free text, which may be cut."""

RULE = long_name("rule")
SCOPE = f"category:{long_name('category')}"
ADDRESS = f"https://{long_name('receiver', 60)}.example.com/{long_name('hook')}"

ERASED, KEPT = b"erased bytes", b"kept bytes"


def wide_ledger(folder: Path) -> Path:
    """Make the ledger, with a token and an evaluation."""
    ledger = folder / "wide.db"
    done(ledger, "append", given=b"\n".join(_lines()))
    for number, data in enumerate((ERASED, KEPT)):
        file = folder / f"{number}.txt"
        file.write_bytes(data)
        done(ledger, "evidence", "put", file, "--note", TEXT[:200])
    erased = msgspec.json.decode(done(ledger, "evidence", "list", "--json").out)["evidence"][0]["digest"]
    done(ledger, "evidence", "erase", erased, "--reason", TEXT[:200], "--yes")
    fixtures = suite(folder / "suite", SCENARIOS)
    command = agent(folder / "agent", "answer(given['evidence']['log'] if case.startswith('0') else 'nothing')")
    words = ("--agent", command, "--agent-name", AGENTS[0], "--agent-version", long_name("version"))
    ended = evaluate(ledger, fixtures, *words, "--name", SUITE, "--run", EVALUATION)
    assert ended.code == 1, ended.err
    rule = {"id": RULE, "condition_stakes": "high", "action": "warn", "message": TEXT, "description": TEXT[:200]}
    done(ledger, "guardrail", "set", "-", given=json.dumps(rule).encode())
    done(ledger, "guardrail", "check", "Drop the table", "--stakes", "high")
    done(ledger, "breakers", "set", "-", given=json.dumps({"circuit_breakers": [{"scope": SCOPE}]}).encode())
    done(ledger, "link", DECISIONS[0], DECISIONS[1], "--edge-type", "supersedes", "--context", TEXT)
    done(ledger, "webhook", "add", ADDRESS, "--event", "drift", "--event", "guardrail")
    done(ledger, "token", "add", AGENTS[0], "--scope", "read", "--scope", "append", "--days", 30)
    return ledger


def _lines() -> list[bytes]:
    """What `append` reads: decisions of two agents, and a discovery run with scores."""
    lines: list[bytes] = []
    for number, decision in enumerate(DECISIONS):
        source = f"/agents/{AGENTS[number % 2]}"
        recorded = DecisionRecorded(
            decision_id=decision, decision=TEXT, confidence=0.9, category=CATEGORY, stakes="critical",
            project=long_name("project"), feature=long_name("feature"),
        )  # fmt: skip
        reviewed = DecisionReviewed(decision_id=decision, outcome="success" if number < 5 else "abandoned")
        lines += [msgspec.json.encode(draft_of(payload, source=source)) for payload in (recorded, reviewed)]
    return lines + [msgspec.json.encode(draft_of(payload, source=f"/agents/{AGENTS[0]}")) for payload in _run()]


def _run() -> list[Payload]:
    """A discovery run of one model, registered, whose answer has two scores."""
    claimed = ModelIdentity(model_name=MODEL, provider=PROVIDER)
    scored = [
        ProbeScored(
            score_id=score_id_of(RUN, attempt, "refactor-go@1"), probe_id="refactor-go", probe_version="1",
            scorer_id="refactor-go", scorer_version="1", run_id=RUN, attempt=attempt, model_name=MODEL,
            total_score=0.123456, valid=True, counts={"renames": 123456, "function_splits": 98765},
            dimension_scores={"maintainability": 0.9, "readability": 0.123},
        )
        for attempt in (1, 2)
    ]  # fmt: skip
    return [
        ModelRegistered(key=long_name("key"), provider=PROVIDER, name=MODEL, version=MODEL, note=TEXT[:200]),
        DiscoveryStarted(run_id=RUN, router=ROUTER, requested_model=MODEL, probe_id="refactor-go", probe_version="1"),
        DiscoveryAttempted(
            run_id=RUN, attempt=1, outcome="accepted", iteration=0, claimed=claimed, reported_model=MODEL,
            response="func F() {}", elapsed_ns=123_456_789_000_000,
        ),
        DiscoveryAttempted(run_id=RUN, attempt=2, outcome="unparsable", response="?", detail=TEXT[:200]),
        *scored,
        DiscoveryFinished(run_id=RUN, ending="max_iterations", reason=TEXT[:100]),
    ]  # fmt: skip

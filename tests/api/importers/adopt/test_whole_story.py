"""Decisions with tests, work in git, observations, reviews by rules: also if that is killed, or done again."""

import json
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from examples import recompute_reviews
from tests.api.cli.command import command, done, environment
from tests.instruments.git.made_repository import DAY_S, START_S, MadeRepository
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

CODE = "one two three four five six seven eight"


def decided(name: str, day: float, confidence: float = 0.8, rule: str = "git.kept:14d") -> list[dict[str, object]]:
    """A decision with its test, as it was recorded on a day."""
    moment = datetime.fromtimestamp(START_S + day * DAY_S, UTC).isoformat()
    data: dict[str, object] = {"decision_id": name, "decision": "d", "confidence": confidence}
    return [
        {"type": "decision.recorded.v1", "time": moment, "data": data},
        {"type": "decision.test_stated.v1", "time": moment, "data": {"decision_id": name, "rule": rule}},
    ]


def lines(events: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def reviews(ledger: Path) -> dict[str, list[str]]:
    """The outcomes of the reviews of each decision."""
    found: dict[str, list[str]] = {}
    logged = done(ledger, "log", "--type", "decision.reviewed.v2", "--json").text.splitlines()
    for data in (json.loads(line)["data"] for line in logged):
        found.setdefault(data["decision_id"], []).append(data["outcome"])
    return found


def test_work_in_git_resolves_decisions(tmp_path: Path) -> None:
    made, ledger = MadeRepository(tmp_path / "made"), tmp_path / "t.db"
    made.change({"base.py": CODE}, "Begin", day=0)
    events: list[dict[str, object]] = []
    for number, name in enumerate(("kept", "reverted", "fixed", "merged")):
        events += decided(name, number + 1)
    done(ledger, "append", given=lines([*events, *decided("nowhere", 9)]))
    for number, name in enumerate(("kept", "reverted", "fixed")):
        message = f"Do {name}\n\nTallystick-Decision: {name}"
        made.change({f"{name}.py": f"{CODE} {name}"}, message, day=number + 1)
    made.git("checkout", "-q", "-b", "side")
    made.change({"side.py": f"{CODE} side"}, "Side\n\nTallystick-Decision: merged", day=4)
    made.git("checkout", "-q", "main")
    made.git("merge", "-q", "--no-ff", "-m", "Merge side", "side", day=5)
    made.git("revert", "--no-edit", made.git("log", "--format=%H", "--grep=Do reverted"), day=6)
    made.change({"fixed.py": f"{CODE} mended"}, "fix: mend it", day=7)
    adopt = ("adopt", "git", made.path, "--record", "--seen-through", "now")
    assert done(ledger, *adopt).code == 0
    resolved = json.loads(done(ledger, "resolve", "--json").out)
    assert {one["decision_id"]: one["state"] for one in resolved["resolved"]} == {
        "kept": "succeeded", "reverted": "failed", "fixed": "failed", "merged": "succeeded",
    }  # fmt: skip
    assert resolved["states"] == {"succeeded": 2, "failed": 2, "waiting": 1}
    for words in (adopt, ("resolve",), ("resolve", "--dry-run")):
        done(ledger, *words)
    assert reviews(ledger) == {
        "kept": ["success"],
        "reverted": ["failure"],
        "fixed": ["failure"],
        "merged": ["success"],
    }
    report = json.loads(done(ledger, "calibration", "--min-decisions", 1, "--json").out)
    assert report["coverage"]["reviewed"] == 4
    done(ledger, "export", "--output", tmp_path / "audit")
    assert recompute_reviews.main(tmp_path / "audit" / "events.ndjson") == 0
    done(ledger, "verify", tmp_path / "audit")
    done(tmp_path / "copy.db", "import", "ledger", tmp_path / "audit")
    assert done(tmp_path / "copy.db", "tests", "--json").out == done(ledger, "tests", "--json").out


def test_a_resolver_may_be_killed_at_any_point(tmp_path: Path) -> None:
    made, ledger, random = MadeRepository(tmp_path / "made"), tmp_path / "t.db", Random(5)
    events = [event for number in range(2_000) for event in decided(f"d{number}", 1)]
    for start in range(0, len(events), 1_000):
        done(ledger, "append", given=lines(events[start : start + 1_000]))
    for part in range(8):
        named = "\n".join(f"Tallystick-Decision: d{250 * part + number}" for number in range(250))
        made.change({f"{part}.py": CODE}, f"Part {part}\n\n{named}", day=1 + part / 10)
    done(ledger, "adopt", "git", made.path, "--record", "--seen-through", "now")
    killed = 0
    while len(reviews(ledger)) < 2_000:
        words, nothing = command(ledger, "resolve"), subprocess.DEVNULL
        process = subprocess.Popen(words, env=environment(), cwd=ROOT, stdout=nothing, stderr=nothing)
        time.sleep(random.uniform(0.2, 2.0) if killed < 6 else 0)
        if killed < 6:
            killed += process.poll() is None
            process.kill()
        process.wait()
    assert {len(found) for found in reviews(ledger).values()} == {1}
    assert "2,000" in done(ledger, "tests", "--state", "succeeded").text
    done(ledger, "verify")

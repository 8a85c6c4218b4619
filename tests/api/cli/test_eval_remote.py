"""What another runner posts is worth what `eval run` records: the same boards, runs and comparisons."""

from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.api.cli.evaluating import (
    NAMES,
    PASSES,
    agent,
    evaluate,
    suite,
)
from tests.api.http.posts import get, post
from tests.support.server import served

pytestmark = pytest.mark.slow

Json = dict[str, Any]

WORSE = """
if case == "crash-loop":
    sys.exit(3)
answer(given["evidence"]["log"] if case == "image-pull" else "no idea")
"""
SAID = (
    "run_id",
    "suite",
    "agent",
    "agent_version",
    "baseline",
    "scenario_id",
    "attempt",
    "state",
    "total_score",
    "passed",
)
"""What a runner says that says no more than it must."""

MOMENTS = ("as_of", "started_at", "finished_at", "first_at", "last_at", "position")
LEFT_OUT = (
    "answers", "suite_digest", "scorer_id", "scorer_version", "planned", "elapsed_ns", "usage", "name", "family",
    "failure_type",
)  # fmt: skip


def without(view: object, names: tuple[str, ...]) -> object:
    """Return a view without some fields, at any depth."""
    if isinstance(view, dict):
        return {name: without(reported, names) for name, reported in view.items() if name not in names}
    return [without(one, names) for one in view] if isinstance(view, list) else view


def test_other_runners_count_the_same(tmp_path: Path) -> None:
    fixtures = suite(tmp_path / "kube", NAMES)
    good, worse = agent(tmp_path / "good", PASSES), agent(tmp_path / "worse", WORSE)
    with (
        served(tmp_path / "ours.db") as ours,
        served(tmp_path / "same.db") as same,
        served(tmp_path / "brief.db") as brief,
    ):
        for name, version, line in (("one", "1", good), ("two", "2", worse)):
            evaluate(
                tmp_path / "none.db", fixtures, "--agent", line, "--agent-name", "rca", "--agent-version", version,
                "--attempts", 2, "--run", name, "--url", ours.url,
            )  # fmt: skip
        with httpx.Client(base_url=ours.url, timeout=None) as client:
            lines = client.get("/events", headers={"accept": "application/x-ndjson"}).content.splitlines()
            reported = [msgspec.json.decode(line, type=Json) for line in lines]
            board = get(client, "/scoreboard")
            run = get(client, "/evaluations/two")
            change = get(client, "/evaluations/compare", baseline="one", candidate="two")
        row = next(row for row in board["suites"][0]["rows"] if row.get("agent_version") == "2")
        assert (row["errors"], row["regressed"]) == (2, ["crash-loop", "out-of-memory"])
        assert change["regressions"] == 2

        drafts = [
            {"type": event["type"], "data": event["data"]} for event in reported if event["type"].startswith("eval.")
        ]
        with httpx.Client(base_url=same.url, timeout=None) as client:
            post(client, drafts)
            assert without(get(client, "/scoreboard"), MOMENTS) == without(board, MOMENTS)
            assert without(get(client, "/evaluations/two"), MOMENTS) == without(run, MOMENTS)
            again = get(client, "/evaluations/compare", baseline="one", candidate="two")
            assert without(again, MOMENTS) == without(change, MOMENTS)

        short = [
            {"type": draft["type"], "data": {name: said for name, said in draft["data"].items() if name in SAID}}
            for draft in drafts
            if not draft["type"].startswith("eval.scenario")
        ]
        with httpx.Client(base_url=brief.url, timeout=None) as client:
            post(client, short)
            left = (*MOMENTS, *LEFT_OUT)
            assert without(get(client, "/scoreboard"), left) == without(board, left)
            again = get(client, "/evaluations/compare", baseline="one", candidate="two")
            found = ("lost", "gained", "reason")
            assert without(again, (*left, *found)) == without(change, (*left, *found))

"""An embeddings endpoint that is down: an error of the attempt, never a 0, and comparable again once it is up."""

from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, tally
from tests.api.cli.evaluating import evaluate, events, of_type, scenario, scores
from tests.instruments.evals.embedder import Embedder, Reply, embedder

pytestmark = pytest.mark.slow

EXPECTED = {"root_cause": {"patterns": ["memory was used up"], "match_type": "semantic"}}
CAPTURED = {"rca": {"root_cause": "It was OOM"}}


def suite(folder: Path) -> Path:
    """A suite of two scenarios, one of which needs the endpoint."""
    scenario(folder, "meaning", expected_outcomes=EXPECTED, captured=CAPTURED)
    scenario(folder, "literal", captured={"rca": {"root_cause": "the cause of literal"}})
    return folder


def variables(endpoint: Embedder, model: str = "meadow-embed") -> dict[str, str]:
    return {"TALLYSTICK_EMBEDDINGS_URL": endpoint.url, "TALLYSTICK_EMBEDDINGS_MODEL": model}


def test_an_outage_is_an_error_of_the_attempt_and_the_next_run_is_comparable(ledger: Path, tmp_path: Path) -> None:
    fixtures = suite(tmp_path / "suite")
    with embedder() as endpoint:
        assert evaluate(ledger, fixtures, "--run", "up", **variables(endpoint)).code == 0
    ledger.with_name(f"{ledger.name}.embeddings").unlink()
    with embedder(lambda _: Reply(b"", 503)) as endpoint:
        ended = evaluate(ledger, fixtures, "--run", "down", **variables(endpoint))
    assert ended.code != 0
    assert "Traceback" not in ended.err
    literal, meaning = sorted(scores(ledger, "down"), key=lambda score: str(score["scenario_id"]))
    assert (literal["state"], literal["total_score"], "embeddings" in literal) == ("scored", 100.0, False)
    assert (meaning["state"], meaning["failure"], "total_score" in meaning) == ("error", "embeddings", False)
    assert "the embeddings endpoint answered 503" in meaning["detail"]
    assert meaning["embeddings"]["model"] == "meadow-embed"
    with embedder() as endpoint:
        assert evaluate(ledger, fixtures, "--run", "again", **variables(endpoint)).code == 0
        port = endpoint.server.server_port
    _, again = sorted(scores(ledger, "again"), key=lambda score: str(score["scenario_id"]))
    assert (again["state"], again["total_score"]) == ("scored", 100.0)
    assert again["embeddings"] == {"endpoint": f"127.0.0.1:{port}", "model": "meadow-embed", "threshold": 0.75}
    versions = {one["scorer_version"] for one in (*scores(ledger), *of_type(events(ledger), "started"))}
    assert versions == {"3 meadow-embed>=0.75"}
    compared = msgspec.json.decode(done(ledger, "eval", "compare", "up", "again", "--json").out)
    assert b"not_comparable" not in msgspec.json.encode(compared) or not compared["not_comparable"]
    outage = msgspec.json.decode(done(ledger, "eval", "compare", "up", "down", "--json").out)
    assert (outage["regressed"], outage["regressions"], outage["scenarios"]) == ([], 0, 1)
    assert [(one["scenario_id"], one["reason"]) for one in outage["not_comparable"]] == [
        ("meaning", "not measured: embeddings")
    ]
    gate = tally(ledger, "eval", "gate", "down", "--baseline", "up")
    assert gate.code == 2, gate.text
    assert len(scores(ledger, "down")) == 2, "one attempt at each scenario"


def test_scores_with_another_model_are_not_compared(ledger: Path, tmp_path: Path) -> None:
    fixtures = suite(tmp_path / "suite")
    with embedder() as endpoint:
        assert evaluate(ledger, fixtures, "--run", "one", **variables(endpoint)).code == 0
        assert evaluate(ledger, fixtures, "--run", "two", **variables(endpoint, "other-embed")).code == 0
    ended = tally(ledger, "eval", "compare", "one", "two", "--json")
    assert b"scorer changed: rca@3 meadow-embed>=0.75, now rca@3 other-embed>=0.75" in ended.out

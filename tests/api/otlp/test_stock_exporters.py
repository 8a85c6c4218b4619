"""The exporters of the OpenTelemetry SDK post scores and calls to a server in protobuf; the scoreboard has them."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.otlp.stock_sdk import exporting
from tests.support.server import served

pytestmark = pytest.mark.slow

RESOURCE = {"service.name": "checkout-agent", "service.version": "1.4.0", "service.instance.id": "a"}
NOON_NS = 1_795_000_000 * 10**9
NAME, VALUE, LABEL = (f"gen_ai.evaluation.{part}" for part in ("name", "score.value", "score.label"))


def scoreboard(url: str, headers: dict[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """The first row of each suite."""
    suites = httpx.get(f"{url}/scoreboard", headers=headers).raise_for_status().json()["suites"]
    return {suite["suite"]: suite["rows"][0] for suite in suites}


def head(url: str) -> int:
    return int(httpx.get(f"{url}/events?limit=1").json()["head"])


@pytest.mark.parametrize("gzip", [False, True])
def test_scores_and_tokens_of_the_sdk_are_on_the_scoreboard(tmp_path: Path, gzip: bool) -> None:
    with served(tmp_path / "ledger.db") as server, exporting(server.url, RESOURCE, gzip=gzip) as sdk:
        for number, (value, label) in enumerate([(0.9, "pass"), (0.2, "fail"), (1.0, "pass"), (0.5, "pass")]):
            span = sdk.call(
                operation__name="chat",
                request__model="small",
                response__model="small-2026",
                usage__input_tokens=100 + number,
                usage__output_tokens=10,
            )
            said = {NAME: "Relevance", VALUE: value, LABEL: label}
            sdk.score(span, NOON_NS + number, said)
        sdk.flush()
        rows = scoreboard(server.url)
        row = rows["checkout-agent: Relevance"]
        assert (row["agent"], row["agent_version"]) == ("checkout-agent", "1.4.0")
        assert (row["scenarios"], row["scored"], row["passed"], row["runs"]) == (4, 4, 3, 1)
        assert row["mean"] == pytest.approx(65.0)
        calls = httpx.get(f"{server.url}/events?type=call.recorded.v1").json()["events"]
        assert [call["data"]["input_tokens"] for call in calls] == [100, 101, 102, 103]
        assert {call["data"]["agent"] for call in calls} == {"checkout-agent"}


def test_a_replayed_batch_adds_nothing(tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db") as server, exporting(server.url, RESOURCE) as sdk:
        span = sdk.call(operation__name="chat")
        once = {NAME: "Relevance", VALUE: 0.9, LABEL: "pass"}
        sdk.score(span, NOON_NS, once)
        sdk.flush()
        before = head(server.url)
        sdk.score(span, NOON_NS, once)
        sdk.score(span, NOON_NS, once)
        sdk.flush()
        assert head(server.url) == before == 3  # the call, the start of the run, the score


def test_the_token_is_the_bearer_of_the_exporters_headers(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    secret = TokenStore(ledger).add("collector", ("append",), system_clock())[1]
    reader = TokenStore(ledger).add("reader", ("read",), system_clock())[1]
    with served(ledger) as server:
        for token in (reader, secret):
            with exporting(server.url, RESOURCE, headers={"authorization": f"Bearer {token}"}) as sdk:
                sdk.score(sdk.call(operation__name="chat"), NOON_NS, {NAME: "Relevance", LABEL: "pass"})
                sdk.loggers.force_flush()
        row = scoreboard(server.url, {"authorization": f"Bearer {reader}"})["checkout-agent: Relevance"]
        assert (row["scored"], row["mean"], row["recorded_by"]) == (1, 100.0, ["collector"])

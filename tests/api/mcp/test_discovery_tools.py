"""The tools of discovery take what the routes take."""

import httpx
import pytest

from tests.api.http.discovery_agent import PROBE, model
from tests.api.http.posts import get
from tests.api.mcp.tool_calls import call, mcp_address


@pytest.fixture
def mcp(empty_client: httpx.Client) -> str:
    return f"{mcp_address(empty_client)}?tools=discovery"


def test_the_time_of_an_answer_may_be_in_milliseconds(mcp: str, empty_client: httpx.Client) -> None:
    call(mcp, "start_discovery", run_id="r1", probe_id=PROBE)
    both = call(mcp, "submit_discovery_response", run_id="r1", **model("alpha", elapsed_ms=12.5, elapsed_ns=1))
    assert both["isError"]
    assert "elapsed_ns and elapsed_ms state the same time." in both["content"][0]["text"]
    call(mcp, "submit_discovery_response", run_id="r1", **model("alpha", elapsed_ms=12.5))
    assert get(empty_client, "/streams/discovery/r1")["events"][1]["data"]["elapsed_ns"] == 12_500_000


def test_an_unknown_model_comes_with_the_command_that_registers_it(mcp: str) -> None:
    call(mcp, "start_discovery", run_id="r1", probe_id=PROBE)
    reply = model("alpha", version="2026-11")
    first = call(mcp, "submit_discovery_response", run_id="r1", **reply)["structuredContent"]
    assert first["register"].endswith(" --name alpha --version 2026-11")
    again = call(mcp, "submit_discovery_response", run_id="r1", **model("alpha"))["structuredContent"]
    assert (again["outcome"], "register" in again) == ("repeat", False)


def test_a_signal_needs_no_run_and_names_its_id(mcp: str) -> None:
    sent = call(mcp, "emit_signal", run_id="elsewhere", event="begun")["structuredContent"]
    assert (sent["ok"], sent["unknown"]) == (True, ["elsewhere"])
    assert call(mcp, "get_signals", run_id="elsewhere")["structuredContent"]["total"] == 1

"""Names of arguments that mean the same, and cursors of other tools; the tools are called in this process."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from api.mcp.refusal import Refusal
from api.mcp.tool_call import Access, call_tool
from api.mcp.toolsets import TOOLS
from api.principal import OWNER
from api.service.ledger import LedgerService
from ledger.place import Place

pytestmark = pytest.mark.trial("N13")

Call = Callable[..., Awaitable[dict[str, Any]]]


def session(path: Path, work: Callable[[Call, str], Awaitable[None]]) -> None:
    """Call tools on a new ledger with a decision of `other`, and one of `scout`."""

    async def main() -> None:
        ledger = await LedgerService.open(Place.of(path / "t.db"), writable=True, views=False)

        async def call(name: str, **arguments: object) -> dict[str, Any]:
            (tool,) = (tool for tool in TOOLS if tool.name == name)
            return await call_tool(tool, Access(ledger, OWNER), arguments)

        try:
            params = {"decision": "Use a queue", "confidence": 0.5, "reasons": [{"type": "analysis", "text": "t"}]}
            made = [await call("record_decision", agent=agent, **params) for agent in ("other", "scout")]
            await work(call, made[1]["id"])
        finally:
            await ledger.close()

    asyncio.run(main())


def test_names_of_one_thing_are_taken_alike(tmp_path: Path) -> None:
    async def work(call: Call, made: str) -> None:
        assert (await call("review_outcome", decision_id=made, outcome="success", agent="scout"))["id"] == made
        assert (await call("update_decision", decision_id=made, pattern="p"))["updated_fields"] == ["pattern"]
        assert (await call("get_decision", decision_id=made))["decision"]["id"] == made
        assert (await call("get_neighbors", decision_id=made))["nodeId"] == made
        for name in ("agent", "agent_id"):
            scored = [await call("get_calibration", **chosen) for chosen in ({name: "other"}, {})]
            assert [answer["total_decisions"] for answer in scored] == [1, 2]
            assert (await call("query_decisions", filters={name: "other"}))["total"] == 1
            assert (await call("get_reason_stats", filters={name: "other"}))["totalDecisions"] == 1
            await call("ready", **{name: "scout"})
            await call("list_evaluations", **{name: "scout"})
        for wrong in ({"id": made, "decision_id": "d2"}, {"id": made, "node_id": "d2"}):
            with pytest.raises(Refusal, match="another name of id, which is different"):
                await call("get_decision", **wrong)
        with pytest.raises(Refusal, match="agent"):
            await call("query_decisions", agent="scout")

    session(tmp_path, work)


def test_a_cursor_belongs_to_its_tool_and_filters(tmp_path: Path) -> None:
    async def work(call: Call, made: str) -> None:
        cursor = (await call("query_decisions", limit=1))["next"]
        assert (await call("query_decisions", limit=1, cursor=cursor))["decisions"][0]["id"] != made
        for tool in TOOLS:
            if tool.rows is not None and tool.name != "query_decisions":
                needed = {"node_id": made} if "node_id" in tool.params.__struct_encode_fields__ else {}
                needed |= {"run_id": "r1"} if "run_id" in tool.params.__struct_fields__ else {}
                with pytest.raises(Refusal) as refused:
                    await call(tool.name, cursor=cursor, **needed)
                assert refused.value.error == f"cursor: it is one of query_decisions, and this tool is {tool.name}."
        with pytest.raises(Refusal, match="other arguments"):
            await call("query_decisions", cursor=cursor, filters={"agent": "scout"})

    session(tmp_path, work)

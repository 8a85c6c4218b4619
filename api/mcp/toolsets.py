"""Every tool, in the order of `tools/list`, and which of them a caller sees."""

from collections.abc import Collection
from typing import NamedTuple

from msgspec import structs

from api.mcp.calibration_tools import CALIBRATION_TOOLS
from api.mcp.decision_tools import DECISION_TOOLS
from api.mcp.discovery_tools import DISCOVERY_TOOLS
from api.mcp.evaluation_tools import EVALUATION_TOOLS
from api.mcp.link_tools import LINK_TOOLS
from api.mcp.proof_tools import PROOF_TOOLS
from api.mcp.tool import Tool, Toolset
from api.principal import Principal, Scope

TOOLS: tuple[Tool, ...] = (
    *DECISION_TOOLS,
    *CALIBRATION_TOOLS,
    *LINK_TOOLS,
    *DISCOVERY_TOOLS,
    *EVALUATION_TOOLS,
    *PROOF_TOOLS,
)

_READ = frozenset({"read"})

DEFAULT_TOOLSETS: tuple[Toolset, ...] = ("decisions",)


class Offer(NamedTuple):
    """Which tools a connection offers: those of some toolsets, and perhaps only those that read."""

    toolsets: tuple[str, ...] = DEFAULT_TOOLSETS
    read_only: bool = False

    def tools(self, caller: Principal) -> list[Tool]:
        """Return the tools that a caller sees. A caller that may not append sees no tool that writes."""
        return [
            tool
            for tool in TOOLS
            if tool.toolset in self.toolsets and not (self.read_only and tool.writes) and _may(caller, tool.scope)
        ]

    def limit(self, caller: Principal) -> Principal:
        """Return a caller as the connection lets it act: if it only reads, it writes nothing."""
        if not self.read_only or not _may(caller, "read"):
            return caller
        return structs.replace(caller, scopes=_READ, deliberation="off")

    def find(self, caller: Principal, name: str) -> Tool | None:
        """Return the tool of a name that a caller sees; None if it sees none."""
        return next((tool for tool in self.tools(caller) if name in (tool.name, *tool.also)), None)


def make_offer(toolsets: Collection[str], read_only: bool) -> Offer:
    """Return the offer of some toolsets, by default DEFAULT_TOOLSETS."""
    return Offer(tuple(toolsets) or DEFAULT_TOOLSETS, read_only)


def _may(caller: Principal, scope: Scope) -> bool:
    return scope in caller.scopes or "admin" in caller.scopes

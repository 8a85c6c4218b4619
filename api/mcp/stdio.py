"""MCP over standard input and output, on a ledger. Needs the extra `mcp`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from api.mcp.sdk_server import Context, Session, make_server, progress_of
from api.mcp.tool_call import Access
from api.mcp.toolsets import Offer
from api.principal import OWNER
from api.service.ledger import LedgerService
from ledger.place import Place


async def serve_ledger(place: Place | Path, offer: Offer) -> None:
    """Serve a ledger until standard input ends. Errors: LedgerLocked, LedgerUnusable."""
    service = await LedgerService.open(place, writable=not offer.read_only, views=False)
    access = Access(service, offer.limit(OWNER))

    def session_of(context: Context) -> Session:
        return replace(access, report=progress_of(context)), offer

    try:
        await run_on_standard_streams(make_server(session_of))
    finally:
        await service.close()


async def run_on_standard_streams(server: "Server[Any]") -> None:
    """Answer the requests on standard input until it ends."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

"""mcp: serve tools for agents over MCP, on standard input and output."""

from typing import Annotated

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import choice, flag

TOOLSETS = ("decisions", "links", "discovery", "evaluations", "proof")


@verb(server=True, json=False)
def mcp(
    target: LedgerTarget,
    *,
    tools: Annotated[str, choice("The toolsets to offer.", TOOLSETS, separator=",")] = "decisions",
    read_only: Annotated[bool, flag("--read-only", "Offer only tools that read.")] = False,
) -> None:
    """Serve tools for agents over MCP, on standard input and output.

    A program that speaks MCP (an editor, an agent) starts this command. It works on the ledger file, or with --url on a
    server. It needs the extra mcp; without it, the command says what to install.

    Example: tallystick --ledger team.db mcp --tools decisions,proof
    """
    import asyncio

    from api.mcp.toolsets import make_offer

    offer = make_offer(tools.split(","), read_only)
    try:
        import mcp.server  # noqa: F401 - whether the extra is installed
    except ModuleNotFoundError as error:
        from api.http.mcp_server import extra_missing

        raise extra_missing() from error
    if target.url is not None:
        from api.mcp.relay import serve_server

        asyncio.run(serve_server(target.url, target.token, offer))
        return
    from api.mcp.stdio import serve_ledger

    asyncio.run(serve_ledger(target.place, offer))

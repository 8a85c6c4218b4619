"""The program uses one private name of uvicorn, and none of the MCP SDK. A release without it fails here, by name."""

import re

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tests.support.paths import ROOT

PRIVATE = re.compile(r"from (?:uvicorn|mcp)[\w.]*\._|(?:uvicorn|mcp)\.[\w.]*\._\w+|super\(\)\.(_\w+)")


def test_only_one_private_name_is_used() -> None:
    found = {
        match[0]
        for folder in ("api/http", "api/mcp")
        for path in (ROOT / folder).rglob("*.py")
        for match in PRIVATE.finditer(path.read_text(encoding="utf-8"))
        if not match[0].startswith("super()._") or match[1] != "__init__"
    }
    assert found == {"super()._start_asgi_task"}
    assert callable(HttpToolsProtocol._start_asgi_task), "pyproject.toml pins the releases of uvicorn that have it"

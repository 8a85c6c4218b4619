"""A client of the older era of MCP, written for the tests: a handshake, then JSON-RPC over HTTP, as `mcp` 1.x does it.

`mcp` 1.x cannot be installed beside 2.x, which the server needs.
"""

from types import TracebackType
from typing import Any, Self

import httpx
import msgspec

Json = dict[str, Any]
PROTOCOL = "2025-06-18"


class HandshakeClient:
    """A session of one agent."""

    def __init__(self, url: str, protocol: str = PROTOCOL) -> None:
        self._http = httpx.Client(timeout=None)
        self._url = url
        self._protocol = protocol
        self._headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        self._calls = 0

    def __enter__(self) -> Self:
        info = {"name": "mcp", "version": "0.1.0"}
        given = self.request("initialize", protocolVersion=self._protocol, capabilities={}, clientInfo=info)
        assert given["protocolVersion"] == self._protocol
        self._headers["mcp-protocol-version"] = given["protocolVersion"]
        done = self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert (done.status_code, done.content) == (202, b"")
        # The client of 1.x then asks for a stream of messages, and goes on without one if the server has none.
        assert self._http.get(self._url, headers={**self._headers, "accept": "text/event-stream"}).status_code == 405
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def request(self, method: str, **params: object) -> Json:
        """The result of a request."""
        self._calls += 1
        answered = self._post({"jsonrpc": "2.0", "id": self._calls, "method": method, "params": params})
        assert answered.status_code == 200, answered.text
        message = _message(answered)
        assert (message["jsonrpc"], message["id"]) == ("2.0", self._calls)
        assert "error" not in message, message
        result: Json = message["result"]
        return result

    def call(self, tool: str, **arguments: object) -> Json:
        """The first text of a tool's answer, as JSON."""
        result = self.request("tools/call", name=tool, arguments=arguments)
        decoded: Json = msgspec.json.decode(result["content"][0]["text"])
        assert not result.get("isError"), decoded
        return decoded

    def _post(self, message: Json) -> httpx.Response:
        return self._http.post(self._url, json=message, headers=self._headers)


def _message(answered: httpx.Response) -> Json:
    """The message of an answer, as JSON or as the last event of a stream."""
    text = answered.text
    if answered.headers["content-type"].startswith("text/event-stream"):
        text = [line for line in text.splitlines() if line.startswith("data: ")][-1].removeprefix("data: ")
    message: Json = msgspec.json.decode(text)
    return message

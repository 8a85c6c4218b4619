"""Resources: views by address, for a person or a program that puts them into a model's context."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from api.mcp.refusal import Refusal
from api.mcp.tool import Answer
from api.mcp.tool_call import Access, call_tool
from api.mcp.toolsets import TOOLS
from events.schema import json_schema

SCHEME = "tallystick://"


class Resource(NamedTuple):
    """A resource, or with `{...}` in its address a template of resources; the function reads one."""

    path: str
    name: str
    title: str
    description: str
    read: Callable[[Access, str], Awaitable[Answer]]

    @property
    def uri(self) -> str:
        return SCHEME + self.path

    @property
    def is_template(self) -> bool:
        return "{" in self.path

    def value(self, path: str) -> str | None:
        """Return the part of a path that stands for the variable; None if it is another resource."""
        head = self.path.partition("{")[0]
        if not self.is_template:
            return "" if path == self.path else None
        rest = path.removeprefix(head)
        return unquote(rest) if path.startswith(head) and rest and "/" not in rest else None


async def read_resource(access: Access, uri: str) -> Answer:
    """Return the content of a resource. Errors: Refusal."""
    path = uri.removeprefix(SCHEME)
    if uri.startswith(SCHEME):
        for resource in RESOURCES:
            value = resource.value(path)
            if value is not None:
                return await resource.read(access, value)
    raise Refusal(f"Nothing is at {uri}.", "uri", "resources/list and resources/templates/list name what there is.")


def _by_tool(name: str, parameter: str | None = None, **fixed: str) -> Callable[[Access, str], Awaitable[Answer]]:
    """Return a function that reads a resource as a tool answers it."""
    tool = next(tool for tool in TOOLS if tool.name == name)

    async def read(access: Access, value: str) -> Answer:
        return await call_tool(tool, access, {**fixed, **({} if parameter is None else {parameter: value})})

    return read


async def _schema(access: Access, name: str) -> Answer:
    access.caller.require("read")
    whole = json_schema()
    schema = next((it for it in whole["$defs"].values() if _type_of(it) == name and "x-stream" in it), None)
    if schema is None:
        known = ", ".join(sorted(filter(None, {_type_of(it) for it in whole["$defs"].values()})))
        raise Refusal(f"{name} is not an event type.", "uri", f"Event types: {known}.")
    return {**schema, "$defs": _referred(schema, whole["$defs"])}


def _referred(schema: Answer, definitions: Mapping[str, Any]) -> Answer:
    """Return the definitions that a schema refers to, also by others."""
    found: Answer = {}
    waiting: list[object] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
            name = str(value.get("$ref", "")).rpartition("/")[2]
            if name in definitions and name not in found:
                found[name] = definitions[name]
                waiting.append(found[name])
        elif isinstance(value, list):
            waiting += value
    return found


def _type_of(schema: Answer) -> str | None:
    names: list[str] = schema.get("properties", {}).get("type", {}).get("enum", [])
    return names[0] if len(names) == 1 and "." in names[0] else None


RESOURCES = (
    Resource(
        "checkpoint", "checkpoint", "Signed checkpoint", "The newest signed checkpoint.", _by_tool("get_checkpoint")
    ),
    Resource(
        "calibration",
        "calibration",
        "Calibration of all agents",
        "Stated confidence and outcomes, of all agents.",
        _by_tool("get_calibration"),
    ),
    Resource(
        "calibration/{agent}",
        "agent-calibration",
        "Calibration of an agent",
        "Stated confidence and outcomes of one agent.",
        _by_tool("get_calibration", "agent"),
    ),
    Resource(
        "decision/{id}",
        "decision",
        "A decision",
        "One decision with its reviews.",
        _by_tool("get_decision", "id", detail="full"),
    ),
    Resource(
        "scoreboard/{suite}",
        "scoreboard",
        "A scoreboard",
        "The versions of each agent on one suite.",
        _by_tool("get_scoreboard", "suite", detail="full"),
    ),
    Resource("schema/{type}", "schema", "Schema of an event type", "The JSON Schema of one event type.", _schema),
)

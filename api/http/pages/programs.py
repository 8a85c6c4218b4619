"""The page about the interfaces for programs: the routes without parameters, and how to append an event."""

from asyncio import to_thread
from collections.abc import Mapping
from importlib.metadata import version
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from api.http.operation import HttpOperation
from api.http.pages.response import html_response
from api.http.request import ledger_of
from api.http.route_table import operations

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Decisions and calibration": ("calibration", "decisions", "tests", "guardrails"),
    "Evaluations": ("evaluations", "judges", "suites", "otlp"),
    "Models": ("models", "runs", "sessions", "changes"),
    "Log": ("events", "checkpoints", "evidence", "export", "projections"),
    "Server": ("health", "cstp"),
}
"""The headings of the page, each with the tags of its operations."""


class OperationGroup(NamedTuple):
    """A heading with operations."""

    title: str
    operations: list[HttpOperation]


async def show_programs(request: Request) -> Response:
    """Show the interfaces for programs. The page needs no token: it contains nothing of the ledger."""
    every = await to_thread(operations)
    variables = {
        "address": str(request.base_url),
        "token_required": ledger_of(request).tokens.required(),
        "groups": [
            OperationGroup(title, [each for each in every if each.tag in tags and each.is_linkable])
            for title, tags in GROUPS.items()
        ],
        "operation_count": len(every),
        "version": version("tallystick"),
    }
    return await html_response("programs", "For programs", variables)

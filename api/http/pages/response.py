"""The response of a page: the template with what every page shows, and the policy of the pages."""

import asyncio
from collections.abc import Mapping
from datetime import datetime

from starlette.responses import Response

from api.http.media_types import HTML
from api.http.pages.assets import asset_address
from api.http.pages.content import Content, Section
from api.http.pages.navigation import LINKS, links_for
from api.http.pages.templates import render
from api.http.request import Call

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
"""A page loads this server's style, script and images, connects to this server, and nothing else. Nothing is inline."""

SHOWN: Mapping[Section, str] = {
    "overview": "The overview is",
    "decisions": "The decisions are",
    "reviews": "The decisions to review are",
    "calibration": "The figures of calibration are",
    "models": "The models and runs are",
    "evaluations": "The evaluations are",
    "log": "The events are",
    "proof": "The checkpoint is",
    "operate": "The state of the server is",
}
"""What is being computed, by section, as the page that stands for it says."""

HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
}
"""With `no-referrer` a browser would send the forms of a page with `Origin: null`, as pages of unknown sites do."""


async def page_response(
    call: Call, template: str, section: Section, content: Content, position: int, *, late: datetime | None = None
) -> Response:
    """Render a page for an authenticated caller. It has every event up to a position, and may have later ones.

    `late` is when it was computed, if it is being computed again.
    """
    signed_in = call.ledger.tokens.required()
    variables = {
        "agent": call.caller.agent if signed_in else None,
        "may": _may(call),
        "links": links_for(call.caller, section),
        "json_address": content.json,
        "live": content.live if late is None else None,  # else an earlier page would be followed
        "position": position,
        "late_since": late,
        "parameters": call.parameters,
        **content.variables,
    }
    return await html_response(template, content.title, variables)


async def unfinished_response(call: Call, section: Section, head: int) -> Response:
    """Return the page that stands for one that is being computed: what is computed, of which events, and the filters.

    Errors: InvalidQuery, for a wrong `as_of`.
    """
    position = (await call.view()).position
    variables = {
        "what": SHOWN.get(section, "These figures are"),
        "folded": call.ledger.engine.position,
        "stated": {name: value for name, value in call.parameters.items() if name != "as_of"},
    }
    title = next((link.label for link in LINKS if link.section == section), "Tallystick")
    return await page_response(
        call, "unfinished", section, Content(title, variables), head if position is None else position
    )


async def html_response(template: str, title: str, variables: Mapping[str, object], status: int = 200) -> Response:
    """Render a template on a thread: the first one loads Jinja2, and a large page takes some milliseconds."""
    shared = {
        "title": title, "asset": asset_address, "agent": None, "links": (), "json_address": None, "live": None,
        "position": None, "late_since": None,
    }  # fmt: skip
    text = await asyncio.to_thread(render, template, {**shared, **variables})
    return Response(text, status, HEADERS, media_type=HTML)


def _may(call: Call) -> frozenset[str]:
    """Return the scopes of the caller: what it may not do is not shown."""
    scopes = call.caller.scopes
    return frozenset({"append", "read", "review", "import", "admin"}) if "admin" in scopes else frozenset(scopes)

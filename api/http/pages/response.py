"""The response of a page or an error: the template with what every page shows, and the policy of the pages.

`glossary.md` is the page of the manual, too. Each term is an item of a list, `- **term**: explanation`; terms that
share an explanation are separated by commas.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from api.http.media_types import HTML
from api.http.pages.assets import asset_address
from api.http.pages.content import Content, address_of
from api.http.problems import note_refusal, problem_response
from api.http.request import Call, ledger_of
from api.principal import Principal
from api.reports.html.report_page import TEMPLATE_NAMES, make_environment
from events.errors import TallystickError

if TYPE_CHECKING:
    from jinja2 import Environment

_item = re.compile(r"^- \*\*(?P<terms>[^*]+)\*\*(?P<of>[^:]*): (?P<text>.+(?:\n  .+)*)", re.MULTILINE)
_markup = re.compile(r"[`*]|\[([^\]]+)\]\([^)]*\)")


class NavigationLink(NamedTuple):
    """A link of the navigation: its section, address and label, what a page says while its section is computed.

    `current` is whether the shown page is in that section.
    """

    section: str
    address: str
    label: str
    computed: str
    current: bool = False


LINKS: Sequence[NavigationLink] = (
    NavigationLink("overview", "/ui", "Overview", "The overview is"),
    NavigationLink("decisions", "/ui/decisions", "Decisions", "The decisions are"),
    NavigationLink("reviews", "/ui/reviews", "Reviews", "The decisions to review are"),
    NavigationLink("calibration", "/ui/calibration", "Calibration", "The figures of calibration are"),
    NavigationLink("models", "/ui/models", "Models", "The models and runs are"),
    NavigationLink("evaluations", "/ui/evaluations", "Evaluations", "The evaluations are"),
    NavigationLink("log", "/ui/log", "Log", "The events are"),
    NavigationLink("proof", "/ui/proof", "Proof", "The checkpoint is"),
    NavigationLink("operate", "/ui/operate", "Operate", "The state of the server is"),
)
"""The links that every page has. The section of a page is the folder of its template."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
"""A page loads this server's style, script and images, connects to this server, and nothing else. Nothing is inline."""

HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
}
"""With `no-referrer` a browser would send the forms of a page with `Origin: null`, as pages of unknown sites do."""


async def page_response(
    call: Call, template: str, content: Content, position: int, *, late: datetime | None = None
) -> Response:
    """Render a page for an authenticated caller. It has every event up to a position, and may have later ones.

    `late` is when it was computed, if it is being computed again.
    """
    signed_in = call.ledger.tokens.required()
    variables = {
        "agent": call.caller.agent if signed_in else None,
        "may": _may(call),
        "links": links_for(call.caller, template),
        "json_address": content.json,
        "live": content.live if late is None else None,  # else an earlier page would be followed
        "position": position,
        "late_since": late,
        "path": call.request.url.path,
        "parameters": call.parameters,
        **content.variables,
    }
    return await html_response(template, content.title, variables)


async def unfinished_response(call: Call, template: str, head: int) -> Response:
    """Return the page that stands for one that is being computed: what is computed, of which events, and the filters.

    Errors: InvalidQuery, for a wrong `as_of`.
    """
    position = (await call.view()).position
    links = links_for(call.caller, template)
    section = next((link for link in LINKS if link.section == _section(template)), None)
    variables = {
        "what": "These figures are" if section is None else section.computed,
        "folded": call.ledger.engine.position,
        "stated": {name: value for name, value in call.parameters.items() if name != "as_of"},
    }
    content = Content("Tallystick" if section is None else section.label, {**variables, "links": links})
    return await page_response(call, "unfinished", content, head if position is None else position)


async def html_response(template: str, title: str, variables: Mapping[str, object], status: int = 200) -> Response:
    """Render a template on a thread: the first one loads Jinja2, and a large page takes some milliseconds."""
    shared = {
        "title": title, "asset": asset_address, "agent": None, "links": (), "json_address": None, "live": None,
        "position": None, "late_since": None,
    }  # fmt: skip
    text = await asyncio.to_thread(_render, template, {**shared, **variables})
    return Response(text, status, HEADERS, media_type=HTML)


def _render(template: str, variables: Mapping[str, object]) -> str:
    return _environment().get_template(f"{template}.html.j2").render(variables)


@cache
def _environment() -> "Environment":
    folders = ((__package__, "templates"), ("api.reports.html", ""))
    return make_environment(folders, {**TEMPLATE_NAMES, "explain": _explain, "address_of": address_of})


def _explain(term: str) -> str:
    """Return what a term means, in plain words. Errors: KeyError, for a term that the glossary lacks."""
    return _explanations()[term]


@cache
def _explanations() -> Mapping[str, str]:
    text = resources.files(__package__).joinpath("glossary.md").read_text("utf-8")
    found: dict[str, str] = {}
    for item in _item.finditer(text):
        plain = _markup.sub(lambda match: match[1] or "", " ".join(item["text"].split()))
        found |= {term.strip(): plain for term in item["terms"].split(",")}
    return found


async def problem_page(request: Request, error: TallystickError) -> Response:
    """Return the page of an error: what went wrong, and what to do, with the status and headers that a program gets."""
    error = note_refusal(request.scope, error)
    problem = problem_response(error)
    variables: dict[str, object] = {"detail": error.detail, "advice": error.full_advice, "status": problem.status_code}
    caller: Principal | None = request.scope.get("caller")
    if caller is not None:
        variables["links"] = links_for(caller, "problem")
        variables["agent"] = caller.agent if ledger_of(request).tokens.required() else None
    page = await html_response("problem", "This cannot be shown", variables, problem.status_code)
    return copy_headers(problem, page)


def copy_headers(problem: Response, page: Response) -> Response:
    """Return a page with the headers of the answer that a program gets."""
    for name in ("retry-after", "www-authenticate"):
        if name in problem.headers:
            page.headers[name] = problem.headers[name]
    return page


def links_for(caller: Principal, template: str) -> Sequence[NavigationLink]:
    """Return the links that a caller may follow: all if it may read. One of them may be that of the shown page."""
    if caller.scopes.isdisjoint({"read", "admin"}):
        return []
    return [link._replace(current=link.section == _section(template)) for link in LINKS]


def _section(template: str) -> str:
    return template.partition("/")[0]


def _may(call: Call) -> frozenset[str]:
    """Return the scopes of the caller: what it may not do is not shown."""
    scopes = call.caller.scopes
    return frozenset({"append", "read", "review", "import", "admin"}) if "admin" in scopes else frozenset(scopes)

"""Route of the home page: links as a page for people, and as JSON for programs."""

from asyncio import to_thread
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib import resources
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from api.http.media_types import HTML, JSON
from api.http.operation import TEXT, Answer, Operation
from api.http.request import json_response, ledger_of

if TYPE_CHECKING:
    from jinja2 import Template

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Decisions and calibration": ("calibration", "decisions", "guardrails"),
    "Evaluations": ("evaluations",),
    "Models": ("models", "runs"),
    "Log": ("events", "checkpoints", "evidence", "export", "projections"),
    "Server": ("health", "cstp"),
}
"""The headings of the page, each with the tags of its operations."""


class HomeIndex(msgspec.Struct, frozen=True):
    """The server's name and version, whether it needs a token, and the paths of its resources by operation name.

    `instance` is a random name of the running server, which the ledger's lock file has too. It tells a command on the
    same machine that this server holds the file.
    """

    name: str
    version: str
    token_required: bool
    links: dict[str, str]
    instance: str | None


class Section(NamedTuple):
    """A heading with operations."""

    title: str
    links: list[Operation]


@Operation(
    method="GET",
    path="/",
    public=True,
    answers={
        200: Answer(
            "The page; or, if the Accept header prefers JSON, its links.",
            {HTML.partition(";")[0]: TEXT, JSON: HomeIndex},
            {"vary": "Accept."},
        )
    },
).raw
async def get_home(request: Request) -> Response:
    """Describe this server, and link to its resources.

    The answer is JSON if the Accept header names application/json and not text/html. It contains no data of the ledger.
    """
    operations: Sequence[Operation] = request.app.state.operations
    ledger = ledger_of(request)
    token_required = ledger.tokens.required()
    accept = request.headers.get("accept", "")
    if JSON in accept and "text/html" not in accept:
        links = {each.name: each.path for each in operations if _is_linked(each)}
        instance = ledger.log.instance if ledger.log is not None else None
        index = HomeIndex("tallystick", version("tallystick"), token_required, links, instance)
        return json_response(index, headers={"vary": "accept"})
    page = await to_thread(_render, operations, str(request.base_url), token_required=token_required)
    headers = {"content-security-policy": _policy(), "vary": "accept"}
    return Response(page, headers=headers, media_type=HTML)


def _is_linked(operation: Operation) -> bool:
    """Return whether an operation is a GET that needs no parameter."""
    required = any(parameter.required for parameter in operation.query)
    return operation.method == "GET" and not operation.path_parameters and not required and operation.path != "/"


def _render(operations: Sequence[Operation], address: str, *, token_required: bool) -> str:
    sections = [
        Section(title, [each for each in operations if each.tag in tags and _is_linked(each)])
        for title, tags in SECTIONS.items()
    ]
    return _template().render(
        style=_style(),
        address=address,
        token_required=token_required,
        sections=sections,
        operations=len(operations),
        version=version("tallystick"),
    )


def _policy() -> str:
    """Allow the page's own style sheet and nothing else."""
    digest = b64encode(sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@cache
def _style() -> str:
    files = resources.files("api")
    return "".join(files.joinpath(name).read_text("utf-8") for name in ("reports/html/base.css", "http/pages/home.css"))


@cache
def _template() -> "Template":
    """Load the template. The import of Jinja2 takes 50 ms, so it waits for the first request of the page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415
    from markupsafe import Markup  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("api.http", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["trusted"] = Markup
    return environment.get_template("home.html.j2")

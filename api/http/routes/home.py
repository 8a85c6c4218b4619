"""Route of the home page: the links of the server for programs; a browser is sent to the web pages."""

from asyncio import to_thread
from importlib.metadata import version

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.http.media_types import JSON
from api.http.operation import Answer, HttpOperation
from api.http.request import json_response, ledger_of
from api.http.route_table import operations


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


@HttpOperation(
    "GET",
    "/",
    public=True,
    answers={
        200: Answer("The links, if the Accept header prefers JSON.", {JSON: HomeIndex}, {"vary": "Accept."}),
        303: Answer("The web pages are at /ui.", {}, {"location": "/ui", "vary": "Accept."}),
    },
).raw
async def get_home(request: Request) -> Response:
    """Describe this server, and link to its resources.

    The answer is JSON if the Accept header names application/json and not text/html; otherwise it redirects to the web
    pages. It contains no data of the ledger.
    """
    accept = request.headers.get("accept", "")
    if JSON not in accept or "text/html" in accept:
        return RedirectResponse("/ui", 303, {"vary": "accept"})
    every = await to_thread(operations)
    ledger = ledger_of(request)
    links = {each.name: each.path for each in every if each.is_linkable}
    instance = ledger.log.instance if ledger.log is not None else None
    index = HomeIndex("tallystick", version("tallystick"), ledger.tokens.required(), links, instance)
    return json_response(index, headers={"vary": "accept"})

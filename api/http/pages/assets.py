"""The style sheet and scripts of the pages. Their addresses contain a digest, so that browsers keep them."""

from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from api.errors import NoRoute
from api.http.media_types import SVG
from api.http.problems import answer_error
from api.reports.plots.svg import STYLE

STYLE_SHEETS = (
    "pages.css",
    "overview.css",
    "decisions.css",
    "calibration.css",
    "models.css",
    "evaluations.css",
    "log.css",
)
"""The style sheets of the pages, in the order in which they are joined."""

KEEP = "public, max-age=31536000, immutable"

CSS, SCRIPT = "text/css; charset=utf-8", "text/javascript; charset=utf-8"


class Asset(NamedTuple):
    """A file that pages load: its media type, its bytes, and its digest."""

    media: str
    content: bytes
    digest: str


def asset_address(name: str) -> str:
    """Return the address of an asset."""
    return f"/ui/assets/{name}?v={_asset(name).digest}"


async def get_asset(request: Request) -> Response:
    """Return a style sheet or a script. It needs no token: it contains nothing of the ledger."""
    name = request.path_params["name"]
    if name not in _SOURCES:
        return answer_error(request.scope, NoRoute(f"Nothing is at {request.url.path}.", "See /ui."))
    asset = _asset(name)
    return Response(asset.content, headers={"cache-control": KEEP}, media_type=asset.media)


@cache
def _asset(name: str) -> Asset:
    media, read = _SOURCES[name]
    content = read().encode()
    return Asset(media, content, sha256(content).hexdigest()[:16])


def _read_styles() -> str:
    """Return the style of every page: what reports share, the pages' own, and the style of drawings."""
    base = resources.files("api.reports.html").joinpath("base.css").read_text("utf-8")
    return f"{base}{''.join(map(_read, STYLE_SHEETS))}.figure svg {{{STYLE}\n}}\n"


def _read(name: str) -> str:
    return resources.files(__package__).joinpath("static", name).read_text("utf-8")


_SOURCES: Mapping[str, tuple[str, Callable[[], str]]] = {
    "pages.css": (CSS, _read_styles),
    "pages.js": (SCRIPT, lambda: _read("pages.js")),
    "receipt.js": (SCRIPT, lambda: _read("receipt.js")),
    "mark.svg": (SVG, lambda: _read("mark.svg")),
}

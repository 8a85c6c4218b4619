"""The answer of a page that may take long: a request waits for it shortly, and gets a page that says so otherwise.

The computation goes on, shared by all requests of the same address with the same rights. `pages.js`, or a reader who
has no scripts, asks again until it has ended. A request that states `Prefer: wait=SECONDS` waits for so long.
"""

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, Final, NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from api.http.pages.content import Content
from api.http.request import Call, until_client_leaves
from api.service.kept_answers import BUSY_SHARE, Found, KeptAnswers

WAIT_S: Final = 0.15
"""Seconds for which a request waits for a page, from when it came."""

WAIT_MIN_S: Final = 0.05
"""Seconds for which it waits if the server needed longer to begin, as for the first page after its start."""

PARTS_WAIT_S: Final = 0.08
"""Seconds for which a page waits for its own parts that may take long."""

WAIT_MAX_S: Final = 60.0
"""Seconds for which a request may ask to wait."""

ALONE_S: Final = 10.0
"""Seconds after which a computation ends that nobody asks for: its reader has left."""

FRESH_S: Final = 10
"""Seconds for which a page that took long is shown again, if no event has come since."""

AT_ONCE: Final = 64
"""Pages that are computed at once; `QueryTurns` bounds how many of them are queries."""

_wait = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d{1,9})\"?\s*(?=$|[,;])", re.IGNORECASE)


class PageAnswer(NamedTuple):
    """What a page shows, the position as of which it is, and when it was computed.

    As of now it has every event up to the position, and may have later ones.
    """

    content: Content | Response
    position: int
    time: datetime


def make_kept_pages() -> KeptAnswers:
    """Return what keeps the pages of one server that took long, until they are asked for again."""
    return KeptAnswers(AT_ONCE, only_missed=True, alone_s=ALONE_S)


def make_kept_parts() -> KeptAnswers:
    """Return what keeps parts of the pages of one server that take long, and are brought up to date while shown."""
    return KeptAnswers(1, busy_share=BUSY_SHARE)


def wait_s(request: Request, otherwise: float) -> float:
    """Return the seconds for which a request waits: what its header Prefer states (RFC 7240), or `otherwise`."""
    stated = _wait.search(request.headers.get("prefer", ""))
    return otherwise if stated is None else max(otherwise, min(WAIT_MAX_S, float(stated[1])))


async def find_page(
    call: Call, head: int, compute: Callable[[], Coroutine[Any, Any, Content | Response]]
) -> Found[PageAnswer]:
    """Return the answer of a page as of `head` or later, or as of the position that the request states.

    Errors: those of `compute`; ClientDisconnect.
    """
    request, caller = call.request, call.caller
    pages: KeptAnswers = request.app.state.pages
    key = (
        str(request.base_url), request.url.path, tuple(sorted(call.parameters.items())),
        caller.agent, caller.scopes, caller.review,
    )  # fmt: skip
    clock = call.ledger.clock
    version = None if "as_of" in call.parameters else head, int(clock().timestamp()) // FRESH_S

    async def answer() -> PageAnswer:
        begun, content = clock(), await compute()
        position = (await call.view()).position
        return PageAnswer(content, head if position is None else position, begun)

    begun_s = time.perf_counter() - request.scope["start_s"]
    wait = wait_s(request, max(min(WAIT_S, WAIT_MIN_S), WAIT_S - begun_s))
    asked = asyncio.ensure_future(pages.find(key, version, answer, wait))
    left = asyncio.ensure_future(until_client_leaves(request))
    try:
        await asyncio.wait((asked, left), return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            raise ClientDisconnect
        return asked.result()
    finally:
        left.cancel()
        asked.cancel()

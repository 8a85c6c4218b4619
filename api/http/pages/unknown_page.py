"""The answer to an address below /ui at which no page is."""

from api.errors import NoRoute
from api.http.pages.content import Content
from api.http.pages.page import Page
from api.http.request import Call


@Page(path="/ui/{rest:path}", template="problem", section="none")
async def show_unknown_page(call: Call) -> Content:
    """Say that no page is at this address."""
    raise NoRoute(f"No page is at {call.request.url.path}.", "Start at the overview.")

"""What agents did by recorded repositories and sessions: outcomes of changes, served models, tools and denials."""

from api.http.pages.content import Content
from api.http.pages.page import page, query_of
from api.http.request import Call
from api.service.changes import ChangesQuery, get_changes
from api.service.sessions import SessionsQuery, get_sessions

PATH = "/ui/models/adopted"

NEWS = "type=session.recorded.v1,observation.scanned.v1"
"""The events after which the figures are other ones: each is the last of what is recorded together."""

AGENTS, TOOLS = 20, 20
"""Rows of agents of a repository, and of tools of a program; the JSON has all."""


@page("models/adopted", query=query_of(SessionsQuery, "program"), heavy=True)
async def show_adopted(call: Call) -> Content:
    """Show the outcomes of recorded changes by agent, and what recorded sessions did by program."""
    view = await call.view()
    since = call.asked(SessionsQuery).since
    variables = {
        "changes": await get_changes(view, ChangesQuery(since=since)),
        "sessions": await get_sessions(view, SessionsQuery(since=since)),
        "agents_shown": AGENTS,
        "tools_shown": TOOLS,
    }
    return Content("What agents did", variables, json="/sessions", live=None if "as_of" in call.parameters else NEWS)

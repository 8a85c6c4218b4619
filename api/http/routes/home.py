"""Route of the home page."""

from starlette.requests import Request
from starlette.responses import Response

from api.http.media import HTML
from api.http.operation import TEXT, Answer, Operation


@Operation(method="GET", path="/", public=True, answers={200: Answer("The page.", {HTML.partition(";")[0]: TEXT})}).raw
async def get_home(request: Request) -> Response:
    """Return a page that says what this server is and links to its resources."""
    return Response("", media_type=HTML)

"""Open pages, follow their links to JSON, and post their forms, as a browser does."""

from itertools import pairwise
from urllib.parse import urlencode

import httpx

from tests.api.http.posts import Json
from tests.api.pages.html_page import HtmlPage, ShownForm

OWN_PAGE = {"sec-fetch-site": "same-origin"}
HTML_BYTES_MAX = 200_000


def read_page(client: httpx.Client, path: str, status: int = 200, /, **parameters: object) -> HtmlPage:
    """Open a page; redirects are followed. Its ids are unique, its headings in order, and nothing is inline."""
    query = {name: str(value) for name, value in parameters.items()} or None
    answer = client.get(path, params=query, follow_redirects=True)
    assert answer.status_code == status, (path, answer.text)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert len(answer.content) <= HTML_BYTES_MAX
    page = HtmlPage(answer.text)
    assert len(page.ids) == len(set(page.ids)), page.ids
    assert "style" not in page.tags | page.attributes
    assert not [name for name in page.attributes if name.startswith("on")]
    assert page.headings[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(page.headings)), page.headings
    return page


def read_json(client: httpx.Client, address: str, **parameters: object) -> Json:
    """Get the figures as JSON."""
    answer = client.get(address, params={name: str(value) for name, value in parameters.items()} or None)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def post(client: httpx.Client, form: ShownForm, **typed: str) -> httpx.Response:
    """Post a form, as a browser does from one of the server's pages; the redirect is not followed."""
    body = urlencode({**form.fields, **typed})
    headers = {"content-type": "application/x-www-form-urlencoded", **OWN_PAGE}
    return client.post(form.action, content=body, headers=headers)

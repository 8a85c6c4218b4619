"""What a page of the log shows, read from its HTML."""

import re
from collections.abc import Mapping
from html import unescape

import httpx

from tests.api.http.posts import Json

_ROW = re.compile(r'<tr class="row">(.*?)</tr>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


def page_of(
    client: httpx.Client, address: str, filters: Mapping[str, str] | None = None, *, status: int = 200,
    **parameters: str | int,
) -> str:  # fmt: skip
    """The HTML at an address."""
    response = client.get(address, params={**(filters or {}), **parameters} or None)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    return response.text


def text_of(markup: str) -> str:
    """The text of some HTML, with single spaces."""
    return " ".join(unescape(_TAG.sub(" ", markup)).split())


def rows(page: str) -> list[str]:
    """The text of each row of the list."""
    return [text_of(row) for row in _ROW.findall(page)]


def positions(page: str) -> list[int]:
    """The position of each row of the list."""
    return [int(number) for number in re.findall(r'<a class="open" href="/ui/log/(\d+)">', page)]


def link(page: str, label: str) -> str | None:
    """The address of the first link whose text begins with a label; None if there is none."""
    for address, text in re.findall(r'<a[^>]* href="([^"]*)"[^>]*>([^<]*)</a>', page):
        if unescape(text).startswith(label):
            return unescape(address)
    return None


def json_address(page: str) -> str:
    """The address of the same figures as JSON."""
    found = re.search(r'<a href="([^"]*)" rel="alternate"', page)
    assert found is not None
    return unescape(found[1])


def json_at(client: httpx.Client, address: str) -> Json:
    """The JSON at an address with its query."""
    found: Json = client.get(address).raise_for_status().json()
    return found


def element(page: str, element_id: str) -> str:
    """The text inside the element with an id, which has none of its own kind inside."""
    found = re.search(rf'<(\w+)[^>]* id="{element_id}"[^>]*>(.*?)</\1>', page, re.DOTALL)
    assert found is not None, element_id
    return unescape(_TAG.sub(" ", found[2])).strip()

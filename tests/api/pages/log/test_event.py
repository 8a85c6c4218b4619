"""One event: its bytes, hashes and proof are those of the JSON routes; its neighbours and causes are linked."""

import re
from base64 import b64encode
from hashlib import sha256

import httpx
import pytest

from api.http.pages.log.subject_address import ABOUT, subject_address
from ledger.transparency.receipt import Receipt
from tests.api.http.posts import get, post, recorded, reviewed, thought
from tests.api.pages.log.shown import element, json_address, json_at, link, page_of, text_of

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\u2066\ufeff\x1b[31m\x00"
HTML_BYTES_MAX = 200_000


@pytest.fixture(scope="module", autouse=True)
def posted(client: httpx.Client) -> None:
    for name in ("d0", "d1", "d2"):
        post(client, recorded(name, context="é" * 300))


def proof_address(page: str) -> str:
    address = link(page, "The proof as JSON")
    assert address is not None
    return address


@pytest.mark.parametrize("position", [1, 2, 3])
def test_bytes_and_hashes_are_those_of_the_json_routes(client: httpx.Client, position: int) -> None:
    page = page_of(client, f"/ui/log/{position}")
    line = client.get(json_address(page)).content
    assert line == client.get(f"/events/{position}").content
    assert element(page, "line") == line.decode()
    assert element(page, "digest") == sha256(line).hexdigest()
    assert f"{len(line):,} bytes" in page
    proof = json_at(client, proof_address(page))
    assert element(page, "leaf") == proof["leaf"] == b64encode(sha256(b"\0" + line).digest()).decode()
    assert element(page, "root") == proof["root"]
    assert element(page, "path").split() == proof["hashes"]
    receipt = Receipt.parse(client.get(f"/events/{position}/receipt").content)
    assert receipt.includes(line)


def test_every_attribute_is_shown(client: httpx.Client) -> None:
    event = {**recorded("attributes"), "id": "own-id", "traceparent": "00-1-2-03", "source": "/agents/scout"}
    position = post(client, {**event, "correlationid": "c-1", "tenant": "north"})["position"]
    page = text_of(page_of(client, f"/ui/log/{position}"))
    stored = client.get(f"/events/{position}").json()
    del stored["data"]
    for name, value in stored.items():
        assert name in page
        assert str(value).removeprefix("/agents/") in page


def test_neighbours_and_causes_are_linked(client: httpx.Client) -> None:
    first = post(client, {**recorded("n1"), "id": "n1-a", "source": "/agents/scout"})["position"]
    other = post(client, recorded("n2"))["position"]
    last = post(client, {**reviewed("n1"), "source": "/agents/judge", "causationid": "n1-a"})["position"]
    beyond = post(client, {**recorded("n3"), "causationid": "no such"})["position"]
    positions = [event["position"] for event in get(client, "/streams/decision/n1")["events"]]
    assert positions == [first, last]
    page = page_of(client, f"/ui/log/{first}")
    assert link(page, "Next of its stream") == f"/ui/log/{last}"
    assert link(page, "Previous of its stream") is None
    assert link(page, "All of its stream") == "/ui/log?subject=decision%2Fn1"
    page = page_of(client, f"/ui/log/{last}")
    assert link(page, "Previous of its stream") == f"/ui/log/{first}"
    assert link(page, f"event {first}") == f"/ui/log/{first}"
    assert "Last of its stream" in page
    assert "First of its stream" in page_of(client, f"/ui/log/{other}")
    assert "no earlier event has this id" in page_of(client, f"/ui/log/{beyond}")


def test_hostile_and_large_texts_are_only_text(client: httpx.Client) -> None:
    large = "\u202e<\"&'>" * 5_900
    event = {**recorded("hostile", context=HOSTILE), "correlationid": HOSTILE, "id": "<script>alert(2)</script>"}
    for number, body in enumerate([event, recorded("large", context=large), thought("large", "é\n" * 15_000)]):
        position = post(client, body)["position"]
        page = page_of(client, f"/ui/log/{position}")
        assert len(page.encode()) < HTML_BYTES_MAX
        assert re.findall(r"<script[^>]*>", page) == re.findall(r'<script type="module" src="/ui/assets/[^"]*">', page)
        assert "<img" not in page
        assert not set(page) & set("\u202e\u2066\ufeff\x1b\0")
        assert ("The whole event" in page) == (number > 0)
        line = client.get(f"/events/{position}").content
        assert element(page, "digest") == sha256(line).hexdigest()
    listed = page_of(client, "/ui/log")
    related = page_of(client, "/ui/log/related", correlationid=HOSTILE)
    for page in (listed, related):
        assert "<script>alert" not in page
        assert not set(page) & set("\u202e\u2066\ufeff\x1b\0")


def test_a_position_that_does_not_exist(client: httpx.Client) -> None:
    assert "Position 99999 is not in the log" in page_of(client, "/ui/log/99999", status=404)
    for wrong in ("0", "x", "-1", "1.5"):
        assert "is not a whole number" in page_of(client, f"/ui/log/{wrong}", status=400)


def test_every_link_to_the_page_about_a_stream_leads_to_a_page(client: httpx.Client) -> None:
    for kind in (*ABOUT, "model", "webhook"):
        address = subject_address(f"{kind}/some-id")
        assert "No page is at" not in client.get(address).text
        assert address in (f"/ui/log?subject={kind}%2Fsome-id", f"{ABOUT.get(kind)}some-id")

"""The report on judges and the queue of answers to label, as pages: what they show, and that a form records a label."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx
import pytest

from api.token_store import TokenStore
from events.envelope import encode_draft
from ledger.clock import system_clock
from tests.api.cli.command import done
from tests.projections.judged_evaluations import QUESTION, REFERENCE, Truth, simulated
from tests.support.server import served

WAIT = {"prefer": "wait=60"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    path = tmp_path / "t.db"
    done(path, "append", given=b"\n".join(map(encode_draft, simulated(Truth(), 30, 20, seed=2))))
    with served(path) as server, httpx.Client(base_url=server.url, timeout=None, headers=WAIT) as client:
        yield client


def fields_of(page: str) -> dict[str, str]:
    """The hidden fields of the form."""
    return {name: unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page)}


def test_the_pages_show_the_report_and_the_scoreboard_the_corrected_rate(client: httpx.Client) -> None:
    page = client.get("/ui/evaluations/judges")
    assert page.status_code == 200
    for shown in ("judge:sim: sim-1", "kappa", "specificity", "corrected pass rate", "By judged agent"):
        assert shown in page.text
    board = client.get("/ui/evaluations/scoreboard?suite=incidents")
    assert board.status_code == 200
    assert "Corrected" in board.text


def test_a_form_records_a_label_and_shows_the_next_answer(client: httpx.Client) -> None:
    page = client.get("/ui/labels")
    assert page.status_code == 200
    assert "<b>10</b> left" in page.text
    assert "because" not in page.text  # the reason of a judge
    assert QUESTION in page.text
    assert REFERENCE in page.text
    form = fields_of(page.text) | {"label": "fail", "note": "It names another cause"}
    own = {"origin": str(client.base_url).rstrip("/")}
    posted = client.post("/ui/labels", data=form, headers=own)
    assert posted.status_code == 303, posted.text
    assert client.post("/ui/labels", data=form, headers=own).status_code == 303
    assert "<b>9</b> left" in client.get("/ui/labels").text
    labels = client.get("/events", params={"type": "eval.labelled.v1", "order": "desc"}).json()["events"]
    assert len(labels) == 21
    assert (labels[0]["data"]["passed"], labels[0]["data"]["note"]) == (False, "It names another cause")


def test_a_form_of_another_site_or_without_a_label_is_refused(client: httpx.Client) -> None:
    form = fields_of(client.get("/ui/labels").text)
    own = {"origin": str(client.base_url).rstrip("/")}
    other = {"origin": "https://evil.example"}
    assert client.post("/ui/labels", data=form | {"label": "pass"}, headers=other).status_code == 403
    assert client.post("/ui/labels", data=form | {"label": "pass"}).status_code == 403
    refused = client.post("/ui/labels", data=form, headers=own)
    assert refused.status_code == 422
    assert "No label is chosen." in refused.text
    assert client.post("/ui/labels", data=form | {"label": "pass", "attempt": "x"}, headers=own).status_code == 422
    assert "<b>10</b> left" in client.get("/ui/labels").text


def test_what_a_token_may_not_do_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    done(path, "append", given=b"\n".join(map(encode_draft, simulated(Truth(), 5, 0, seed=2))))
    secret = TokenStore(path).add("reader", ("read",), system_clock())[1]
    headers = WAIT | {"authorization": f"Bearer {secret}"}
    with served(path) as server, httpx.Client(base_url=server.url, timeout=None, headers=headers) as client:
        page = client.get("/ui/labels")
        assert page.status_code == 200
        assert "This token may not label answers." in page.text
        assert "label-form" not in page.text

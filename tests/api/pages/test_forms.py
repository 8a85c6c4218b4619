"""Forms: which requests may post them, where they lead, and what limits and logs say of sessions."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from api.http.pages.page_table import PAGES
from events.limits import BODY_BYTES_FREE, REFUSALS_BURST
from tests.api.http.posts import head
from tests.api.http.test_tls import sign
from tests.api.pages.html_page import HtmlPage
from tests.api.pages.session_cookies import SIGN_IN, SIGN_OUT, SignedIn, signed_in
from tests.support.server import Served
from tests.support.wait import wait_until

FORMS = sorted({re.sub(r"{[^}]*}", "1", row.path) for row in PAGES if row.method == "POST"})

FOREIGN: dict[str, dict[str, str]] = {
    "another site": {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
    "another site, old browser": {"origin": "https://evil.example"},
    "another port": {"origin": "http://127.0.0.1:1"},
    "another service of this host": {"origin": "http://127.0.0.1:1", "sec-fetch-site": "same-site"},
    "a sandboxed page": {"origin": "null"},
    "only the site": {"sec-fetch-site": "cross-site"},
    "a program": {},
}

BAD_FORMS = {
    "not a form": ({"content-type": "application/json"}, b"{}", 415),
    "without a type": ({"content-type": ""}, b"token=x", 415),
    "files": ({"content-type": "multipart/form-data; boundary=x"}, b"--x--", 415),
    "not ASCII": ({}, "token=é".encode(), 400),
    "not UTF-8": ({}, b"token=%ff", 400),
    "many fields": ({}, b"a=1&" * 2_000, 400),
    "large": ({}, b"token=" + b"x" * BODY_BYTES_FREE, 413),
    "compressed": ({"content-encoding": "gzip"}, b"token=x", 415),
    "empty": ({}, b"", 401),
    "a token of line feeds": ({}, b"token=%0d%0a%0d%0a", 401),
    "a token of several": ({}, b"token=a&token=b", 401),
    "half an escape": ({}, b"token=%f&next=%", 401),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignedIn]:
    folder = tmp_path_factory.mktemp("site")
    with signed_in(folder, "--refusals", "0", "--log-level", "debug", "--audit-log", str(folder / "audit")) as made:
        yield made


@pytest.mark.parametrize("who", FOREIGN)
@pytest.mark.parametrize("path", FORMS)
def test_only_pages_of_this_server_post_forms(site: SignedIn, path: str, who: str) -> None:
    before = site.head()
    fields = {"token": site.secrets["owner"], "outcome": "success", "decision_id": "1"}
    with site.client(site.cookie("owner"), **FOREIGN[who]) as client:
        answer = client.post(path, data=fields)
    assert (answer.status_code, answer.headers.get("set-cookie")) == (403, None)
    assert answer.headers["content-type"].startswith("text/html")
    assert site.head() == before


@pytest.mark.parametrize("path", FORMS)
def test_a_ledger_without_tokens_takes_forms_of_its_own_pages_only(server: Served, path: str) -> None:
    with httpx.Client(base_url=server.url, timeout=None) as client:
        before = head(client)
        assert {client.post(path, data={"a": "1"}, headers=sent).status_code for sent in FOREIGN.values()} == {403}
        rebound = client.post(path, data={"a": "1"}, headers={"host": "evil.example", "origin": "http://evil.example"})
        assert rebound.status_code == 421
        assert head(client) == before


@pytest.mark.parametrize("what", BAD_FORMS)
def test_a_form_that_cannot_be_read_begins_no_session(site: SignedIn, what: str) -> None:
    headers, body, status = BAD_FORMS[what]
    sent = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", **headers}
    with site.client() as client:
        answer = client.post(SIGN_IN, content=body, headers=sent)
    assert (answer.status_code, answer.headers.get("set-cookie")) == (status, None)
    assert HtmlPage(answer.text).value("p", "role", role="alert")


@pytest.mark.parametrize("path", FORMS)
def test_a_large_form_of_somebody_unknown_is_not_received(site: SignedIn, path: str) -> None:
    body = b"text=" + b"x" * (BODY_BYTES_FREE + 1)
    sent = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
    with site.client() as client:
        assert client.post(path, content=body, headers=sent).status_code in {303, 401, 413}
        chunks = (body[at : at + 10_000] for at in range(0, len(body), 10_000))
        assert client.post(path, content=chunks, headers=sent).status_code in {303, 401, 413}


def test_a_wrong_token_is_asked_for_again(site: SignedIn) -> None:
    with site.client(origin=site.server.url) as client:
        answer = client.post(SIGN_IN, data={"token": "tally_<script>", "next": "/ui/programs"})
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        page = HtmlPage(answer.text)
        assert "Invalid or expired token." in page.text
        assert page.value("input", "value", name="next") == "/ui/programs"
        assert "tally_" not in answer.text, "a token is not repeated"


def test_a_token_that_may_not_read_cannot_sign_in(site: SignedIn) -> None:
    answer = site.sign_in("appender")
    assert (answer.status_code, answer.headers.get("set-cookie")) == (403, None)
    assert "lacks the scope 'read'" in HtmlPage(answer.text).text


ELSEWHERE = [
    "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "http://evil.example", "http:evil",
    "https:/ui", "javascript:alert(1)", "data:text/html,x", "ui", "", "/", "/uievil", "/ui\\..\\evil", "/ui/\x00",
    "/ui/\r\nset-cookie: a=b", "\t//evil.example", "/\t/evil.example", " /ui", "/ui/\x7f", "/ui/\u202e", "/events",
    "/ui/sign-in", "/ui/sign-out", "/ui/" + "x" * 10_000, "@evil.example", "/ui@evil.example",
]  # fmt: skip


@pytest.mark.parametrize("wanted", ELSEWHERE)
def test_signing_in_leads_nowhere_else(site: SignedIn, wanted: str) -> None:
    answer = site.sign_in("reader", wanted)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui")
    with site.client() as client:
        asked = client.get(SIGN_IN, params={"next": wanted})
        assert HtmlPage(asked.text).value("input", "value", name="next") == "/ui"


@pytest.mark.parametrize(
    "wanted", ["/ui", "/ui?a=1", "/ui/programs", "/ui/decisions?search=a%26b", "/ui/..//evil", "/ui/é"]
)
def test_signing_in_leads_to_the_page_that_was_wanted(site: SignedIn, wanted: str) -> None:
    location = site.sign_in("reader", wanted).headers["location"]
    assert (urlsplit(location).scheme, urlsplit(location).netloc) == ("", "")
    assert httpx.URL(site.server.url).join(location).host == "127.0.0.1"
    assert location.startswith("/ui")


def test_signing_out_forgets_the_cookie(site: SignedIn) -> None:
    for cookie in (site.cookie("reader"), None):
        with site.client(cookie, origin=site.server.url) as client:
            answer = client.post(SIGN_OUT)
            assert (answer.status_code, answer.headers["location"]) == (303, SIGN_IN)
            assert f"{site.cookie_name}=" in answer.headers["set-cookie"]
            assert "Max-Age=0" in answer.headers["set-cookie"]
            assert client.get(SIGN_OUT).status_code in {303, 404, 405}


def test_a_ledger_without_tokens_has_no_sign_in(client: httpx.Client) -> None:
    page = client.get("/ui")
    assert page.status_code == 200
    assert "Sign out" not in page.text
    asked = client.get(SIGN_IN, params={"next": "/ui/programs"})
    assert (asked.status_code, asked.headers["location"]) == (303, "/ui/programs")
    own = {"sec-fetch-site": "same-origin"}
    answer = client.post(SIGN_IN, data={"token": "anything"}, headers=own)
    assert (answer.status_code, answer.headers["location"], answer.headers.get("set-cookie")) == (303, "/ui", None)
    assert client.post(SIGN_OUT, headers=own).headers["location"] == "/ui"


def test_an_error_keeps_the_way_back(site: SignedIn) -> None:
    with site.client(site.cookie("reader")) as client:
        answer = client.get("/ui/nosuch")
    assert answer.status_code == 404
    page = HtmlPage(answer.text)
    assert "/ui" in page.addresses
    assert page.value("form", "action", method="post") == SIGN_OUT
    assert "reader" in page.text


@pytest.mark.slow
def test_the_logs_name_the_agent_of_a_session(site: SignedIn) -> None:
    with site.client(site.cookie("appender"), **{"x-request-id": "by-a-session"}) as client:
        assert client.get("/status").status_code == 403
    line = site.server.wait_for("refused", request_id="by-a-session")
    assert (line["agent"], line["status"], line["reason"]) == ("appender", 403, "forbidden")
    audited = site.ledger.parent / "audit"
    wait_until(lambda: "by-a-session" in audited.read_text(), site.server.process)
    entries = [json.loads(entry) for entry in audited.read_text().splitlines()]
    (entry,) = [entry for entry in entries if entry["request_id"] == "by-a-session"]
    assert (entry["agent"], entry["token"], entry["route"]) == ("appender", site.ids["appender"], "get_status")
    cookie = site.cookie("reader")
    assert cookie not in audited.read_text() + site.server.errors.read_text()


@pytest.mark.slow
def test_a_session_has_the_rate_of_its_token(tmp_path: Path) -> None:
    with signed_in(tmp_path, "--rate", "0.02", "--burst", "6", "--refusals", "0") as site:
        cookie = site.sign_in("reader").cookies[site.cookie_name]
        with site.client(cookie) as client, site.client(authorization=f"Bearer {site.secrets['reader']}") as program:
            statuses = [client.get("/status").status_code for _ in range(2)]
            statuses += [client.get("/ui").status_code, program.get("/status").status_code]
            assert statuses == [200] * 4
            assert program.get("/status").status_code == 200
            page, figures = client.get("/ui"), client.get("/status")
            assert (page.status_code, figures.status_code) == (429, 429)
            assert int(page.headers["retry-after"]) > 30
            assert "The token of reader is used faster" in HtmlPage(page.text).text
        assert site.server.wait_for("refused", route="show_overview", reason="rate-limited")["agent"] == "reader"
        with site.client(site.cookie("writer")) as other:
            assert other.get("/ui").status_code == 200


@pytest.mark.slow
def test_refusals_of_a_session_count_for_its_token_and_others_for_the_address(tmp_path: Path) -> None:
    """Beyond its burst each refusal is held, and other clients are not."""
    with signed_in(tmp_path, "--rate", "0.001", "--burst", "1", "--refusals", "1000") as site:
        with site.client(site.cookie("reader")) as client:
            assert client.get("/status").status_code == 200
            limited = [client.get("/status") for _ in range(REFUSALS_BURST + 20)]
            assert {answer.json()["type"].rpartition(":")[2] for answer in limited} == {"rate-limited"}
        with site.client("forged") as client:
            answers = [client.get("/ui") for _ in range(5)]
            assert {answer.status_code for answer in answers} == {303}, "the address has caused no refusal yet"


@pytest.mark.slow
def test_guessed_cookies_are_held_like_guessed_tokens(tmp_path: Path) -> None:
    with signed_in(tmp_path, "--refusals", "2") as site, site.client("forged") as client:
        asked = 0
        while (answer := client.get("/status")).status_code == 401:
            client.get("/ui")
            asked += 2
        assert asked >= REFUSALS_BURST
        start_s = time.monotonic()
        client.get("/ui")
        assert time.monotonic() - start_s > 0.2
        assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (429, "too-many-refusals")
        page = client.post(SIGN_IN, data={"token": "x"}, headers={"origin": site.server.url})
        assert page.status_code == 429
        assert int(page.headers["retry-after"]) >= 1
        with site.client(site.cookie("reader")) as known:
            assert known.get("/ui").status_code == 200


@pytest.mark.slow
def test_a_page_without_tls_does_not_post_to_one_with(tmp_path: Path) -> None:
    """The host is the same, but others may have written the page."""
    authority = sign("our authority")
    trusted = authority.write(tmp_path, "authority")[0]
    cert, key = sign("the server", authority).write(tmp_path, "server")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", trusted)
        with signed_in(tmp_path, "--tls-cert", cert, "--tls-key", key) as secure, secure.client() as client:
            host = secure.server.url.partition("://")[2]
            form = {"token": secure.secrets["reader"]}
            assert client.post(SIGN_IN, data=form, headers={"origin": f"http://{host}"}).status_code == 403
            line = client.post(SIGN_IN, data=form, headers={"origin": f"https://{host}"}).headers["set-cookie"]
            client.cookies.clear()
            assert line.startswith("__Host-")
            assert "; Secure" in line
            cookie = line.partition(";")[0]
            assert client.get("/ui", headers={"cookie": cookie}).status_code == 200
            bare = cookie.removeprefix("__Host-")
            assert client.get("/ui", headers={"cookie": bare}).status_code == 303

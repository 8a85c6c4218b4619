"""Sessions of browsers: what a cookie opens, when it ends, and which requests are refused."""

import time
from collections.abc import Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from string import ascii_letters

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.sessions import SESSION_S, Sessions
from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.http.posts import recorded
from tests.api.pages.html_page import HtmlPage
from tests.api.pages.session_cookies import SIGN_IN, SIGN_OUT, SignedIn, signed_in
from tests.support.server import served

UNLIMITED = ("--refusals", "0")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignedIn]:
    with signed_in(tmp_path_factory.mktemp("site"), *UNLIMITED, "--log-level", "debug") as made:
        yield made


def opened(site: SignedIn, cookie: str | bytes | None) -> bool:
    """Whether a cookie opens pages and JSON routes. If it does not, both say so, and the page asks for a token."""
    with site.client(cookie) as client:
        page, figures = client.get("/ui"), client.get("/status")
    assert (page.status_code, figures.status_code) in {(200, 200), (303, 401)}
    if page.status_code == 303:
        assert page.headers["location"] == "/ui/sign-in?next=%2Fui"
        assert figures.headers["www-authenticate"] == "Bearer"
        assert figures.json()["detail"] in {"The session has ended.", "Authorization header required"}
    return page.status_code == 200


def test_a_pasted_token_becomes_a_cookie_that_no_script_and_no_other_site_can_use(site: SignedIn) -> None:
    with site.client() as client:
        asked = client.get("/ui/nosuch?a=1&b=2")
        assert (asked.status_code, asked.headers["location"]) == (
            303,
            "/ui/sign-in?next=%2Fui%2Fnosuch%3Fa%3D1%26b%3D2",
        )
        form = HtmlPage(client.get(asked.headers["location"]).text)
    assert form.value("input", "value", name="next") == "/ui/nosuch?a=1&b=2"
    assert form.value("form", "action", method="post") == SIGN_IN
    assert form.value("input", "type", name="token") == "password"
    answer = site.sign_in("writer", "/ui/nosuch?a=1&b=2")
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/nosuch?a=1&b=2")
    (line,) = answer.headers.get_list("set-cookie")
    morsel = SimpleCookie(line)[site.cookie_name]
    assert (morsel["httponly"], morsel["samesite"], morsel["path"]) == (True, "strict", "/")
    assert (morsel["max-age"], morsel["domain"], morsel["secure"]) == (str(SESSION_S), "", "")
    assert site.secrets["writer"] not in line
    assert opened(site, morsel.value)


def test_the_cookie_is_secure_where_the_browser_uses_tls(site: SignedIn) -> None:
    """The server may be behind a proxy that ends TLS: then the form's Origin says so."""
    form = {"token": site.secrets["writer"]}
    host = site.server.url.removeprefix("http://")
    with site.client(origin=f"https://{host}") as client:
        (line,) = client.post(SIGN_IN, data=form).headers.get_list("set-cookie")
        (forgotten,) = client.post(SIGN_OUT).headers.get_list("set-cookie")
    name, _, value = line.partition(";")[0].partition("=")
    assert name == f"__Host-{site.cookie_name}"
    assert "; Secure" in line
    assert forgotten.startswith((f'{name}="";', f"{name}=;"))
    assert "; Secure" in forgotten
    with site.client(cookie=None) as client:
        both = f"{site.cookie_name}=bad; {name}={value}"
        assert client.get("/ui", headers={"cookie": f"{name}={value}"}).status_code == 200
        assert client.get("/ui", headers={"cookie": both}).status_code == 200, "the one that others cannot set counts"


def test_a_cookie_expires(site: SignedIn) -> None:
    assert opened(site, site.cookie("writer", SESSION_S - 60))
    assert not opened(site, site.cookie("writer", SESSION_S))
    assert not opened(site, site.cookie("writer", SESSION_S + 86_400))


@pytest.mark.slow
def test_a_feed_ends_with_its_session(site: SignedIn) -> None:
    start_s = time.monotonic()
    with site.client(site.cookie("writer", SESSION_S - 5)) as client:
        with client.stream("GET", "/events", headers={"accept": "text/event-stream"}) as feed:
            assert feed.status_code == 200
            list(feed.iter_bytes())
        assert time.monotonic() - start_s > 0.5
        assert client.get("/status").status_code == 401


@pytest.mark.slow
def test_a_session_ends_when_its_token_is_revoked(site: SignedIn) -> None:
    tokens = site.tokens
    stored, secret = tokens.add("leaver", ("read",), system_clock())
    site.secrets["leaver"] = secret
    cookie = site.sign_in("leaver").cookies[site.cookie_name]
    assert opened(site, cookie)
    tokens.revoke(stored.id)
    while opened(site, cookie):
        time.sleep(0.02)
    again = tokens.add("leaver", ("read",), system_clock())[0]
    reused = cookie.replace(stored.id, again.id)
    assert not opened(site, reused)
    written = msgspec.json.decode(tokens.path.read_bytes())
    assert [one["id"] for one in written].count(stored.id) == 0


@pytest.mark.slow
def test_an_id_that_is_used_again_opens_nothing(site: SignedIn, tmp_path: Path) -> None:
    """The cookie is bound to the token's digest, not only to its short id."""
    tokens = TokenStore(tmp_path / "ledger.db")
    kept, secret = tokens.add("first", ("read",), system_clock())
    with served(tmp_path / "ledger.db", *UNLIMITED) as server:
        first = SignedIn(server, tmp_path / "ledger.db", tokens, {"first": secret}, {"first": kept.id})
        cookie = first.cookie("first")
        assert opened(first, cookie)
        other = tokens.add("second", ("admin",), system_clock())[0]
        tokens.storage.update(lambda: msgspec.json.encode([msgspec.structs.replace(other, id=kept.id)]))
        time.sleep(0.6)
        assert not opened(first, cookie)


def test_a_session_outlives_a_restart(tmp_path: Path) -> None:
    with signed_in(tmp_path) as before:
        cookie = before.sign_in("reader").cookies[before.cookie_name]
        assert opened(before, cookie)
    with served(tmp_path / "ledger.db") as server:
        assert opened(before._replace(server=server), cookie)


def changed(cookie: str) -> dict[str, str | bytes]:
    """Cookies that nobody made here, by what was done to a right one."""
    token_id, end, mac = cookie.split(".")
    return {
        "longer": f"{token_id}.{int(end) + 1}.{mac}",
        "other token": f"{'0' * len(token_id)}.{end}.{mac}",
        "no token": f".{end}.{mac}",
        "cut": cookie[:-1],
        "only the end": f".{mac}",
        "only the beginning": f"{token_id}.{end}.",
        "without parts": token_id,
        "empty": "",
        "dots": "." * 99,
        "moved dot": f"{token_id}{end[:1]}.{end[1:]}.{mac}",
        "upper case": cookie.upper(),
        "quoted": f'"{cookie}"',
        "not a number": f"{token_id}.x.{mac}",
        "superscript": f"{token_id}.²".encode("latin-1") + f".{mac}".encode(),
        "not ASCII": "é.é.é".encode("latin-1"),
        "long": "a" * 20_000,
    }


@pytest.mark.slow
def test_a_cookie_that_was_not_made_here_is_refused(site: SignedIn) -> None:
    cookie = site.cookie("owner")
    assert opened(site, cookie)
    assert {what: opened(site, value) for what, value in changed(cookie).items() if opened(site, value)} == {}


def test_a_cookie_of_another_ledger_is_refused(site: SignedIn, tmp_path: Path) -> None:
    with signed_in(tmp_path) as other:
        assert other.cookie_name != site.cookie_name
        assert not opened(site, other.cookie("owner"))
        copied = tmp_path / "copy.db.tokens"
        copied.write_bytes(site.tokens.path.read_bytes())
        named_alike = Sessions(other.ledger, TokenStore(site.ledger))
        caller = site.tokens.identify(f"Bearer {site.secrets['owner']}")
        assert not opened(site, named_alike.begin(caller)), "the key is the ledger's"


SENDABLE = [code for code in range(0x21, 0x100) if code != 0x7F]
"""The bytes that a client may send in a header, but for white space."""


@pytest.mark.slow
@given(st.lists(st.sampled_from(SENDABLE), max_size=300).map(bytes))
def test_no_cookie_makes_a_fault(site: SignedIn, text: bytes) -> None:
    for cookie in (text, site.cookie_name.encode() + b"=" + text):
        with httpx.Client(base_url=site.server.url, timeout=None, headers=[(b"cookie", cookie)]) as client:
            assert client.get("/status").status_code in {400, 401}
            assert client.get("/ui").status_code in {303, 400}
            assert client.post(SIGN_OUT, headers={"sec-fetch-site": "same-origin"}).status_code in {303, 400}


@pytest.mark.slow
@given(st.text(alphabet=f"{ascii_letters}0123456789.-_²é", max_size=120))
def test_no_text_is_a_session(site: SignedIn, text: str) -> None:
    assert not opened(site, text.encode("latin-1"))


@pytest.mark.parametrize("agent", ["reader", "writer", "owner"])
def test_a_cookie_reads_json_and_writes_none(site: SignedIn, agent: str) -> None:
    before = site.head()
    with site.client(site.cookie(agent), origin=site.server.url) as client:
        assert client.get("/events").status_code == client.head("/events").status_code == 200
        for method, path, body in (
            ("POST", "/events", recorded()),
            ("POST", "/decisions", {"decision": "Build it"}),
            ("POST", "/reviews", {"decision_id": "d", "outcome": "success"}),
            ("POST", "/cstp", {"jsonrpc": "2.0", "id": 1, "method": "cstp.getStats"}),
            ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
            ("POST", "/guardrails", {"guardrail_id": "g"}),
            ("PUT", "/evidence", {}),
            ("DELETE", "/guardrails/g", None),
        ):
            answer = client.request(method, path, json=body)
            assert answer.status_code == 401, (method, path)
    assert site.head() == before

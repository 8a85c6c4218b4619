"""The links of every page: for each scope, exactly those that the token may follow."""

from collections.abc import Iterator

import httpx
import pytest

from api.http.pages.response import LINKS
from api.principal import SCOPES, Scope
from tests.api.http.posts import recorded
from tests.api.pages.html_page import HtmlPage
from tests.api.pages.session_cookies import SignedIn, signed_in
from tests.api.pages.shown_ledgers import append

TOKENS: dict[str, tuple[Scope, ...]] = {
    **{f"only-{scope}": (scope,) for scope in SCOPES},
    **{f"read-{scope}": ("read", scope) for scope in SCOPES if scope != "read"},
}
READERS = {name for name, scopes in TOKENS.items() if {"read", "admin"} & set(scopes)}
REVIEWERS = {name for name, scopes in TOKENS.items() if {"append", "admin"} & set(scopes)} & READERS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignedIn]:
    """A server with a token for each scope, and with a decision that waits for its review."""
    with signed_in(tmp_path_factory.mktemp("navigation"), "--refusals", "0", scopes_of=TOKENS) as made:
        with made.client(authorization=f"Bearer {made.secrets['only-admin']}") as owner:
            append(owner, [recorded("waits")])
        yield made


@pytest.mark.parametrize("name", TOKENS)
def test_a_link_is_shown_to_those_who_may_follow_it(site: SignedIn, name: str) -> None:
    with site.client(site.cookie(name)) as client:
        home = client.get("/ui")
        assert home.status_code == (200 if name in READERS else 403)
        shown = links_of(home)
        for link in LINKS:
            answer = client.get(link.address)
            assert answer.status_code == (200 if link.address in shown else 403), link.address
            assert links_of(answer) == shown, "the same on each page"
        for address in set(HtmlPage(home.text).addresses) - {"#content"}:
            assert client.get(address).status_code < 400, address
    assert len(shown) == (len(LINKS) if name in READERS else 0)


@pytest.mark.parametrize("name", sorted(READERS))
def test_the_queue_has_a_form_for_those_who_may_review(site: SignedIn, name: str) -> None:
    with site.client(site.cookie(name)) as client:
        page = HtmlPage(client.get("/ui/reviews").text)
    forms = [attributes for tag, attributes in page.elements if tag == "form" and attributes.get("method") == "post"]
    reviews = [form for form in forms if form["action"].startswith("/ui/reviews")]
    assert len(reviews) == (1 if name in REVIEWERS else 0)
    assert ("that needs the scope" in page.text) is (name not in REVIEWERS)


def links_of(answer: httpx.Response) -> set[str]:
    """The addresses of the navigation that a page links."""
    return set(HtmlPage(answer.text).addresses) & {link.address for link in LINKS}

"""Credentials in the URLs of captured texts: none is kept, and everything else is."""

import json
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instruments.evals.capture.url_credentials import clean_link, redact_urls, redact_urls_within

HIDDEN = "[redacted]"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("http://ada:pw@prom:9090/graph?g0.expr=up", f"http://{HIDDEN}@prom:9090/graph?g0.expr=up"),
        ("https://ada@host/", f"https://{HIDDEN}@host/"),
        ("https://:pw@host", f"https://{HIDDEN}@host"),
        ("http://ada:p@w@host/x", f"http://{HIDDEN}@host/x"),
        ("http://ada:p/w?1#2@host/x", f"http://{HIDDEN}@host/x"),
        ("mysql://root:pw@[::1]:3306/db", f"mysql://{HIDDEN}@[::1]:3306/db"),
        ("see http://a/b and postgres://u:pw@db/x, too", f"see http://a/b and postgres://{HIDDEN}@db/x, too"),
        ("http://h/x?a=1&token=7&b=2", f"http://h/x?a=1&token={HIDDEN}&b=2"),
        ("http://h/x?accessToken=7;apiKey=8", f"http://h/x?accessToken={HIDDEN};apiKey={HIDDEN}"),
        ("http://h/x?X-Amz-Credential=1&X-Amz-Date=2&X-Amz-Signature=3",
         f"http://h/x?X-Amz-Credential={HIDDEN}&X-Amz-Date=2&X-Amz-Signature={HIDDEN}"),
        ("http://h/#/alerts?session_id=7", f"http://h/#/alerts?session_id={HIDDEN}"),
        ("http://h/cb#access_token=7", f"http://h/cb#access_token={HIDDEN}"),
        ("http://h/x?%74oken=7", f"http://h/x?%74oken={HIDDEN}"),
        ("http://h/x?to=https%3A%2F%2Fa%3Apw%40i%2F%3Fsig%3D7",
         f"http://h/x?to=https://{HIDDEN}@i/%3Fsig%3D{HIDDEN}"),
    ],
)  # fmt: skip
def test_credentials_are_replaced_and_the_rest_is_kept(text: str, redacted: str) -> None:
    assert redact_urls(text) == redacted
    assert redact_urls(redacted) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "http://prometheus.example/graph?g0.expr=rate%28token_errors_total%5B5m%5D%29&g0.tab=1",
        "http://host:9090/x?y=a@b", "http://[::1]:9090/x?y=a@b", "http://host:9090?mail=ada@example.org",
        "ada@example.org", "user:pw@host", "https://h/?token=", "https://h/?passenger=7&keyboard=2&tokens_used=",
        "git@host:ours/repo.git", "://", "", "a://b://c", "https://h/x?next=https%3A%2F%2Fi%2Fy",
    ],
)  # fmt: skip
def test_what_is_not_a_credential_is_kept(text: str) -> None:
    assert redact_urls(text) == text


def test_a_link_can_still_be_followed() -> None:
    assert clean_link("http://ada:pw@prom/graph?g0.expr=up&token=7") == f"http://prom/graph?g0.expr=up&token={HIDDEN}"


def test_every_text_of_a_value_is_redacted() -> None:
    value = {"http://u:pw@a": [{"b": "x://u:pw@c"}, 7, None, True], "d": 1.5}
    assert redact_urls_within(value) == {f"http://{HIDDEN}@a": [{"b": f"x://{HIDDEN}@c"}, 7, None, True], "d": 1.5}


secrets = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=20).map(
    lambda text: f"s3cret{text}"
)


@given(
    secrets, secrets, secrets, st.sampled_from(["token", "api_key", "password", "X-Goog-Signature", "sig"]), st.text()
)
def test_no_quoted_credential_remains(user: str, password: str, value: str, name: str, around: str) -> None:
    url = f"https://{quote(user, safe='')}:{quote(password, safe='')}@host/p?{name}={quote(value, safe='')}&page=2"
    redacted = redact_urls(f"{around} {url} {around}")
    assert redacted == f"{redact_urls(around)} https://{HIDDEN}@host/p?{name}={HIDDEN}&page=2 {redact_urls(around)}"
    assert "s3cret" not in json.dumps(redact_urls_within({"annotations": {"runbook_url": url}}))


@given(st.text(st.sampled_from("a:/@?#&=[]% ;.7"), max_size=40))
@example("a:/@@")
@example("a:/b@c@d")
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact_urls(f"x://{text}")
    assert redact_urls(once) == once

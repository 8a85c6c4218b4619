"""The page of tests of decisions shows what `GET /tests` answers, and the page of a decision its test."""

import httpx

from tests.api.http.posts import get, recorded
from tests.api.pages.page_requests import read_json, read_page
from tests.api.pages.shown_ledgers import TESTS, append, post_hostile, post_tests

FIRST = ["overdue", "unresolvable", "failed early", "running", "waiting", "failed", "succeeded"]


def test_without_tests_it_says_how_to_state_one(empty_client: httpx.Client) -> None:
    page = read_page(empty_client, "/ui/tests")
    assert f"export TALLYSTICK_URL={empty_client.base_url}" in page.text
    assert 'tallystick record "Cache the totals" --agent claude --confidence 0.8 --test git.kept:14d' in page.text
    assert not page.cards
    assert "No test passes these filters." in read_page(empty_client, "/ui/tests", agent="nobody").text


def test_it_counts_the_states_and_shows_each_test(empty_client: httpx.Client) -> None:
    post_tests(empty_client)
    page, answer = read_page(empty_client, "/ui/tests"), get(empty_client, "/tests")
    assert read_json(empty_client, page.value("a", "href", rel="alternate")) == answer
    assert list(page.cards) == FIRST
    assert answer["states"] == dict.fromkeys(TESTS, 1)
    rows = page.rows("Table of tests")
    assert [row[:2] for row in rows] == [
        [f"{test['decision_id']} anonymous", test["state"].replace("_", " ")] for test in answer["tests"]
    ]
    assert [row[0].split()[0] for row in rows[:1] + rows[-2:]] == ["overdue", "succeeded", "failed"]
    (row,) = (row for row in rows if row[1] == "failed")
    assert row[2:] == [
        "git.kept:14d retrofitted", "reverted, as commit 000000000000 (2026-01-06 08:00 UTC)",
        "2026-01-05 08:00 to 2026-01-19 08:00", "failure /resolvers/git.kept.v1",
    ]  # fmt: skip
    for state in TESTS:
        assert f"/ui/decisions/{state}" in page.addresses
        assert f"/ui/tests?state={state}" in page.addresses
        listed = read_page(empty_client, f"/ui/tests?state={state}")
        assert [row[1] for row in listed.rows("Table of tests")] == [state.replace("_", " ")]
        assert f"/ui/tests?state={state}" in listed.current


def test_it_filters_and_pages(empty_client: httpx.Client) -> None:
    post_tests(empty_client)
    lines = read_page(empty_client, "/ui/tests", rule="git.lines_alive")
    assert [row[1] for row in lines.rows("Table of tests")] == ["unresolvable"]
    assert "/ui/tests" in lines.addresses
    assert (
        "No test is in this state." in read_page(empty_client, "/ui/tests", rule="git.lines_alive", state="failed").text
    )
    assert (
        "No rule is called git.kep. Did you mean git.kept?" in read_page(empty_client, "/ui/tests", rule="git.kep").text
    )
    second = read_page(empty_client, "/ui/tests", limit=2, offset=2)
    assert "3 to 4 of 7" in second.text
    assert {"/ui/tests?limit=2", "/ui/tests?limit=2&offset=4"} <= set(second.addresses)
    assert "This page is behind the last test." in read_page(empty_client, "/ui/tests", offset=9).text
    assert "Choose one of waiting," in read_page(empty_client, "/ui/tests", 400, state="late").text
    past = read_page(empty_client, "/ui/tests", as_of=2)
    assert [row[1] for row in past.rows("Table of tests")] == ["waiting"]
    assert "/ui/decisions/waiting?as_of=2" in past.addresses
    assert past.live is None


def test_the_page_of_a_decision_shows_its_test(empty_client: httpx.Client) -> None:
    post_tests(empty_client)
    append(empty_client, [recorded("without")])
    page = read_page(empty_client, "/ui/decisions/failed")
    assert "Test git.kept:14d failed reverted, as commit 000000000000 (2026-01-06 08:00 UTC)" in page.text
    assert page.links["git.kept:14d"] == "/ui/tests?decision_id=failed"
    for address in ("/ui/decisions/without", "/ui/decisions/failed?as_of=20"):
        assert not [one for one in read_page(empty_client, address).addresses if "/ui/tests" in one]


def test_hostile_texts_are_shown(empty_client: httpx.Client) -> None:
    post_hostile(empty_client)
    (row,) = read_page(empty_client, "/ui/tests").rows("Table of tests")
    assert row[2].endswith("type=<script>alert(1)</script>")

"""The list of decisions: its figures are those of the JSON, every filter can be removed, and its links work."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.http.posts import get, recorded, reviewed
from tests.api.http.posts import post as append
from tests.api.pages.html_page import HtmlPage
from tests.api.pages.page_requests import read_page
from tests.support.server import serving

DECISIONS = 130
STAKES = ("low", "medium", "high", "critical")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with (
        serving(tmp_path_factory.mktemp("list") / "ledger.db") as url,
        httpx.Client(base_url=url, timeout=None) as connected,
    ):
        append(connected, list(events()))
        yield connected


def events() -> Iterator[dict[str, object]]:
    for number in range(DECISIONS):
        fields: dict[str, object] = {
            "category": f"c{number % 3}",
            "stakes": STAKES[number % 4],
            "decision": f"cache shelf {number}",
            "tags": [f"t{number % 5}"],
        }
        if number % 10:
            fields["confidence"] = number % 100 / 100
        yield recorded(f"d{number:03}", **fields) | {"source": f"/agents/a{number % 2}"}
        if number % 3:
            yield reviewed(f"d{number:03}", ("success", "failure")[number % 2])


def listed(page: HtmlPage) -> list[list[str]]:
    return [row for row in page.cells() if row[0] != "Decision"]


@pytest.mark.parametrize(
    "query",
    [
        "", "limit=20&offset=40", "sort=confidence&order=asc", "sort=confidence", "sort=category&order=desc",
        "agent=a1", "category=c2&stakes=high", "status=pending", "outcome=failure&sort=stakes", "tag=t1,t2",
        "search=shelf+7", "search=shelf+7&retrieval_mode=keyword", "window=30d", "as_of=40", "since=2000-01-01",
    ],
)  # fmt: skip
def test_the_rows_are_those_of_the_json(client: httpx.Client, query: str) -> None:
    page = read_page(client, f"/ui/decisions?{query}")
    answer = client.get(page.links["JSON"]).raise_for_status().json()
    assert f"{answer['total']} decision" in page.text
    rows = listed(page)
    assert len(rows) == len(answer["decisions"]) > 0
    for row, state in zip(rows, answer["decisions"], strict=True):
        decision = state["decision"]
        assert row[0].startswith(decision["decision"])
        assert row[1] == state.get("review", {"outcome": "pending"})["outcome"]
        if "confidence" in decision:
            assert float(row[2]) == decision["confidence"]
        else:
            assert row[2] == "none stated"
        assert row[3:6] == [state["agent"], decision["category"], decision["stakes"]]
        assert row[6] == state["recorded_at"][:16].replace("T", " ")
    opened = [link["href"] for link in page.attributes_of("a") if link.get("class") == "open"]
    assert opened == [f"/ui/decisions/{state['decision_id']}" for state in answer["decisions"]]


def test_links_lead_through_all_pages_and_back(client: httpx.Client) -> None:
    page, seen = read_page(client, "/ui/decisions?agent=a0&limit=30"), 0
    while True:
        seen += len(listed(page))
        if "Next" not in page.links:
            break
        page = read_page(client, page.links["Next"])
    assert seen == DECISIONS // 2
    while "Previous" in page.links:
        page = read_page(client, page.links["Previous"])
    assert "1 to 30 of 65" in page.text


def test_columns_sort_and_say_how(client: httpx.Client) -> None:
    page = read_page(client, "/ui/decisions?agent=a1")
    assert [each["aria-sort"] for each in page.attributes_of("th") if "aria-sort" in each] == ["descending"]
    page = read_page(client, page.links["Confidence"])
    assert "agent=a1" in page.links["JSON"]
    assert float(listed(page)[0][2]) == 0.99
    page = read_page(client, page.links["Confidence \u2193"])
    assert [each["aria-sort"] for each in page.attributes_of("th") if "aria-sort" in each] == ["ascending"]
    assert float(listed(page)[0][2]) == 0.01


def test_filters_are_removed_one_by_one(client: httpx.Client) -> None:
    page = read_page(client, "/ui/decisions?agent=a1&tag=t1,t2&category=c1&offset=0")
    removals = {text: link for text, link in page.links.items() if "remove this filter" in text}
    assert [text.split()[0] for text in removals] == ["agent", "category", "tag", "tag"]
    without = read_page(client, next(link for text, link in removals.items() if "t1" in text))
    assert "tag=t2" in without.links["JSON"]
    assert "t1" not in without.links["JSON"]
    whole = read_page(client, page.links["Remove all"])
    assert f"{DECISIONS} decisions" in whole.text


def test_a_form_sends_what_does_not_apply_and_is_answered(client: httpx.Client) -> None:
    """A form sends every control, also those without a value, and an order that a ranked search has not."""
    every = "search=shelf&agent=&category=&stakes=&status=&outcome=&window=&model=&since="
    page = read_page(client, f"/ui/decisions?{every}&retrieval_mode=keyword&sort=confidence&order=asc")
    assert "sort" not in page.links["JSON"]
    assert "Match" in page.text
    page = read_page(client, "/ui/decisions?search=&retrieval_mode=hybrid")
    assert "retrieval_mode" not in page.links["JSON"]


def test_a_wrong_value_gets_the_error_of_the_json(client: httpx.Client) -> None:
    for query in ("stakes=huge", "sort=shoe", "since=yesterday", "offset=-1", "colour=red", "as_of=99999"):
        problem = client.get(f"/decisions?{query}")
        page = read_page(client, f"/ui/decisions?{query}", problem.status_code)
        assert problem.json()["detail"] in page.text
    assert client.get("/ui/decisions?limit=101").status_code == 400


def test_nothing_matches(client: httpx.Client) -> None:
    page = read_page(client, "/ui/decisions?category=cc1&agent=a1")
    assert "No decision matches." in page.text
    assert "No decision has the category cc1" in page.text
    assert "agent=a1" in page.links["c1"]
    assert "No decision is on this page." in read_page(client, "/ui/decisions?offset=500").text


@pytest.mark.slow
def test_nothing_is_recorded(tmp_path: Path) -> None:
    with serving(tmp_path / "ledger.db") as url, httpx.Client(base_url=url, timeout=None) as empty:
        assert "No decision is recorded yet." in read_page(empty, "/ui/decisions").text
        assert "Nothing is left to review here." in read_page(empty, "/ui/reviews").text
        assert "Nothing is left to review here." in read_page(empty, "/ui/reviews?sample=true").text
        read_page(empty, "/ui/decisions/nowhere", 404)
        append(empty, recorded("only", decision="x"))
        assert "1 decision." in read_page(empty, "/ui/decisions").text
        assert "No decision of anonymous" in read_page(empty, "/ui/decisions/only").text
        assert "1 left to review" in read_page(empty, "/ui/reviews").text
        assert get(empty, "/decisions/only")["decision"]["confidence"] == 0.7

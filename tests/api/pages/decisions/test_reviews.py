"""Reviews over the pages: the form on a decision, the queue, who may use them, and that nothing is recorded twice."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.principal import ReviewPolicy, Scope
from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.http.posts import fresh, get, head, recorded, reviewed
from tests.api.http.posts import post as append
from tests.api.pages.html_page import HtmlPage, ShownForm
from tests.api.pages.page_requests import OWN_PAGE, post, read_page
from tests.support.server import serving

SCOPES: dict[str, tuple[Scope, ...]] = {
    "owner": ("append", "read", "review"),
    "reader": ("read",),
    "writer": ("append", "read"),
    "planner": ("append", "read"),
}


def test_a_form_records_the_review_that_the_json_shows(client: httpx.Client) -> None:
    name = fresh()
    append(client, recorded(name, kpi_indicators=["p99 ms", "cost"]))
    form = read_page(client, f"/ui/decisions/{name}").post_form()
    typed = {"outcome": "partial", "actual_result": "It held.\r\nThen it <stalled>.", "lessons": "Alert", "notes": "n"}
    response = post(client, form, **typed, **{"kpi:p99 ms": "-12.5"})
    assert (response.status_code, response.headers["location"]) == (303, f"/ui/decisions/{name}")
    review = get(client, f"/decisions/{name}")["review"]
    expected = {**typed, "actual_result": "It held.\nThen it <stalled>.", "affected_kpis": {"p99 ms": -12.5}}
    assert {field: review[field] for field in expected} == expected
    words = read_page(client, response.headers["location"]).text
    assert "It held. Then it <stalled>." in words
    assert "-12.5" in words


def test_the_same_form_again_writes_nothing(client: httpx.Client) -> None:
    name = fresh()
    append(client, recorded(name))
    form = read_page(client, f"/ui/decisions/{name}").post_form()
    assert post(client, form, outcome="success", lessons="a").status_code == 303
    before = head(client)
    assert post(client, form, outcome="success", lessons="a").status_code == 303
    assert head(client) == before
    other = post(client, form, outcome="failure", lessons="what was typed")
    assert other.status_code == 409
    assert head(client) == before
    assert "what was typed" in other.text
    again = read_page(client, f"/ui/decisions/{name}").post_form()
    assert again.fields["event_id"] != form.fields["event_id"]
    assert post(client, again, outcome="failure").status_code == 303
    assert get(client, f"/decisions/{name}")["review"]["outcome"] == "failure"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({}, "No outcome is chosen. Choose how it turned out."),
        ({"outcome": "great"}, "'great' is not an allowed value. Use one of: "),
        ({"outcome": "success", "kpi:cost": "much"}, "'much' is not a number. Write how cost changed"),
        ({"outcome": "success", "kpi:cost": "nan"}, "'nan' is not a number."),
        ({"outcome": "success", "lessons": "x" * 70_000}, "at most 65,535 are stored"),
    ],
)
def test_a_wrong_form_is_shown_again_with_what_was_typed(
    client: httpx.Client, typed: dict[str, str], says: str
) -> None:
    name, agent = fresh(), fresh()
    append(client, recorded(name, kpi_indicators=["cost"]) | {"source": f"/agents/{agent}"})
    before = head(client)
    for path in (f"/ui/decisions/{name}", f"/ui/reviews?agent={agent}"):
        form = read_page(client, path).post_form()
        response = post(client, form, actual_result="typed <before>", **typed)
        assert response.status_code in (400, 413, 422), response.text
        assert says in HtmlPage(response.text).text
        assert "typed &lt;before&gt;</textarea>" in response.text
        assert form.fields["event_id"] in response.text
    assert head(client) == before


def test_forms_of_other_sites_are_refused(client: httpx.Client) -> None:
    name, agent = fresh(), fresh()
    append(client, recorded(name) | {"source": f"/agents/{agent}"})
    before = head(client)
    for path in (f"/ui/decisions/{name}", f"/ui/reviews?agent={agent}"):
        form = read_page(client, path).post_form()
        content = "&".join(f"{field}={value}" for field, value in {**form.fields, "outcome": "success"}.items())
        media = {"content-type": "application/x-www-form-urlencoded"}
        for headers in (
            {}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "https://evil.example"},
            {"origin": "null"},
        ):  # fmt: skip
            response = client.post(form.action, content=content, headers={**media, **headers})
            assert response.status_code == 403, headers
        assert client.post(form.action, json=form.fields, headers=OWN_PAGE).status_code == 415
        without_id = content.replace("event_id=", "other=")
        assert client.post(form.action, content=without_id, headers={**media, **OWN_PAGE}).status_code == 422
    assert head(client) == before


def test_a_form_of_an_unknown_decision_is_an_error_page(client: httpx.Client) -> None:
    name = fresh()
    append(client, recorded(name))
    form = read_page(client, f"/ui/decisions/{name}").post_form()
    response = post(client, form._replace(action="/ui/decisions/nowhere/review"), outcome="success")
    assert response.status_code == 404
    assert "Decision not found: nowhere" in response.text
    assert "review" not in get(client, f"/decisions/{name}")


def test_the_queue_shows_one_after_another(client: httpx.Client) -> None:
    agent = fresh()
    names = [f"{agent}-{number}" for number in range(5)]
    for name in names:
        append(client, recorded(name, decision=f"decide {name}", category="tooling") | {"source": f"/agents/{agent}"})
    append(client, recorded(fresh()) | {"source": f"/agents/{agent}"})
    path = f"/ui/reviews?agent={agent}&category=tooling"
    page = read_page(client, path)
    assert "5 left to review." in page.text
    listed = client.get(page.links["JSON"]).json()
    assert (listed["total"], listed["decisions"][0]["decision_id"]) == (5, names[0])
    response = post(client, page.post_form(), outcome="success", actual_result="fine")
    assert response.status_code == 303
    page = read_page(client, response.headers["location"])
    words = page.text
    assert f"Recorded: success for decide {names[0]}" in words
    assert page.links[f"decide {names[0]}"] == f"/ui/decisions/{names[0]}"
    assert "4 left to review." in words
    assert page.post_form().fields["decision_id"] == names[1]
    page = read_page(client, page.links["s Skip"])
    assert "3 left to review, 1 skipped" in page.text
    assert page.post_form().fields["decision_id"] == names[2]
    page = read_page(client, post(client, page.post_form(), outcome="abandoned").headers["location"])
    assert page.post_form().fields["decision_id"] == names[3], "the skipped one does not come back"
    assert "Recorded: abandoned" in page.text
    back = read_page(client, page.links["b Back to the one before"])
    assert back.post_form().fields["decision_id"] == names[1]
    for _ in range(2):
        page = read_page(client, post(client, page.post_form(), outcome="failure").headers["location"])
    assert "Nothing is left to review but what was skipped." in page.text
    page = read_page(client, page.links["begin again"])
    assert page.post_form().fields["decision_id"] == names[1]
    outcomes = [get(client, f"/decisions/{name}").get("review", {}).get("outcome") for name in names]
    assert outcomes == ["success", None, "abandoned", "failure", "failure"]


def test_a_random_sample_is_reviewed_whole(client: httpx.Client) -> None:
    agent = fresh()
    for number in range(12):
        append(client, recorded(f"{agent}-{number}", confidence=0.8) | {"source": f"/agents/{agent}"})
        if number < 4:
            append(client, reviewed(f"{agent}-{number}"))
    page = read_page(client, f"/ui/reviews?agent={agent}&sample=true&size=3")
    drawn = client.get(page.links["JSON"]).json()
    assert "seed=" in page.links["JSON"], "the address draws the same sample again"
    assert f"seed {drawn['seed']}" in page.text
    assert "3 left to review." in page.text
    for number, each in enumerate(drawn["decisions"]):
        assert f"{number} of the 3 decisions drawn are reviewed" in page.text
        assert page.post_form().fields["decision_id"] == each["decision_id"]
        page = read_page(client, post(client, page.post_form(), outcome="success").headers["location"])
    answer = client.get(page.links["JSON"]).json()
    result, (low, high) = answer["result"], answer["result"]["interval"]
    words = page.text
    assert "Nothing is left to review here." in words
    assert "The sample is reviewed." in words
    assert f"of all 12 decisions is {result['gap']:+.3f} ({low:+.3f} to {high:+.3f}, 95%)" in words
    assert client.get("/ui/reviews?sample=maybe").status_code == 400
    assert client.get("/ui/reviews?sort=confidence").status_code == 400


@pytest.fixture(scope="module")
def signed_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, httpx.Client]]:
    """A browser for each token, signed in, on a ledger with two decisions of the planner."""
    ledger = tmp_path_factory.mktemp("tokens") / "ledger.db"
    tokens = TokenStore(ledger)
    secrets = {name: tokens.add(name, scopes, system_clock())[1] for name, scopes in SCOPES.items()}
    policies: dict[ReviewPolicy, str] = {"others": "planner", "none": "writer"}
    for policy, name in policies.items():
        tokens.revoke(next(token.id for token in tokens.list() if token.agent == name))
        secrets[name] = tokens.add(name, SCOPES[name], system_clock(), review=policy)[1]
    with serving(ledger) as url:
        clients = {name: httpx.Client(base_url=url, timeout=None) for name in SCOPES}
        for name, client in clients.items():
            form = ShownForm("/ui/sign-in", {"token": secrets[name]})
            assert post(client, form).status_code == 303
        bearer = {"authorization": f"Bearer {secrets['planner']}"}
        with httpx.Client(base_url=url, timeout=None, headers=bearer) as planner:
            append(planner, [recorded("first"), recorded("second")])
        yield clients
        for client in clients.values():
            client.close()


@pytest.mark.slow
def test_who_may_not_review_sees_no_form(signed_in: dict[str, httpx.Client]) -> None:
    for name, says in (
        ("reader", "This token may not review decisions: that needs the scope"),
        ("writer", "This token may not review decisions."),
        ("planner", "This token may not review the decisions of planner."),
    ):
        for path in ("/ui/decisions/first", "/ui/reviews"):
            page = read_page(signed_in[name], path)
            assert not [form for form in page.forms if "event_id" in form.fields], (name, path)
        assert says in read_page(signed_in[name], "/ui/reviews").text
    form = read_page(signed_in["owner"], "/ui/decisions/first").post_form()
    for name in ("reader", "writer", "planner"):
        response = post(signed_in[name], form, outcome="success")
        assert response.status_code == 403, name
    assert "no review yet" in read_page(signed_in["owner"], "/ui/decisions/first").text


def test_a_session_reviews_in_the_name_of_its_agent(signed_in: dict[str, httpx.Client]) -> None:
    owner = signed_in["owner"]
    assert post(owner, read_page(owner, "/ui/reviews").post_form(), outcome="success").status_code == 303
    assert "by owner," in read_page(owner, "/ui/decisions/first").text
    with httpx.Client(base_url=owner.base_url, timeout=None) as stranger:
        form = read_page(owner, "/ui/reviews").post_form()
        response = post(stranger, form, outcome="success")
        assert (response.status_code, response.headers["location"]) == (303, "/ui/sign-in")
        assert stranger.get("/ui/reviews").headers["location"] == "/ui/sign-in?next=%2Fui%2Freviews"
    assert "no review yet" in read_page(owner, "/ui/decisions/second").text


def test_an_empty_queue_of_a_filter(tmp_path: Path) -> None:
    with serving(tmp_path / "ledger.db") as url, httpx.Client(base_url=url, timeout=None) as client:
        append(client, recorded("one", category="a,b & c"))
        page = read_page(client, "/ui/reviews?category=other")
        assert "Nothing is left to review here." in page.text
        page = read_page(client, next(link for text, link in page.links.items() if "remove this filter" in text))
        assert page.post_form().fields["decision_id"] == "one"
        assert "1 left to review." in read_page(client, "/ui/reviews?category=a%2Cb+%26+c").text
        response = client.get("/ui/reviews?recorded=one", follow_redirects=True)
        assert "Recorded:" not in response.text, "it is not reviewed"
        assert client.get("/ui/reviews?recorded=nowhere").status_code == 200

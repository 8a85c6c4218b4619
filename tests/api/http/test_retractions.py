"""A retracted decision counts nowhere, and is shown wherever it is named."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.cli.command import done, refused
from tests.api.cstp.client import Caller
from tests.api.http.posts import Json, get, head, post, recorded, reviewed, thought
from tests.support.server import Served, served

pytestmark = pytest.mark.trial("A1")

PATTERN = "Measure, then decide"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "ledger.db") as server:
        yield server


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=None) as client:
        yield client


def decided(name: str, outcome: str | None = "success", **fields: object) -> list[Json]:
    """A decision and its review, as they are posted."""
    reason = {"type": "analysis", "text": "It was measured"}
    opening = recorded(name, category="tooling", stakes="high", reasons=[reason], pattern=PATTERN, **fields)
    return [opening] if outcome is None else [opening, reviewed(name, outcome, lessons="Unmistakable wording")]


def retract(client: httpx.Client, name: str, reason: str = "recorded twice", **more: object) -> httpx.Response:
    body = {"data": {"decision_id": name, "reason": reason}, **more}
    return client.post("/retractions", json=body)


def views(client: httpx.Client, caller: Caller) -> dict[str, object]:
    """Everything that counts or lists decisions, without the position that it is as of."""
    figures: dict[str, Callable[[], object]] = {
        "calibration": lambda: get(client, "/calibration", include="trend,drift,comparison", detail="curves"),
        "by category": lambda: get(client, "/calibration", group_by="category", since="2020-01-01"),
        "advice": lambda: get(client, "/calibration/advice", category="tooling", agent="anonymous"),
        "decisions": lambda: get(client, "/decisions"),
        "search": lambda: get(client, "/decisions", search="unmistakable"),
        "reasons": lambda: get(client, "/projections/reasons"),
        "counts": lambda: get(client, "/projections/decisions"),
        "stats": lambda: caller.result("getStats"),
        "listed": lambda: caller.result("listDecisions"),
        "found": lambda: caller.result("queryDecisions", {"query": "unmistakable wording"}),
        "types": lambda: caller.result("getReasonStats"),
        "context": lambda: caller.result("getSessionContext"),
        "actions": lambda: caller.result("ready"),
    }  # fmt: skip
    return {name: plain(make()) for name, make in figures.items()}


def plain(value: object) -> object:
    """A view without what differs between any two requests, or counts retracted decisions."""
    if isinstance(value, dict):
        changing = ("as_of", "retracted", "digest", "queryTimeMs", "queryTime", "generatedAt", "position", "markdown")
        return {name: plain(inner) for name, inner in value.items() if name not in changing}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.slow
def test_no_figure_counts_it(server: Served, client: httpx.Client) -> None:
    """The figures are those of a ledger that never had the decision."""
    for name in ("d1", "d2", "d3", "d4", "d5", "d6"):
        post(client, decided(name, "success" if name != "d2" else "failure"))
    with Caller(server.url) as caller:
        before = views(client, caller)
        overdue = decided("twice", None, review_by="2020-01-01T00:00:00Z", confidence=0.1, decision="ship it again")
        post(client, overdue)
        post(client, decided("twice-2", "failure", confidence=0.1))
        post(client, [thought("twice-2", "Unmistakable wording")])
        counted, after_recording = views(client, caller), head(client)
        assert {name for name in before if counted[name] == before[name]} <= {"advice"}
        for name in ("twice", "twice-2"):
            assert retract(client, name).status_code == 201
        assert views(client, caller) == before
        assert get(client, "/calibration")["retracted"] == 2
        assert get(client, "/calibration", category="other").get("retracted") is None
        assert get(client, "/status")["retracted"] == 2
        assert (get(client, "/status")["decisions"], get(client, "/status")["reviewed"]) == (6, 6)
        assert caller.result("getCalibration")["retracted"] == 2
        then = get(client, "/calibration", as_of=after_recording)
        assert (then["coverage"]["reviewed"], then.get("retracted")) == (7, None)
        assert get(client, "/decisions", as_of=after_recording)["total"] == 8
        assert get(client, "/decisions", as_of=after_recording + 1)["total"] == 7


def test_its_history_stays(server: Served, client: httpx.Client) -> None:
    post(client, decided("d1"))
    answer = retract(client, "d1", "imported twice", id="r1", source="/agents/warden")
    assert answer.status_code == 201
    again = retract(client, "d1", "imported twice", id="r1", source="/agents/warden")
    assert (again.status_code, again.json()["duplicate"], again.json()["position"]) == (200, True, 3)
    state = get(client, "/decisions/d1")
    assert (state["retracted"]["by"], state["retracted"]["reason"]) == ("warden", "imported twice")
    assert state["retracted"]["at"] == answer.json()["time"] == state["history"][2]["time"]
    assert (state["review"]["outcome"], len(state["history"])) == ("success", 3)
    assert "retracted" not in get(client, "/decisions/d1", as_of=2)
    listed = get(client, "/decisions", status="retracted")
    assert [one["decision_id"] for one in listed["decisions"]] == ["d1"]
    assert get(client, "/decisions", status="retracted", outcome="failure")["total"] == 0
    assert get(client, "/decisions", status="")["total"] == 0
    with Caller(server.url) as caller:
        row = caller.result("getDecision", {"id": "d1"})["decision"]
        assert (row["status"], row["retracted"]["by"]) == ("retracted", "warden")
        assert caller.result("listDecisions", {"status": "retracted"})["total"] == 1
        assert caller.result("queryDecisions", {"filters": {"status": "retracted"}})["total"] == 1


@pytest.mark.slow
def test_nothing_follows_it(server: Served, client: httpx.Client) -> None:
    post(client, decided("d1", None))
    assert retract(client, "d1").status_code == 201
    for response in (
        retract(client, "d1"),
        client.post("/events", json=reviewed("d1")),
        client.post("/reviews", json={"data": {"decision_id": "d1", "outcome": "success"}}),
    ):
        assert response.status_code == 409
        assert "decision/d1 was closed by decision.retracted.v1 at version 2" in response.json()["detail"]
    with Caller(server.url) as caller:
        for method, params in (
            ("updateDecision", {"id": "d1", "updates": {"context": "later"}}),
            ("reviewDecision", {"id": "d1", "outcome": "success"}),
            ("recordThought", {"id": "d1", "text": "hmm"}),
        ):
            assert "was closed by decision.retracted.v1" in caller.error(method, params)[1]
    assert head(client) == 2


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"data": {"decision_id": "nope", "reason": "x"}}, 404, "Decision not found: nope"),
        ({"data": {"decision_id": "d1"}}, 422, "reason"),
        ({"data": {"decision_id": "d1", "reason": ""}}, 422, "reason"),
        ({"data": {"decision_id": "d1", "reason": "x", "outcome": "success"}}, 422, "outcome"),
        ({"data": {"decision_id": "d", "reason": "x"}}, 404, "Decision not found: d"),
    ],
    ids=["unknown", "no reason", "empty reason", "other field", "a beginning"],
)
def test_a_wrong_retraction_writes_nothing(client: httpx.Client, body: Json, status: int, said: str) -> None:
    post(client, decided("d1"))
    response = client.post("/retractions", json=body)
    assert response.status_code == status, response.text
    assert said in response.json()["detail"]
    assert head(client) == 2


@pytest.mark.slow
def test_the_verb_retracts_in_the_file_and_through_a_server(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    for name in ("d1", "d2"):
        done(ledger, "record", "ship", "--id", name, "--confidence", 0.8, "--agent", "ada")
    ended = done(ledger, "retract", "d1", "--reason", "twice", "--by", "ada", "--event-id", "r1")
    assert (ended.text, ended.err) == ("d1\n", "Decision d1 is retracted, at position 3.\n")
    again = done(ledger, "retract", "d1", "--reason", "twice", "--by", "ada", "--event-id", "r1")
    assert again.err == "Decision d1 was retracted already, at position 3.\n"
    assert "was closed by decision.retracted.v1" in refused(ledger, "retract", "d1", "--reason", "twice", code=1)
    assert "Decision not found: d9" in refused(ledger, "retract", "d9", "--reason", "twice", code=1)
    assert "--reason" in refused(ledger, "retract", "d2", "--reason", "")
    with served(ledger) as server:
        done(ledger, "retract", "d2", "--reason", "wrong ledger", "--url", server.url)
    assert "0 of 0 decisions." in done(ledger, "decisions").err
    listed = done(ledger, "decisions", "--status", "retracted")
    assert "2 of 2 decisions." in listed.err
    shown = done(ledger, "decision", "d2").text
    assert "by anonymous: it counts in no figure" in shown
    assert "wrong ledger" in shown
    assert "2 decisions retracted and not counted." in done(ledger, "calibration").text
    assert "0, 0 of them reviewed; 2 more retracted" in done(ledger, "status").text
    assert "wrong ledger" in done(ledger, "log", "--type", "decision.retracted.v1").text

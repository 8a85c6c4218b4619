"""record and review: through the file, through a server, and as CSTP answers."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cstp.client import Caller
from tests.support.server import served, serving

FIELDS = ("--confidence", 0.8, "--category", "tooling", "--stakes", "high")


def events(ledger: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in done(ledger, "log", "--json").out.splitlines()]


def decision(ledger: Path, decision_id: str) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(done(ledger, "decision", decision_id, "--json").out)
    return found


@pytest.fixture(params=["file", "server"])
def where(request: pytest.FixtureRequest, ledger: Path) -> Iterator[tuple[str, ...]]:
    """The options that lead to the ledger: none for its file, or a server's address."""
    if request.param == "file":
        yield ()
    else:
        with serving(ledger) as url:
            yield ("--url", url)


def test_a_decision_with_every_option(ledger: Path, where: tuple[str, ...]) -> None:
    said = done(
        ledger, "record", "Use a pool", "--agent", "claude", *FIELDS, "--context", "Timeouts", "--reason",
        "analysis:Handshakes: 40 ms", "--reason", "pattern: seen before", "--tag", "pool", "--tag", "gateway",
        "--project", "acme", "--feature", "pooling", "--pr", 42, "--review-by", "2026-12-01", "--question", "pool?",
        "--id", "d1", "--event-id", "e1", *where,
    )  # fmt: skip
    assert (said.text, said.err) == ("d1\n", "Decision d1 recorded at position 1.\n")
    recorded, asked = events(ledger)
    assert (recorded["id"], recorded["source"], recorded["subject"]) == ("e1", "/agents/claude", "decision/d1")
    assert recorded["data"] == {
        "decision_id": "d1", "decision": "Use a pool", "confidence": 0.8, "category": "tooling", "stakes": "high",
        "context": "Timeouts", "project": "acme", "feature": "pooling", "pr": 42, "tags": ["pool", "gateway"],
        "reasons": [{"type": "analysis", "text": "Handshakes: 40 ms"}, {"type": "pattern", "text": "seen before"}],
        "review_by": "2026-12-01T00:00:00Z",
    }  # fmt: skip
    assert (asked["source"], asked["data"]) == ("/agents/claude", {"decision_id": "d1", "question": "pool?"})


def test_a_decision_and_its_review(ledger: Path, where: tuple[str, ...]) -> None:
    made = done(ledger, "record", "Use a pool", *where)
    decision_id = made.text.strip()
    assert re.fullmatch(r"[0-9a-f]{8}", decision_id)
    assert "confidence" not in decision(ledger, decision_id)["decision"]
    said = done(
        ledger, "review", decision_id[:6], "--outcome", "partial", "--result", "Halved", "--lessons", "Measure first",
        "--notes", "Watch it", "--by", "bob", *where,
    )  # fmt: skip
    assert (said.text, said.err) == (f"{decision_id}\n", f"Review of {decision_id} recorded at position 2.\n")
    review = events(ledger)[1]
    assert (review["source"], review["data"]) == (
        "/agents/bob",
        {
            "decision_id": decision_id, "outcome": "partial", "actual_result": "Halved", "lessons": "Measure first",
            "notes": "Watch it",
        },
    )  # fmt: skip


def test_programs_get_json(ledger: Path, where: tuple[str, ...]) -> None:
    recorded = msgspec.json.decode(done(ledger, "--json", "record", "x", "--id", "d1", *where).out)
    assert {name: recorded[name] for name in ("decision_id", "position", "event_id", "duplicate", "thoughts")} == {
        "decision_id": "d1", "position": 1, "event_id": "decision/d1/recorded", "duplicate": False, "thoughts": 0,
    }  # fmt: skip
    reviewed = msgspec.json.decode(done(ledger, "review", "d1", "--outcome", "success", "--json", *where).out)
    assert (reviewed["decision_id"], reviewed["position"], reviewed["duplicate"]) == ("d1", 2, False)
    assert [event["time"] for event in events(ledger)] == [recorded["time"], reviewed["time"]]


@pytest.mark.slow
@pytest.mark.parametrize("ids", [("--event-id", "e1"), ("--id", "d1"), ("--id", "d1", "--event-id", "e1")], ids=str)
def test_a_repetition_adds_nothing(ledger: Path, where: tuple[str, ...], ids: tuple[str, ...]) -> None:
    words = ("record", "x", "--confidence", "0.8", "--question", "q", *ids, *where)
    first, again = done(ledger, *words), done(ledger, *words)
    assert again.text == first.text
    assert again.err == f"Decision {first.text.strip()} there already at position 1.\n"
    for other in (("record", "y", *words[2:]), ("record", "x", *words[2:4], *ids, *where)):
        assert "Nothing was written." in refused(ledger, *other, code=1)
    review = ("review", first.text.strip(), "--outcome", "success", "--event-id", "r1", *where)
    done(ledger, *review)
    assert "there already at position 3." in done(ledger, *review).err
    assert "there already at position 3." in done(ledger, "review", first.text.strip()[:5], *review[2:]).err
    assert "Nothing was written." in refused(ledger, *review[:3], "failure", *review[4:], code=1)
    assert len(events(ledger)) == 3


def test_an_id_of_another_decision_is_refused(ledger: Path, where: tuple[str, ...]) -> None:
    done(ledger, "record", "x", "--id", "d1", *where)
    assert "is already in the log" in refused(
        ledger, "record", "x", "--id", "d1", "--event-id", "other", *where, code=1
    )
    said = refused(ledger, "record", "x", "--id", "d1", "--agent", "other", "--question", "q", *where, code=1)
    assert "is already in the log" in said
    assert len(events(ledger)) == 1


@pytest.mark.slow
def test_a_beginning_must_be_unambiguous(ledger: Path, where: tuple[str, ...]) -> None:
    for name in ("abc1", "abc2", "abc"):
        done(ledger, "record", name, "--id", name, *where)
    assert done(ledger, "review", "abc", "--outcome", "success", *where).text == "abc\n"
    assert done(ledger, "review", "abc1", "--outcome", "success", *where).text == "abc1\n"
    several = refused(ledger, "review", "ab", "--outcome", "success", *where, code=1)
    assert several == "error: Decision not found: ab\nab begins more than one id.\n"
    unknown = refused(ledger, "review", "nope", "--outcome", "success", *where, code=1)
    assert "Decision not found: nope" in unknown
    assert len(events(ledger)) == 5


def interface_record(interface: str, ledger: Path) -> str:
    """Think twice over CSTP, then decide and review through an interface; the agent is anonymous everywhere."""
    with served(ledger) as server, Caller(server.url) as cstp:
        for text in ("Pools are cheap", "So pool"):
            cstp.result("recordThought", {"text": text})
        if interface == "cstp":
            fields = {"confidence": 0.8, "category": "tooling", "stakes": "high", "question": "pool?"}
            made = cstp.result("recordDecision", {"decision": "Use a pool", **fields, "idempotencyKey": "e1"})
            cstp.result("reviewDecision", {"id": made["id"], "outcome": "success", "idempotencyKey": "r1"})
            return str(made["id"])
        if interface == "server":
            return command_record(ledger, "--url", server.url)
    return command_record(ledger)


def command_record(ledger: Path, *where: str) -> str:
    made = done(ledger, "record", "Use a pool", *FIELDS, "--question", "pool?", "--event-id", "e1", *where)
    assert "with 2 pending thoughts" in made.err
    decision_id = made.text.strip()
    done(ledger, "review", decision_id, "--outcome", "success", "--event-id", "r1", *where)
    return decision_id


@pytest.mark.slow
def test_the_command_line_records_what_cstp_records(tmp_path: Path) -> None:
    """The same events, but for what differs each time: ids that are made, and times."""
    recorded = {}
    for interface in ("cstp", "server", "file"):
        ledger = tmp_path / f"{interface}.db"
        decision_id = interface_record(interface, ledger)
        lines = []
        for line in done(ledger, "log", "--json").text.splitlines():
            event = msgspec.json.decode(line)
            made = [decision_id, *([event["data"]["thought_id"]] if "thought_id" in event["data"] else [])]
            text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", line)
            for name in made:
                text = text.replace(name, "MADE")
            lines.append(re.sub(r'"id":"[0-9a-f-]{36}"|"total_duration_ms":\d+', "", text))
        recorded[interface] = lines
    assert len(recorded["cstp"]) == 7
    assert recorded["server"] == recorded["cstp"]
    assert recorded["file"] == recorded["cstp"]


def test_a_retry_after_thoughts_were_adopted(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    with served(ledger) as server, Caller(server.url) as cstp:
        cstp.result("recordThought", {"text": "hmm"})
        words = ("record", "x", "--id", "d1", "--question", "q", "--url", server.url)
        first = done(ledger, *words)
        cstp.result("recordThought", {"text": "later"})
        assert done(ledger, *words).text == first.text
        assert [step["thought"] for step in decision(ledger, "d1")["decision"]["deliberation"]["steps"]] == ["hmm"]


@pytest.mark.slow
def test_the_agent_is_typed_or_set_or_the_tokens(ledger: Path) -> None:
    done(ledger, "record", "x")
    done(ledger, "record", "x", TALLYSTICK_AGENT="zoe")
    done(ledger, "record", "x", "--agent", "ann", TALLYSTICK_AGENT="zoe")
    done(ledger, "record", "x", TALLYSTICK_AGENT="")
    token = done(ledger, "token", "add", "bob").text.strip()
    with serving(ledger) as url:
        where = ("--url", url, "--token", token)
        done(ledger, "record", "x", *where, TALLYSTICK_AGENT="zoe")
        said = refused(ledger, "record", "x", *where, "--agent", "zoe")
        assert "bob cannot append as /agents/zoe" in said
        assert "Authorization header required" in refused(ledger, "record", "x", "--url", url)
    agents = [event["source"].removeprefix("/agents/") for event in events(ledger)]
    assert agents == ["anonymous", "zoe", "ann", "anonymous", "bob"]
    assert "TALLYSTICK_AGENT: 'a b' cannot be" in refused(ledger, "record", "x", TALLYSTICK_AGENT="a b")


def test_a_token_that_may_only_append_reviews_by_the_whole_id(ledger: Path) -> None:
    done(ledger, "record", "x", "--id", "d123")
    token = done(ledger, "token", "add", "bob", "--scope", "append").text.strip()
    with serving(ledger) as url:
        where = ("--outcome", "success", "--url", url, "--token", token)
        assert "lacks the scope 'read'" in refused(ledger, "review", "d12", *where)
        assert done(ledger, "review", "d123", *where).text == "d123\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("record", ""), "decision: expected `string` of length >= 1."),
        (("record", "x", "--reason", "because"), "--reason: 'because' does not begin with the type of the reason."),
        (("record", "x", "--reason", "gut:feeling"), "Write TYPE:TEXT, with one of authority, analogy, analysis, "),
        (("record", "x", "--reason", "analysis:"), "--reason: expected `string` of length >= 1."),
        (("record", "x", "--tag", ""), "--tag: expected `string` of length >= 1."),
        (("record", "x", "--stakes", "huge"), "--stakes: 'huge' is not one of the choices."),
        (("record", "x", "--review-by", "soon"), "--review-by: 'soon' is neither a date"),
        (("record", "x", "--agent", "a b"), "--agent: 'a b' cannot be the name of an agent."),
        (("record", "x", "--id", "a b"), "decision_id 'a b' is not 1..64 of letters"),
        (("record", "x", "--event-id", ""), "--event-id: expected `string` of length >= 1."),
        (("record", "x", "--question", "q" * 300), "--question: expected `string` of length <= 256."),
        (("record", "x", "--project", "p" * 300), "--project: expected `string` of length <= 256."),
        (("review", "x", "--outcome", "won"), "--outcome: 'won' is not one of the choices.\nChoose one of success, "),
        (("review", "x", "--outcome", "success", "--by", "a b"), "--by: 'a b' cannot be the name of an agent."),
        (("review", "", "--outcome", "success"), "DECISION: expected `string` of length >= 1."),
    ],
)
def test_wrong_values_are_named_and_nothing_is_written(ledger: Path, words: tuple[str, ...], reason: str) -> None:
    assert reason in refused(ledger, *words)
    assert not ledger.exists() or events(ledger) == []


def test_wrong_usage(ledger: Path) -> None:
    for words in (("record",), ("record", "x", "--confidence", 2), ("record", "x", "--confidence", "nan"), ("review",),
                  ("review", "x")):  # fmt: skip
        ended = tally(ledger, *words)
        assert (ended.code, ended.out) == (2, b"")
        assert "Traceback" not in ended.err
    assert not ledger.exists()


def test_a_ledger_in_use_is_written_through_its_server(ledger: Path) -> None:
    with serving(ledger) as url:
        assert done(ledger, "record", "x").err.startswith(f"using the server at {url} that holds {ledger}\nDecision ")


def test_over_http(tmp_path: Path) -> None:
    """POST /decisions and POST /reviews, as other programs call them."""
    with serving(tmp_path / "t.db") as url, httpx.Client(base_url=url) as client:
        body = {"data": {"decision": "x"}, "id": "e1", "source": "/agents/ann", "question": "q"}
        first, again = client.post("/decisions", json=body), client.post("/decisions", json=body)
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json() == {**first.json(), "duplicate": True}
        decision_id = first.json()["decision_id"]
        review = {"data": {"decision_id": decision_id[:6], "outcome": "success"}, "id": "r1"}
        missing = client.post("/reviews", json=review)
        assert (missing.status_code, missing.json()["type"]) == (404, "urn:tallystick:problem:not-found")
        made = client.post("/reviews", json={**review, "prefix": True})
        assert (made.status_code, made.json()["decision_id"], made.json()["position"]) == (201, decision_id, 3)
        assert client.post("/reviews", json={**review, "prefix": True}).status_code == 200
        wrong = client.post("/decisions", json={"data": {"decision": "x", "confidence": 2}}).json()
        assert (wrong["status"], wrong["field"]) == (422, "data.confidence")
        assert client.post("/decisions", json={**body, "source": "nobody"}).json()["field"] == "source"


def test_a_vector_is_recorded_with_its_decision(ledger: Path, where: tuple[str, ...]) -> None:
    done(ledger, "record", "Rotate", "--id", "r", "--embedding", "[0.5, -0.25]", "--embedding-model", "m", *where)
    done(ledger, "record", "Rotate", "--id", "r", "--embedding", "[0.5, -0.25]", "--embedding-model", "m", *where)
    recorded, embedded = events(ledger)
    assert (recorded["subject"], embedded["subject"]) == ("decision/r", "decision/r")
    assert (embedded["type"], embedded["data"]["model"]) == ("decision.embedded.v1", "m")
    assert "must be a JSON array" in refused(ledger, "record", "x", "--embedding", "[1, x]", *where)
    assert "must name the model" in refused(ledger, "record", "x", "--embedding", "[1, 2]", *where)
    assert "is of no use without" in refused(ledger, "record", "x", "--embedding-model", "m", *where)
    short = ("record", "x", "--embedding", "[1, 2, 3]", "--embedding-model", "m")
    assert "has 3 numbers, and the vectors of 'm' have 2" in refused(ledger, *short, *where)
    assert len(events(ledger)) == 2

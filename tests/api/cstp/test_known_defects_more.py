"""What the users of the reference server suffer from, row by row, 13 to 23; none of it can be met here."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import requires
from pathlib import Path

import httpx
import pytest

from api.principal import Scope
from api.token_store import TokenStore
from tests.api.cstp.client import Caller, recorded
from tests.api.cstp.thoughts import (
    decide,
    stream,
    texts,
    think,
)
from tests.api.http.posts import fresh, head
from tests.support.paths import ROOT
from tests.support.server import Served, served, serving

NOW = datetime(2026, 11, 21, tzinfo=UTC)


class Guarded:
    """A server that requires tokens, and the token of each agent."""

    def __init__(self, folder: Path) -> None:
        self.ledger = folder / "ledger.db"
        scopes: dict[str, tuple[Scope, ...]] = {"ada": ("append", "read"), "bo": ("append", "read")}
        self.secrets = {agent: TokenStore(self.ledger).add(agent, held, NOW)[1] for agent, held in scopes.items()}
        self.url = ""

    def caller(self, agent: str) -> Caller:
        return Caller(self.url, f"Bearer {self.secrets[agent]}")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    made = Guarded(tmp_path_factory.mktemp("guarded"))
    with serving(made.ledger) as made.url:
        yield made


def test_row_13_no_file_beside_the_ledger_is_read(tmp_path: Path) -> None:
    """There: reason stats, attribution and the lookup of a review still read every YAML file there was."""
    folder = tmp_path / "decisions" / "2026" / "02"
    folder.mkdir(parents=True)
    foreign = "id: 3f2a9c1e\ndecision: foreign\nproject: p\npr: 9\nreasons:\n- type: pattern\n  text: t\n"
    (folder / "2026-02-05-decision-3f2a9c1e.yaml").write_text(foreign)
    with serving(tmp_path / "ledger.db") as url, Caller(url) as cstp:
        made = [cstp.record(project="p", pr=number, reasons=[{"type": "analysis", "text": "t"}]) for number in range(3)]
        for decision_id in made[:2]:
            cstp.result("reviewDecision", {"id": decision_id, "outcome": "success"})
        for beside in (True, False):
            stats = cstp.result("getReasonStats", {"filters": {"project": "p"}, "minReviewed": 1})
            rows = [(one["reasonType"], one["totalUses"], one["reviewedUses"]) for one in stats["byReasonType"]]
            assert (rows, stats["totalDecisions"]) == ([("analysis", 3, 2)], 3)
            found = cstp.result("attributeOutcomes", {"project": "p", "stabilityDays": 0, "dryRun": True})
            assert [one["id"] for one in found["decisions"]] == made[2:]
            assert cstp.error("reviewDecision", {"id": "3f2a9c1e", "outcome": "success"})[0] == -32603
            if beside:
                (folder / "2026-02-05-decision-3f2a9c1e.yaml").write_text("not: [yaml")
    assert {file.name.partition(".db")[0] for file in tmp_path.iterdir() if file.is_file()} == {"ledger"}


def test_row_14_age_is_no_evidence_and_what_was_not_written_is_not_counted(cstp: Caller, project: str) -> None:
    """There: aged pull requests became successes without evidence, counted as stable even where the write failed."""
    times = {"old": "2026-02-05T12:00:00Z", "older": "2025-02-05T12:00:00Z"}
    for number, (name, time) in enumerate(times.items()):
        cstp.events([recorded(f"{project}-{name}", time, None, project=project, confidence=0.9, pr=number)])
    position = head(cstp.http)
    for params in ({}, {"stabilityDays": 0}, {"stability_days": 1, "dry_run": True}, {"since": "2020-01-01"}):
        answer = cstp.result("attributeOutcomes", {"project": project, **params})
        assert (answer["processed"], answer["attributed"]) == (2, {"stable": 0, "skipped": 2}), params
        assert [one["updated"] for one in answer["decisions"]] == [False, False]
    assert head(cstp.http) == position
    assert cstp.calibration(project, minDecisions=1)["overall"] is None
    too_long = {"1": "x" * 70_000}
    assert cstp.ask("attributeOutcomes", {"project": project, "evidence": too_long})["error"]["code"] == -32602
    assert head(cstp.http) == position
    answer = cstp.result("attributeOutcomes", {"project": project, "evidence": {"1": "the tests have passed since"}})
    assert answer["attributed"] == {"stable": 1, "skipped": 1}
    found = cstp.decision(f"{project}-older")
    assert (found["outcome"], found["reviewed_by"]) == ("success", "anonymous")
    assert "the tests have passed since" in found["review_notes"]
    assert cstp.decision(f"{project}-old")["status"] == "pending"


def test_row_15_a_call_that_fails_takes_up_no_thought_for_any_decision(cstp: Caller, agent: str) -> None:
    """There: a failed validation consumed the thoughts, and credited them later to another id."""
    think(cstp, "kept", agentId=agent, decisionId="D")
    for wrong in (
        {"confidence": 2},
        {"decision": ""},
        {"stakes": "huge"},
        {"reviewIn": "7y"},
        {"decision": "x" * 70_000},
    ):
        code, _ = cstp.error("recordDecision", {"decision": "x", "agentId": agent, "decisionId": "D", **wrong})
        assert code == -32602
    assert texts(cstp, decide(cstp, agentId=agent, decisionId="E")) == []
    assert texts(cstp, decide(cstp, agentId=agent, decisionId="D")) == ["kept"]
    assert texts(cstp, decide(cstp, agentId=agent, decisionId="D")) == []


@pytest.mark.slow
def test_row_16_of_200_records_by_64_at_once_every_one_lands_and_is_said_to(server: Served, project: str) -> None:
    """There: one connection across threads rejected 0 to 15 of them; a review reported as failed had landed."""
    outcomes = ("success", "partial", "failure", "abandoned")

    def one(number: int) -> tuple[str, str]:
        with Caller(server.url) as caller:
            decision_id = caller.record(project=project, confidence=number / 200, pattern=f"n{number}")
            assert caller.result("listDecisions", {"project": project, "limit": 1})["total"] >= 1
            outcome = outcomes[number % 4]
            caller.result("reviewDecision", {"id": decision_id, "outcome": outcome})
            caller.result("updateDecision", {"id": decision_id, "updates": {"context": f"c{number}"}})
            assert caller.calibration(project, minDecisions=1)["overall"]["reviewedDecisions"] >= 1
            return decision_id, outcome

    with ThreadPoolExecutor(64) as pool:
        made = dict(pool.map(one, range(200)))
    assert len(made) == 200
    with Caller(server.url) as caller:
        rows = caller.result("listDecisions", {"project": project, "limit": 500})["decisions"]
        overall = caller.calibration(project)["overall"]
    assert {row["id"]: row["outcome"] for row in rows} == made
    assert {row["pattern"][1:] for row in rows} == {row["context"][1:] for row in rows} == {str(n) for n in range(200)}
    counted = [overall[outcome] for outcome in outcomes]
    assert (overall["totalDecisions"], overall["reviewedDecisions"], counted) == (200, 200, [50] * 4)


@pytest.mark.slow
def test_row_17_an_id_that_is_taken_is_never_written_over(tmp_path: Path) -> None:
    """There: ids of 32 bits and an upsert, so that a collision overwrote a decision.

    Ids made here begin with the log's position / 256. A quarter of those that come next are taken first: of 64
    decisions some 16 would collide.
    """
    count = 2**14
    with serving(tmp_path / "ledger.db") as url, Caller(url) as cstp:
        taken = [f"{count >> 8:04x}{4 * number:04x}" for number in range(count)]
        cstp.events(recorded(name, decision=f"the first {name}") for name in taken)
        made = [cstp.record(decision="a later one") for _ in range(64)]
        assert {name[:4] for name in made} == {f"{count >> 8:04x}"}
        assert len({*made, *taken}) == count + 64
        assert cstp.result("getStats")["total"] == count + 64
        for name in (*taken[:50], *(f"{int(name, 16) & ~3:08x}" for name in made)):
            assert cstp.decision(name)["decision"] == f"the first {name}"
        answer = cstp.http.post("/events", json=recorded(made[0], decision="another"))
        assert answer.status_code == 409
        assert cstp.decision(made[0])["decision"] == "a later one"


def test_row_17_a_retry_with_its_key_is_one_decision_one_review_one_update_one_thought(
    cstp: Caller, project: str
) -> None:
    """There: no idempotency key, so that each retry was another decision."""
    decision_id = cstp.record(project=project)
    for method, params in (
        ("recordDecision", {"decision": "x", "project": project}),
        ("reviewDecision", {"id": decision_id, "outcome": "success"}),
        ("updateDecision", {"id": decision_id, "updates": {"pattern": "p"}}),
        ("recordThought", {"id": decision_id, "text": "t"}),
    ):
        call = {**params, "idempotencyKey": fresh()}
        first = cstp.result(method, call)
        before = head(cstp.http)
        assert [cstp.result(method, call) for _ in range(3)] == [first] * 3
        assert head(cstp.http) == before


def test_row_18_every_filter_holds_in_every_mode_and_none_needs_a_key(cstp: Caller, project: str) -> None:
    """There: maxConfidence and dates never applied, others in one mode only; the default wanted a key."""
    about = {"confidence": 0.3, "stakes": "low", "tags": ["a"]}
    cstp.events([recorded(f"{project}-old", "2026-02-05T23:59:59.5Z", None, project=project, **about)])
    new = cstp.record(project=project, confidence=0.9, stakes="high", tags=["b"], feature="f", pr=7)
    cstp.result("reviewDecision", {"id": new, "outcome": "success"})
    only_old = (
        {"maxConfidence": 0.5}, {"dateBefore": "2026-02-05"}, {"stakes": "low"}, {"status": "pending"}, {"tags": ["a"]},
        {"hasOutcome": False},
    )  # fmt: skip
    only_new = (
        {"minConfidence": 0.5}, {"dateAfter": "2026-02-06"}, {"stakes": "high"}, {"status": "reviewed"},
        {"tags": ["b"]}, {"hasOutcome": True}, {"feature": "f"}, {"pr": 7},
    )  # fmt: skip
    for mode in ({}, {"retrievalMode": "semantic"}, {"retrievalMode": "keyword"}, {"retrievalMode": "hybrid"}):
        for query in ("queue", ""):
            for filters, expected in [
                *((one, f"{project}-old") for one in only_old),
                *((one, new) for one in only_new),
            ]:
                asked = {"query": query, **mode, "filters": {"project": project, **filters}}
                found = [row["id"] for row in cstp.result("queryDecisions", asked)["decisions"]]
                assert found == [expected], asked


@pytest.mark.parametrize(
    "body", [b"5", b"null", b'{"jsonrpc":"2.0","id":1,"method":5}', b'{"jsonrpc":"2.0","method":[]}']
)
def test_row_19_a_method_that_is_no_text_is_an_invalid_request(cstp: Caller, body: bytes) -> None:
    """There: HTTP 500."""
    assert cstp.post(body)["error"]["code"] == -32600


@pytest.mark.parametrize("secret", ["tökén".encode(), b"\xff\xfe", b"\xc3", "日本".encode()])
def test_row_19_a_token_that_is_not_ascii_is_unknown(guarded: Guarded, secret: bytes) -> None:
    """There: HTTP 500."""
    answer = httpx.post(f"{guarded.url}/cstp", content=b"{}", headers=[(b"authorization", b"Bearer " + secret)])
    assert (answer.status_code, answer.json()) == (401, {"detail": "Invalid or expired token"})


@pytest.mark.parametrize("filters", ["5", 5, [1], True])
@pytest.mark.parametrize("method", ["getCalibration", "queryDecisions"])
def test_row_19_filters_that_are_no_object_are_wrong_parameters(cstp: Caller, method: str, filters: object) -> None:
    """There: -32603."""
    code, message = cstp.error(method, {"filters": filters})
    assert (code, message.partition(", got")[0]) == (-32602, "Validation failed: filters: must be an object")


def test_row_20_an_mcp_caller_speaks_for_no_other_agent(guarded: Guarded) -> None:
    """There: /mcp wanted no token, and the caller named its own agent. tests/api/mcp has the rest."""
    arguments = {"decision": "d", "confidence": 0.5, "agent_id": "bo"}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "log_decision", "arguments": arguments},
    }
    headers = {"accept": "application/json, text/event-stream"}
    assert httpx.post(f"{guarded.url}/mcp", json=call, headers=headers).status_code == 401
    with guarded.caller("ada") as ada:
        before = head(ada.http)
        named = {**headers, "authorization": f"Bearer {guarded.secrets['ada']}"}
        answer = httpx.post(f"{guarded.url}/mcp", json=call, headers=named)
        assert "speaks for no other agent" in answer.text
        assert head(ada.http) == before


def test_row_20_no_caller_names_its_own_agent(guarded: Guarded) -> None:
    with guarded.caller("ada") as ada:
        for claim in ({"agentId": "bo"}, {"agent": "bo"}, {"recorded_by": "bo"}, {"source": "/agents/bo"}):
            found = ada.decision(ada.record(claim))
            assert found["recorded_by"] == "ada", claim
        answer = ada.http.post("/events", json=recorded(fresh(), None, "/agents/bo"))
        assert answer.status_code == 403
        assert ada.result("getStats")["byAgent"].keys() == {"ada"}


@pytest.mark.slow
def test_row_21_a_thought_outlives_the_process_that_took_it(tmp_path: Path) -> None:
    """There: thoughts were in the memory of one process."""
    ledger = tmp_path / "ledger.db"
    for kill in (True, False, True):
        with served(ledger) as server, Caller(server.url) as cstp:
            think(cstp, f"killed: {kill}", agentId="A")
            if kill:
                server.process.kill()
                server.process.wait()
    with serving(ledger) as url, Caller(url) as cstp:
        assert texts(cstp, decide(cstp, agentId="A")) == ["killed: True", "killed: False", "killed: True"]


def test_row_22_an_update_that_fails_leaves_every_byte_as_it_was(cstp: Caller) -> None:
    """There: an update rewrote the file in place, and stopped midway where it failed."""
    decision_id = cstp.record(confidence=0.5, tags=["a"], pattern="p")
    before, position = stream(cstp, f"decision/{decision_id}"), head(cstp.http)
    for updates in (
        {"pattern": "new", "confidence": 5},
        {"confidence": 0.6, "tags": ["b", 7]},
        {"pattern": "new", "context": "x" * 70_000},
        {"tags": ["t"], "reasons": [{"text": "fine"}, {"type": "hunch", "text": "t"}]},
        {"pattern": "new", "bridge": {"structure": "s", "tolerance": "none"}},
        {"stakes": "low"},
    ):
        reply = cstp.ask("updateDecision", {"id": decision_id, "updates": updates})
        assert "error" in reply or reply["result"]["success"] is False
        assert stream(cstp, f"decision/{decision_id}") == before
    assert head(cstp.http) == position


@pytest.mark.slow
def test_row_22_a_kill_amid_updates_leaves_each_whole_or_undone(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    answered = 0
    enough = threading.Event()

    def update(url: str, decision_id: str) -> None:
        nonlocal answered
        with Caller(url) as caller:
            for number in range(1, 1_000_000):
                updates = {"pattern": f"n{number}", "context": f"n{number}" * 1000, "tags": [f"n{number}"]}
                try:
                    caller.result("updateDecision", {"id": decision_id, "updates": updates})
                except httpx.TransportError:
                    return
                answered = number
                if number == 50:
                    enough.set()

    with served(ledger) as server:
        with Caller(server.url) as caller:
            decision_id = caller.record()
        thread = threading.Thread(target=update, args=(server.url, decision_id))
        thread.start()
        enough.wait()
        server.process.kill()
        server.process.wait()
        thread.join()
    with serving(ledger) as url, Caller(url) as caller:
        found = caller.decision(decision_id)
    number = int(found["pattern"][1:])
    assert number in (answered, answered + 1), "what was answered is there"
    assert (found["context"], found["tags"]) == (f"n{number}" * 1000, [f"n{number}"])


@pytest.mark.slow
def test_row_23_nothing_that_is_installed_can_break_the_start(tmp_path: Path) -> None:
    """There: a new major version of the package mcp crashed the server when it started."""
    assert [name for name in requires("tallystick") or () if name.startswith("mcp") and "extra ==" not in name] == []
    command = "import sys; sys.modules['mcp'] = None; from tallystick.__main__ import main; main()"
    ledger = str(tmp_path / "ledger.db")
    process = subprocess.Popen(
        [sys.executable, "-c", command, "--ledger", ledger, "serve", "--port", "0"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        said = next(line for line in process.stderr if b'"event":"serving"' in line)
        assert b'"address":"http://127.0.0.1:' in said
    finally:
        process.terminate()
        process.communicate()

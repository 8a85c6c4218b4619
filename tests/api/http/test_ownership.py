"""Whose decision it is: agents with tokens try to change, retract and review each other's decisions."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec
import pytest

from api.principal import ReviewPolicy, Scope
from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.cli.command import done, refused
from tests.api.cstp.client import Caller
from tests.api.http.posts import JSON, LINES, Json, fresh, head, ndjson, recorded, reviewed, thought
from tests.support.server import served

pytestmark = pytest.mark.trial("C1")

TOKENS: dict[str, tuple[tuple[Scope, ...], ReviewPolicy]] = {
    "ada": (("append", "read"), "any"),
    "bo": (("append", "read"), "any"),
    "cyd": (("append", "read"), "any"),
    "auditor": (("append", "read", "review"), "any"),
    "importer": (("append", "read", "import"), "any"),
    "admin": (("admin",), "any"),
    "others": (("append", "read"), "others"),
    "none": (("append", "read"), "none"),
}


class Ledger(NamedTuple):
    """A server with the tokens of several agents."""

    path: Path
    url: str
    secrets: dict[str, str]
    client: httpx.Client

    def ask(self, agent: str, method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else msgspec.json.encode(body)
        sent = {"authorization": f"Bearer {self.secrets[agent]}", **JSON, **headers}
        return self.client.request(method, path, content=content if method == "POST" else b"", headers=sent)

    def post(self, agent: str, *events: Json) -> httpx.Response:
        return self.ask(agent, "POST", "/events", events[0] if len(events) == 1 else list(events))

    def recorded(self, agent: str, **fields: object) -> str:
        """The id of a new decision of an agent."""
        decision_id = fresh()
        assert self.post(agent, recorded(decision_id, **fields)).status_code == 201
        return decision_id

    def refused(self, agent: str, *events: Json) -> Json:
        """The problem of events that must be refused; nothing of them is written."""
        before = head(self.client)
        response = self.post(agent, *events)
        assert response.status_code == 403, response.text
        assert head(self.client) == before
        problem: Json = response.json()
        return problem

    def get(self, path: str, agent: str = "ada") -> Json:
        response = self.ask(agent, "GET", path)
        assert response.status_code == 200, response.text
        answer: Json = response.json()
        return answer


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    path = tmp_path_factory.mktemp("owned") / "ledger.db"
    tokens = TokenStore(path)
    secrets = {
        agent: tokens.add(agent, scopes, system_clock(), review=review)[1] for agent, (scopes, review) in TOKENS.items()
    }
    with served(path) as server, httpx.Client(base_url=server.url, timeout=None) as client:
        yield Ledger(path, server.url, secrets, client)


def amended(decision_id: str, **fields: object) -> Json:
    return {"type": "decision.amended.v1", "data": {"decision_id": decision_id, "confidence": 0.05, **fields}}


def asked(decision_id: str) -> Json:
    return {"type": "decision.asked.v1", "data": {"decision_id": decision_id, "question": "which?"}}


def retracted(decision_id: str) -> Json:
    return {"type": "decision.retracted.v1", "data": {"decision_id": decision_id, "reason": "recorded twice"}}


def adopted(thought_id: str, decision_id: str) -> Json:
    return {"type": "thought.adopted.v1", "data": {"thought_id": thought_id, "decision_id": decision_id}}


def pondered() -> Json:
    return {"type": "thought.recorded.v1", "data": {"thought_id": fresh(), "text": "a pool would do"}}


CHANGES = {"amended": amended, "thought": thought, "asked": asked, "retracted": retracted}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_only_its_agent_changes_a_decision(ledger: Ledger, change: object) -> None:
    assert callable(change)
    decision_id = ledger.recorded("ada")
    for agent in ("bo", "auditor"):
        problem = ledger.refused(agent, change(decision_id))
        assert problem["type"] == "urn:tallystick:problem:foreign-stream"
        assert (
            f"decision/{decision_id} belongs to ada: only ada may append {change(decision_id)['type']}"
            in problem["detail"]
        )
        advice = "Use a token of ada, or one with the scope import or admin. Nothing was written."
        assert problem["advice"] == advice
    for agent in ("ada", "importer", "admin"):
        own = ledger.recorded("ada")
        assert ledger.post(agent, change(own)).status_code == 201


def test_a_batch_with_a_change_of_another_s_decision_is_refused_whole(ledger: Ledger) -> None:
    decision_id, mine = ledger.recorded("ada"), fresh()
    problem = ledger.refused("bo", recorded(mine), amended(mine), amended(decision_id))
    assert problem["index"] == 2
    assert (
        ledger.ask("bo", "POST", "/events", ndjson([recorded(mine), amended(decision_id)]), **LINES).status_code == 403
    )
    assert ledger.post("bo", recorded(mine), amended(mine), asked(mine), thought(mine)).status_code == 201
    for_ada = recorded(fresh()) | {"source": "/agents/ada"}
    assert ledger.post("importer", for_ada, amended(for_ada["data"]["decision_id"])).status_code == 201


def test_a_batch_cannot_record_in_its_own_name_what_it_changes_in_another(ledger: Ledger) -> None:
    decision_id = fresh()
    problem = ledger.refused("bo", recorded(decision_id) | {"source": "/agents/ada"}, amended(decision_id))
    assert "bo cannot append as /agents/ada" in problem["detail"]


def test_waiting_thoughts_are_their_agent_s(ledger: Ledger) -> None:
    waiting, decision_id = pondered(), ledger.recorded("bo")
    assert ledger.post("ada", waiting).status_code == 201
    thought_id = waiting["data"]["thought_id"]
    assert f"thought/{thought_id} belongs to ada" in ledger.refused("bo", adopted(thought_id, decision_id))["detail"]
    assert f"decision/{decision_id} belongs to bo" in ledger.refused("ada", adopted(thought_id, decision_id))["detail"]
    taken = ledger.ask("bo", "POST", "/decisions", {"data": {"decision": "Use a pool"}}).json()
    assert taken["thoughts"] == 0
    own = ledger.ask("ada", "POST", "/decisions", {"data": {"decision": "Use a pool"}}).json()
    assert own["thoughts"] == 1
    assert ledger.get(f"/streams/thought/{thought_id}")["events"][1]["data"]["decision_id"] == own["decision_id"]


def test_the_first_reviewer_s_review_stays(ledger: Ledger) -> None:
    decision_id = ledger.recorded("ada")
    assert ledger.post("bo", reviewed(decision_id)).status_code == 201
    for agent in ("cyd", "ada"):
        problem = ledger.refused(agent, reviewed(decision_id, "failure"))
        assert "was reviewed by bo; only bo, or a token with the scope review, may replace it." in problem["detail"]
        assert problem["advice"].startswith("Use a token of bo, or make one: ")
        answer = ledger.ask(agent, "POST", "/reviews", {"data": {"decision_id": decision_id, "outcome": "failure"}})
        assert answer.status_code == 403
    assert ledger.get(f"/decisions/{decision_id}")["review"]["reviewed_by"] == "bo"
    assert ledger.post("bo", reviewed(decision_id, "partial")).status_code == 201
    for agent in ("auditor", "importer", "admin"):
        assert ledger.post(agent, reviewed(decision_id, "failure")).status_code == 201
        assert ledger.get(f"/decisions/{decision_id}")["review"]["reviewed_by"] == agent
    assert ledger.post("bo", reviewed(decision_id, "success")).status_code == 201
    ledger.refused("cyd", reviewed(decision_id, "failure"))


def test_a_retry_of_a_review_is_a_retry_although_another_replaced_it(ledger: Ledger) -> None:
    decision_id = ledger.recorded("ada")
    review = reviewed(decision_id) | {"id": "r1"}
    assert ledger.post("bo", review).status_code == 201
    assert ledger.post("auditor", reviewed(decision_id, "failure")).status_code == 201
    assert ledger.post("bo", review).json()["duplicate"] is True


def test_a_policy_narrows_whom_a_token_may_review(ledger: Ledger) -> None:
    own, foreign = ledger.recorded("others"), ledger.recorded("ada")
    problem = ledger.refused("others", reviewed(own))
    assert "belongs to others, and this token may review only decisions of others." in problem["detail"]
    assert "the token's policy is `review: others`" in problem["advice"]
    ledger.refused("others", recorded(new := fresh()), reviewed(new))
    assert ledger.post("others", reviewed(foreign)).status_code == 201
    for decision_id in (ledger.recorded("none"), ledger.recorded("ada")):
        problem = ledger.refused("none", reviewed(decision_id))
        assert (problem["type"], problem["detail"]) == (
            "urn:tallystick:problem:forbidden", "The token of none may not review decisions.",
        )  # fmt: skip


def test_cstp_holds_to_the_same(ledger: Ledger) -> None:
    decision_id = ledger.recorded("ada")
    before = head(ledger.client)
    with Caller(ledger.url, f"Bearer {ledger.secrets['bo']}") as bo:
        for method, params in (
            ("updateDecision", {"id": decision_id, "updates": {"confidence": 0.05}}),
            ("recordThought", {"id": decision_id, "text": "hmm"}),
        ):
            code, message = bo.error(method, params)
            assert code == -32603
            assert "belongs to ada" in message
        assert head(ledger.client) == before
        assert bo.result("reviewDecision", {"id": decision_id, "outcome": "success"})["success"] is True
    with Caller(ledger.url, f"Bearer {ledger.secrets['cyd']}") as cyd:
        assert "was reviewed by bo" in cyd.error("reviewDecision", {"id": decision_id, "outcome": "failure"})[1]
        assert cyd.result("getDecision", {"id": decision_id})["decision"]["reviewed_by"] == "bo"


def test_attributed_outcomes_leave_out_what_the_policy_forbids(ledger: Ledger) -> None:
    project = fresh()
    for agent, pr in (("others", 7), ("ada", 8)):
        ledger.recorded(agent, project=project, pr=pr)
    with Caller(ledger.url, f"Bearer {ledger.secrets['others']}") as caller:
        params = {"project": project, "stabilityDays": 0, "dryRun": False, "evidence": {"7": "stable", "8": "stable"}}
        answer = caller.result("attributeOutcomes", params)
    counts = ledger.get(f"/decisions?project={project}&status=reviewed")
    assert [one["agent"] for one in counts["decisions"]] == ["ada"], answer


def test_an_evaluation_says_who_recorded_it_in_another_s_name(ledger: Ledger) -> None:
    def evaluated(by: str, run: str) -> None:
        steps: tuple[tuple[str, Json], ...] = (
            ("started", {"suite": "incidents", "agent": "ada", "agent_version": run}),
            ("scored", {"scenario_id": "dns", "attempt": 1, "state": "scored", "total_score": 90, "passed": True}),
            ("finished", {}),
        )
        for kind, data in steps:
            event = {"type": f"eval.{kind}.v1", "data": {"run_id": run, **data}}
            assert ledger.post(by, event).status_code == 201

    evaluated("ada", "own")
    evaluated("bo", "foreign")
    assert ledger.get("/evaluations/foreign")["recorded_by"] == ["bo"]
    assert "recorded_by" not in ledger.get("/evaluations/own")
    listed = {one["run_id"]: one.get("recorded_by") for one in ledger.get("/evaluations")["evaluations"]}
    assert listed == {"own": None, "foreign": ["bo"]}
    (suite,) = ledger.get("/scoreboard")["suites"]
    assert {row["agent_version"]: row.get("recorded_by") for row in suite["rows"]} == listed
    assert ledger.get("/evaluations/compare?baseline=own&candidate=foreign")["candidate"]["recorded_by"] == ["bo"]
    assert "ada foreign: recorded by bo." in done(ledger.path, "scoreboard").text
    assert "recorded by  bo" in done(ledger.path, "eval", "show", "foreign").text
    assert "recorded by" not in done(ledger.path, "eval", "show", "own").text
    assert "recorded by" in done(ledger.path, "eval", "list").text


def test_the_verbs_say_it_plainly(ledger: Ledger) -> None:
    decision_id = ledger.recorded("ada")
    where = ("--url", ledger.url, "--token")
    said = refused(ledger.path, "retract", decision_id, "--reason", "no", *where, ledger.secrets["bo"])
    assert f"decision/{decision_id} belongs to ada" in said
    assert "Use a token of ada" in said
    done(ledger.path, "review", decision_id, "--outcome", "success", *where, ledger.secrets["bo"])
    said = refused(ledger.path, "review", decision_id, "--outcome", "failure", *where, ledger.secrets["cyd"])
    assert "was reviewed by bo; only bo" in said
    done(ledger.path, "retract", decision_id[:12], "--reason", "twice", *where, ledger.secrets["ada"])


def test_a_ledger_without_tokens_is_one_person_s(tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db") as server, httpx.Client(base_url=server.url) as client:
        for event in (
            recorded("d1") | {"source": "/agents/ada"}, amended("d1") | {"source": "/agents/bo"},
            reviewed("d1") | {"source": "/agents/bo"}, reviewed("d1") | {"source": "/agents/cyd"},
            retracted("d1") | {"source": "/agents/cyd"},
        ):  # fmt: skip
            assert client.post("/events", json=event).status_code == 201

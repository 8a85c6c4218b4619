"""Clients of CSTP's reference server read every answer: also of decisions without confidence, category or reasons."""

import pytest

from tests.api.cstp import upstream_client
from tests.api.cstp.client import Caller, recorded, reviewed
from tests.api.http.posts import fresh

LONG = "the decision is a good deal longer than fifty characters, and its end matters most"


@pytest.fixture
def sparse(cstp: Caller, project: str) -> str:
    """A word that four decisions have: two without a confidence, one of them with nothing else, one reviewed."""
    word = fresh()
    cstp.events([recorded(f"{project}-bare", decision=word), recorded(f"{project}-done", decision=word)])
    cstp.events([reviewed(f"{project}-done", "success")])
    for confidence in (None, 0.7):
        cstp.record(decision=f"{word} {LONG}", project=project, confidence=confidence, reasons=[{"text": "r"}])
    return word


@pytest.mark.trial("D5")
def test_the_command_line_reads_decisions_without_a_confidence(cstp: Caller, project: str, sparse: str) -> None:
    found, *lines = upstream_client.query(cstp, sparse)
    assert (found, len(lines)) == ("Found 4 similar decisions", 4)
    assert sorted(line.split(" | ")[2].split()[0] for line in lines) == ["0.7", "None", "None", "None"]
    assert len(upstream_client.query(cstp, "", top=3)) == 4
    for decision_id in (f"{project}-bare", f"{project}-done"):
        assert upstream_client.get(cstp, decision_id)[0].startswith(f"[{decision_id}] {sparse} ? ")
    made = upstream_client.record(cstp, decision=LONG, category="process", stakes="medium", project=project)
    assert upstream_client.get(cstp, made)
    assert isinstance(upstream_client.check(cstp, "Drop the table"), list)
    assert isinstance(upstream_client.list_guardrails(cstp), list)
    assert upstream_client.calibration(cstp, project)
    assert upstream_client.reason_stats(cstp, project)


@pytest.mark.trial("D5")
def test_the_dashboard_reads_them_too(cstp: Caller, sparse: str) -> None:
    """It would read null as a number. It takes one half where the key is missing: that is its own assumption."""
    for search in ("", sparse):
        rows = list(upstream_client.dashboard(cstp, search))
        assert sorted(confidence for _, text, confidence, _ in rows if sparse in text) == [0.5, 0.5, 0.5, 0.7]


@pytest.mark.trial("D5")
@pytest.mark.parametrize("query", ["", "words"])
@pytest.mark.parametrize("name", ["retrievalMode", "retrieval_mode"])
def test_a_confidence_that_nobody_stated_is_null_or_missing_and_never_a_number(
    cstp: Caller, project: str, query: str, name: str
) -> None:
    cstp.events([recorded(project, project=project, decision="words")])
    (plain,) = cstp.result("queryDecisions", {"query": query, "project": project})["decisions"]
    (named,) = cstp.result("queryDecisions", {"query": query, "project": project, name: "keyword"})["decisions"]
    assert "confidence" not in plain
    assert named["confidence"] is None
    assert list(named)[:4] == ["id", "title", "category", "confidence"]
    assert {field: value for field, value in named.items() if field != "confidence"} == plain


@pytest.mark.trial("D7")
def test_the_whole_decision_is_beside_its_title(cstp: Caller, project: str) -> None:
    word = fresh()
    decision = f"{word} {LONG}"
    made = cstp.record(decision=decision, project=project, category="tooling", confidence=0.5)
    action = {"description": word, "category": "tooling"}
    rows = [
        *cstp.result("queryDecisions", {"query": word})["decisions"],
        *cstp.result("queryDecisions", {"project": project})["decisions"],
        *cstp.result("getSessionContext", {"taskDescription": word})["relevantDecisions"],
        *cstp.result("preAction", {"action": action, "autoRecord": False})["relevantDecisions"],
    ]
    assert [(row["id"], row["title"], row["decision"]) for row in rows] == [(made, decision[:50], decision)] * 4


@pytest.mark.trial("D7")
def test_the_column_of_a_search_in_the_dashboard_is_filled(cstp: Caller, project: str, sparse: str) -> None:
    for search in ("", sparse):
        columns = {decision_id: text for decision_id, text, *_ in upstream_client.dashboard(cstp, search)}
        assert columns[f"{project}-bare"] == sparse
        assert all(columns.values())


@pytest.mark.trial("D10")
def test_partial_matches_follow_the_full_ones_up_to_the_limit(cstp: Caller) -> None:
    secrets, rotation = fresh(), fresh()
    some = [cstp.record(decision=f"{secrets} {secrets} {secrets}"), cstp.record(decision=f"{rotation} of the keys")]
    full = cstp.record(decision=f"{secrets} {rotation}, with a lot of other words beside the two that matter here")
    answer = cstp.result("queryDecisions", {"query": f"{secrets} {rotation}"})
    assert answer["decisions"][0]["id"] == full
    assert {row["id"] for row in answer["decisions"][1:]} == set(some)
    assert (answer["total"], answer["matchedAll"], answer["matched"]) == (3, 1, "any")
    distances = [row["distance"] for row in answer["decisions"]]
    assert (distances, distances[0]) == (sorted(distances), 0)
    scores = [answer["scores"][row["id"]]["combined"] for row in answer["decisions"]]
    assert scores == sorted(scores, reverse=True)
    short = cstp.result("queryDecisions", {"query": f"{secrets} {rotation}", "limit": 2})
    assert [row["id"] for row in short["decisions"]] == [row["id"] for row in answer["decisions"][:2]]
    assert (short["total"], short["matched"]) == (3, "any")
    only = cstp.result("queryDecisions", {"query": f"{secrets} {rotation}", "limit": 1})
    assert (only["decisions"][0]["id"], only["total"], only["matched"]) == (full, 3, "all")

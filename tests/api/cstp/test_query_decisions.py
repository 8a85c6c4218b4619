"""queryDecisions: its modes, each of its parameters and filters, and the rows of what its users suffer from."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.api.cstp.client import Caller, recorded, reviewed
from tests.api.http.posts import fresh
from tests.support.server import Served, served

ROW = ["id", "title", "category", "confidence", "stakes", "status", "date", "distance", "decision"]
MODES = ("semantic", "keyword", "hybrid")
FILTERED = ("list", *MODES)


def ids_of(answer: dict[str, Any]) -> list[str]:
    return [row["id"] for row in answer["decisions"]]


def asking(mode: str, project: str, **filters: object) -> dict[str, object]:
    """Parameters that find the decisions of a project, in one of the ways there are."""
    query = {"query": ""} if mode == "list" else {"query": "queue", "retrievalMode": mode}
    return {**query, "filters": {"project": project, **filters}}


def found(cstp: Caller, mode: str, project: str, **filters: object) -> set[str]:
    answer = cstp.result("queryDecisions", asking(mode, project, **filters))
    assert answer["total"] == len(answer["decisions"])
    return set(ids_of(answer))


def ago(**span: float) -> str:
    return (datetime.now(UTC) - timedelta(**span)).isoformat()


def test_the_answer_to_a_list(cstp: Caller, project: str) -> None:
    made = [cstp.record(project=project, confidence=0.5) for _ in range(12)][::-1]
    answer = cstp.result("queryDecisions", {"filters": {"project": project}})
    assert list(answer) == [
        "decisions", "total", "query", "queryTimeMs", "agent", "retrievalMode", "requestedMode",
    ]  # fmt: skip
    assert ids_of(answer) == made[:10], "the newest first"
    assert (answer["total"], answer["query"], answer["retrievalMode"]) == (12, "", "list")
    assert answer["agent"] == "cognition-engines"
    assert isinstance(answer["queryTimeMs"], int)
    assert answer["queryTimeMs"] >= 0
    assert [row["distance"] for row in answer["decisions"]] == [0] * 10
    assert list(answer["decisions"][0]) == [*ROW, "unstated"]
    assert ids_of(cstp.result("queryDecisions", {"query": " \t", "limit": 100, "project": project})) == made


@pytest.mark.parametrize("mode", MODES)
def test_the_answer_to_a_query_says_what_was_done(cstp: Caller, project: str, mode: str) -> None:
    first, second = fresh(), fresh()
    both = cstp.record(project=project, decision=f"Use {first} {second}", confidence=0.5)
    one = cstp.record(project=project, decision=f"Use {first}")
    answer = cstp.result("queryDecisions", {"query": f"{second.upper()}, {first}", "retrieval_mode": mode})
    assert list(answer)[:9] == [
        "decisions", "total", "query", "queryTimeMs", "agent", "retrievalMode", "requestedMode", "matched", "scores",
    ]  # fmt: skip
    assert ids_of(answer) == [both, one]
    assert (answer["retrievalMode"], answer["requestedMode"], answer["matched"]) == ("keyword", mode, "any")
    assert (answer["total"], answer["matchedAll"]) == (2, 1)
    assert answer["scores"][both] == {"keyword": 1, "combined": 1}
    assert answer["decisions"][0]["distance"] == 0
    assert "The first 1 hold all the words, the others some of them." in answer["note"]
    assert mode == "keyword" or f"{mode} was answered by keyword" in answer["note"]
    assert list(answer["decisions"][0]) == [*ROW, "unstated"]


def test_row_18_without_a_mode_no_key_is_needed(cstp: Caller) -> None:
    answer = cstp.result("queryDecisions", {"query": fresh()})
    assert (answer["retrievalMode"], answer["requestedMode"]) == ("keyword", "semantic")
    assert (answer["decisions"], answer["total"], answer["matched"], answer["scores"]) == ([], 0, "none", {})
    assert "No decision holds any of its words." in answer["note"]


def test_a_query_finds_what_fits_best_and_distance_grows_with_the_rank(cstp: Caller, project: str) -> None:
    rare, common = fresh(), fresh()
    for number in range(12):
        cstp.record(project=project, decision=f"{common} {'and so on ' * number}")
    best = cstp.record(project=project, decision=f"{rare} {rare} {rare}")
    good = cstp.record(project=project, decision=f"{rare} {common} with a lot of other words beside it")
    answer = cstp.result("queryDecisions", {"query": f"{rare} {common} missing{rare}", "limit": 50})
    assert answer["matched"] == "any"
    assert "No decision holds all the words: ranked by any of them." in answer["note"]
    assert set(ids_of(answer)[:2]) == {best, good}
    assert answer["total"] == 14
    distances = [row["distance"] for row in answer["decisions"]]
    assert distances == sorted(distances)
    assert 0 < distances[0] < distances[-1] <= 1
    scores = [answer["scores"][decision_id]["combined"] for decision_id in ids_of(answer)]
    assert scores == sorted(scores, reverse=True)
    answer = cstp.result("queryDecisions", {"query": f"{rare} {common}", "limit": 50})
    assert (ids_of(answer)[:2], answer["total"], answer["matchedAll"]) == ([good, best], 14, 1)
    distances = [row["distance"] for row in answer["decisions"]]
    assert (distances, distances[0]) == (sorted(distances), 0)


@pytest.mark.parametrize("given", ["***", '"', "NEAR(", "\0", "a OR", "🚀" * 3, "x" * 5_000])
def test_any_query_is_just_words(cstp: Caller, project: str, given: str) -> None:
    assert cstp.result("queryDecisions", {"query": given, "project": project})["decisions"] == []


@pytest.mark.parametrize("name", ["limit", "top_k", "topK"])
@pytest.mark.parametrize(("given", "shown"), [(3, 3), (0, 1), (-5, 1), (51, 50), (10**30, 50), (None, 10)])
def test_a_limit_is_clamped(cstp: Caller, name: str, given: int | None, shown: int) -> None:
    if not cstp.result("queryDecisions", {"project": "clamped"})["total"]:
        cstp.events(recorded(f"clamped{number}", project="clamped", decision="clamp it") for number in range(60))
    answer = cstp.result("queryDecisions", {"query": "clamp", name: given})
    assert (len(answer["decisions"]), answer["total"]) == (shown, 60)
    listed = cstp.result("queryDecisions", {"query": "", "project": "clamped", name: given})
    assert len(listed["decisions"]) == (shown if given is None or given <= 50 else min(given, 60))


def test_a_title_is_cut_and_a_confidence_nobody_stated_is_not_there(cstp: Caller, project: str) -> None:
    cstp.events([recorded(project, project=project, decision="é" * 60)])
    for query in ("", "é" * 60):
        (row,) = cstp.result("queryDecisions", {"query": query, "project": project})["decisions"]
        assert row["title"] == "é" * 50
        assert "confidence" not in row
        assert (row["category"], row["stakes"], row["unstated"]) == ("process", "medium", ["category", "stakes"])
        assert row["date"] == datetime.now(UTC).date().isoformat()
        assert None not in row.values()


def test_what_a_row_shows_when_it_is_there_and_asked_for(cstp: Caller, project: str) -> None:
    reason = {"type": "empirical", "text": "measured", "strength": 0.5}
    decision_id = cstp.record(
        project=project, reasons=[reason], tags=["a"], pattern="p", bridge={"structure": "s", "purpose": "f"}
    )
    cstp.result("reviewDecision", {"id": decision_id, "outcome": "partial", "lessons": "l", "actualResult": "r"})
    cstp.result("reviewDecision", {"id": decision_id, "outcome": "success"})

    def row(**more: object) -> dict[str, Any]:
        found: dict[str, Any]
        (found,) = cstp.result("queryDecisions", {"query": "queue", "filters": {"project": project}, **more})[
            "decisions"
        ]
        return found

    plain = {"outcome": "success", "tags": ["a"], "pattern": "p", "lessons": "l"}
    shown = row()
    assert {name: value for name, value in shown.items() if name not in (*ROW, "bridge", "unstated")} == plain
    assert shown["bridge"] == {"structure": "s", "function": "f"}
    assert row(includeReasons=True)["reasons"] == row(include_reasons=True)["reasons"] == [reason]
    assert row(includeDetail=True)["actualResult"] == row(include_detail=True)["actualResult"] == "r"
    assert row(includeDetail=True)["reviewedBy"] == "anonymous"
    assert "reviewedBy" not in row()
    assert not {"reasons", "actualResult", "compactionLevel"} & row(includeReasons=False, compacted=None).keys()


def test_compacted_marks_what_age_leaves_and_leaves_out_the_oldest(cstp: Caller, project: str) -> None:
    ages = {"full": 6, "summary": 8, "digest": 89, "gone": 91}
    for name, days in ages.items():
        cstp.events([recorded(f"{project}-{name}", ago(days=days), project=project)])
        cstp.events([reviewed(f"{project}-{name}", "success")])
    cstp.events([recorded(f"{project}-pending", ago(days=365), project=project)])
    levels = {"full": "full", "summary": "summary", "digest": "digest", "pending": "full"}
    for query in ("", "queue"):
        answer = cstp.result("queryDecisions", {"query": query, "project": project, "compacted": True})
        assert {row["id"].rpartition("-")[2]: row["compactionLevel"] for row in answer["decisions"]} == levels
        assert answer["total"] == 4
        assert "older than 90 days are left out" in answer["note"]
        assert cstp.result("queryDecisions", {"query": query, "project": project})["total"] == 5


def test_a_side_of_the_bridge_is_favoured(cstp: Caller, project: str) -> None:
    word = fresh()
    structure = cstp.record(project=project, bridge={"structure": word, "function": "other"})
    function = cstp.record(project=project, bridge={"structure": "other", "function": word})
    elsewhere = cstp.record(project=project, context=f"{word} other")
    for name, side, first in (
        ("bridgeSide", "structure", structure),
        ("bridge_side", "function", function),
        ("bridgeSide", None, elsewhere),
    ):
        answer = cstp.result("queryDecisions", {"query": word, name: side})
        assert ids_of(answer)[0] == first
        assert set(ids_of(answer)) == {structure, function, elsewhere}


@pytest.mark.parametrize("mode", FILTERED)
def test_row_18_every_filter_is_applied_in_every_mode(cstp: Caller, project: str, mode: str) -> None:
    plain = cstp.record(project=project, category="tooling", stakes="low", confidence=0.2, tags=["a"], feature="f")
    other = cstp.record(
        project=project, category="security", stakes="high", confidence=0.8, tags=["b", "c"], pr=7, feature="g"
    )
    cstp.result("reviewDecision", {"id": other, "outcome": "failure"})
    old = f"old-{project}"
    cstp.events([recorded(old, "2026-02-05T12:00:00Z", "/agents/other", project=project, category="lsat", pr=8)])
    cstp.record(project=f"not-{project}")
    for filters, expected in (
        ({}, {plain, other, old}),
        ({"category": "tooling"}, {plain}),
        ({"category": "nothing"}, set()),
        ({"stakes": "high"}, {other}),
        ({"stakes": ["high", "low"]}, {plain, other}),
        ({"stakes": []}, {plain, other, old}),
        ({"status": "pending"}, {plain, old}),
        ({"status": ["reviewed"]}, {other}),
        ({"status": ["reviewed", "pending"]}, {plain, other, old}),
        ({"feature": "g"}, {other}),
        ({"pr": 7}, {other}),
        ({"pr": 9}, set()),
        ({"hasOutcome": True}, {other}),
        ({"has_outcome": False}, {plain, old}),
        ({"hasOutcome": True, "status": "pending"}, set()),
        ({"tags": ["a", "c"]}, {plain, other}),
        ({"tags": "a"}, {plain}),
        ({"tags": ["z"]}, set()),
        ({"minConfidence": 0.5}, {other}),
        ({"maxConfidence": 0.5}, {plain}),
        ({"min_confidence": 0.2, "max_confidence": 0.8}, {plain, other}),
        ({"minConfidence": 0.21, "maxConfidence": 0.79}, set()),
        ({"minConfidence": 0, "maxConfidence": 1}, {plain, other, old}),
        ({"dateAfter": "2026-02-06"}, {plain, other}),
        ({"dateBefore": "2026-02-05"}, {old}),
        ({"date_before": "2026-02-05T12:00:00+00:00"}, {old}),
        ({"dateBefore": "2026-02-05T12:59:59+01:00"}, set()),
        ({"dateAfter": "2026-02-05", "dateBefore": "2026-02-05"}, {old}),
        ({"agent": "other"}, {old}),
        (
            {"category": None, "stakes": None, "pr": None, "hasOutcome": None, "minConfidence": None},
            {plain, other, old},
        ),
        ({"category": "", "dateAfter": "", "stakes": "", "feature": ""}, {plain, other, old}),
        ({"unheard": 5}, {plain, other, old}),
    ):
        assert found(cstp, mode, project, **filters) == expected, filters


@pytest.mark.parametrize("mode", FILTERED)
def test_filters_beside_the_filters(cstp: Caller, project: str, mode: str) -> None:
    pending = cstp.record(project=project, category="tooling")
    done = cstp.record(project=project, category="security")
    cstp.result("reviewDecision", {"id": done, "outcome": "success"})
    query = {"query": "" if mode == "list" else "queue", "retrievalMode": "keyword" if mode == "list" else mode}
    for beside, filters, expected in (
        ({"project": project}, {}, {pending, done}),
        ({"project": project, "category": "tooling"}, {}, {pending}),
        ({"project": project, "hasOutcome": True}, {"category": None}, {done}),
        ({"project": "other", "category": "tooling"}, {"project": project}, {pending}),
        ({"project": project, "hasOutcome": True}, {"hasOutcome": False}, {pending}),
        ({"project": project}, {"project": None, "category": "security"}, {done}),
    ):
        answer = cstp.result("queryDecisions", {**query, **beside, "filters": filters})
        assert set(ids_of(answer)) == expected, (beside, filters)


@pytest.mark.parametrize("query", ["", "queue"])
@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"filters": "5"}, "filters"),
        ({"filters": []}, "filters"),
        ({"filters": {"category": 5}}, "category"),
        ({"filters": {"stakes": 5}}, "stakes"),
        ({"filters": {"stakes": ["low", 5]}}, "stakes"),
        ({"filters": {"status": ["pending", 5]}}, "status"),
        ({"filters": {"project": ["a"]}}, "project"),
        ({"filters": {"feature": 1}}, "feature"),
        ({"filters": {"pr": "seven"}}, "pr"),
        ({"filters": {"pr": -1}}, "pr"),
        ({"filters": {"hasOutcome": "yes"}}, "hasOutcome"),
        ({"filters": {"tags": 5}}, "tags"),
        ({"filters": {"minConfidence": "half"}}, "minConfidence"),
        ({"filters": {"maxConfidence": 1.5}}, "maxConfidence"),
        ({"filters": {"minConfidence": 0.6, "maxConfidence": 0.5}}, "minConfidence"),
        ({"filters": {"dateAfter": "yesterday"}}, "dateAfter"),
        ({"filters": {"dateBefore": 5}}, "dateBefore"),
        ({"filters": {"dateAfter": "2026-02-02", "dateBefore": "2026-02-01"}}, "dateAfter"),
        ({"hasOutcome": 1}, "hasOutcome"),
        ({"limit": "five"}, "limit"),
        ({"top_k": 1.5}, "top_k"),
        ({"retrieval_mode": 5}, "retrieval_mode"),
        ({"hybridWeight": 2}, "hybridWeight"),
        ({"bridgeSide": 5}, "bridgeSide"),
        ({"includeReasons": "yes"}, "includeReasons"),
        ({"includeDetail": 1}, "includeDetail"),
        ({"compacted": "no"}, "compacted"),
    ],
)
def test_row_19_what_is_wrong_is_named_and_no_fault(
    cstp: Caller, query: str, params: dict[str, object], field: str
) -> None:
    code, message = cstp.error("queryDecisions", {"query": query, **params})
    assert (code, message.partition(": ")[0]) == (-32602, "Validation failed")
    assert message.removeprefix("Validation failed: ").startswith(f"{field}: must ") or field.startswith("date")
    assert field in message


def test_row_19_a_query_that_is_no_text_is_named(cstp: Caller) -> None:
    assert cstp.error("queryDecisions", {"query": 5}) == (
        -32602,
        "Validation failed: query: must be a text, got number",
    )
    assert cstp.result("queryDecisions", {"query": None, "filters": {"project": "none"}})["retrievalMode"] == "list"
    many = " ".join(f"word{number}" for number in range(1_001))
    code, message = cstp.error("queryDecisions", {"query": many})
    assert code == -32602
    assert "query" in message
    assert "more than 1000" in message


def test_everything_that_is_wrong_is_reported_at_once(cstp: Caller) -> None:
    _, message = cstp.error("queryDecisions", {"query": 5, "limit": "five"})
    assert "query: must be a text" in message
    assert "limit: must be a whole number" in message


@pytest.mark.slow
def test_row_6_a_list_and_a_query_over_twenty_thousand_are_not_cut_short(tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db") as server, Caller(server.url) as cstp:
        cstp.events(
            recorded(f"many{number:05}", confidence=0.9 if number % 2 else 0.1, decision=f"common number{number}")
            for number in range(20_000)
        )
        listed = cstp.result("queryDecisions", {"query": "", "limit": 10_000})
        assert (listed["total"], len(listed["decisions"])) == (20_000, 500)
        assert cstp.result("queryDecisions", {"filters": {"maxConfidence": 0.5}})["total"] == 10_000
        everywhere = cstp.result("queryDecisions", {"query": "common", "filters": {"minConfidence": 0.5}})
        assert (everywhere["total"], len(everywhere["decisions"])) == (10_000, 10)
        oldest = cstp.result("queryDecisions", {"query": "NUMBER0 common"})
        assert (ids_of(oldest)[0], oldest["total"], oldest["matchedAll"]) == ("many00000", 20_000, 1)


@pytest.mark.slow
def test_a_query_sees_every_decision_that_was_acknowledged(server: Served) -> None:
    """Many clients record, review and query at once. Each finds its acknowledged decisions immediately."""

    def take_part(number: int) -> None:
        with Caller(server.url) as cstp:
            for turn in range(8):
                word = f"{fresh()}n{number}t{turn}"
                made = cstp.record(decision=f"together {word}")
                assert ids_of(cstp.result("queryDecisions", {"query": word})) == [made]
                cstp.result("reviewDecision", {"id": made, "outcome": "success", "lessons": f"learned{word}"})
                asked = {"query": f"together learned{word}", "filters": {"hasOutcome": True}}
                assert ids_of(cstp.result("queryDecisions", asked))[0] == made

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(take_part, range(8)))
    with Caller(server.url) as cstp:
        assert cstp.result("queryDecisions", {"query": "together"})["total"] == 64

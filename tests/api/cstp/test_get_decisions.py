"""getDecision, listDecisions and getStats."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.api.cstp.client import Caller, recorded

ROW = [
    "id", "decision", "confidence", "category", "stakes", "status", "context", "recorded_by", "project", "feature",
    "pr", "pattern", "outcome", "reviewed_at", "created_at", "updated_at", "actual_result", "lessons", "review_notes",
    "date", "tags", "reasons",
]  # fmt: skip
NEVER_NULL = ("id", "reasons", "tags", "confidence", "bridge", "deliberation")


def ids_of(answer: dict[str, object]) -> list[str]:
    rows = answer["decisions"]
    assert isinstance(rows, list)
    return [row["id"] for row in rows]


def ago(**span: float) -> str:
    return (datetime.now(UTC) - timedelta(**span)).isoformat()


@pytest.mark.parametrize("name", ["id", "decision_id"])
def test_the_answer_to_get(cstp: Caller, name: str) -> None:
    decision_id = cstp.record(confidence=0.5, bridge={"structure": "s"}, deliberation={"steps": [{"thought": "t"}]})
    result = cstp.result("getDecision", {name: decision_id})
    assert list(result) == ["found", "decision"]
    found = result["decision"]
    assert list(found)[: len(ROW)] == ROW
    assert found["date"] == found["created_at"][:10]
    assert found["bridge"] == {"structure": "s"}
    assert found["deliberation"] == {"steps": [{"thought": "t"}]}


def test_what_clients_cannot_read_as_null_is_never_null(cstp: Caller, project: str) -> None:
    cstp.events([recorded(project, project=project)])
    for found in (cstp.decision(project), cstp.result("listDecisions", {"project": project})["decisions"][0]):
        assert [name for name in NEVER_NULL if name in found and found[name] is None] == []
        assert found["tags"] == []
        assert found["reasons"] == []


def test_row_12_a_beginning_finds_the_same_as_the_whole_id(cstp: Caller) -> None:
    cstp.events([recorded("prefixed-one"), recorded("prefixed-two")])
    whole = cstp.result("getDecision", {"id": "prefixed-one"})
    assert cstp.result("getDecision", {"id": "prefixed-o"}) == whole
    code, message = cstp.error("getDecision", {"id": "prefixed-"})
    assert (code, message) == (-32602, "Decision not found: prefixed-")


def test_a_whole_id_goes_before_one_it_begins(cstp: Caller) -> None:
    cstp.events([recorded("nested-long"), recorded("nested")])
    assert cstp.decision("nested")["id"] == "nested"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "Missing required parameter: id"),
        ({"id": None}, "Missing required parameter: id"),
        ({"id": ""}, "Missing required parameter: id"),
        ({"id": "../x"}, "Invalid decision ID: ../x"),
        ({"id": "a b"}, "Invalid decision ID: a b"),
        ({"id": "nosuchid"}, "Decision not found: nosuchid"),
        ({"id": 5}, "Validation failed: id: must be a text, got number"),
    ],
)
def test_what_is_wrong_with_a_get_is_named(cstp: Caller, params: dict[str, object], message: str) -> None:
    assert cstp.error("getDecision", params) == (-32602, message)


def test_a_list_pages_the_newest_first(cstp: Caller, project: str) -> None:
    made = [cstp.record(project=project) for _ in range(22)][::-1]
    answer = cstp.result("listDecisions", {"project": project})
    assert list(answer) == ["decisions", "total", "limit", "offset"]
    assert (answer["total"], answer["limit"], answer["offset"]) == (22, 20, 0)
    assert ids_of(answer) == made[:20]
    assert ids_of(cstp.result("listDecisions", {"project": project, "limit": 5, "offset": 20})) == made[20:]
    assert ids_of(cstp.result("listDecisions", {"project": project, "offset": 99})) == []


@pytest.mark.parametrize(("given", "used"), [(0, 1), (-5, 1), (501, 500), (10**30, 500), (None, 20)])
def test_a_limit_is_clamped(cstp: Caller, project: str, given: int | None, used: int) -> None:
    assert cstp.result("listDecisions", {"project": project, "limit": given, "offset": -1})["limit"] == used


def test_a_row_of_a_list_is_that_of_get_without_what_is_too_much(cstp: Caller, project: str) -> None:
    decision_id = cstp.record(
        project=project, confidence=0.5, deliberation={"steps": [{"thought": "t"}]}, bridge={"structure": "s"}, line=3
    )
    cstp.result("reviewDecision", {"id": decision_id, "outcome": "success", "affectedKpis": {"a": 1}})
    (row,) = cstp.result("listDecisions", {"project": project})["decisions"]
    found = cstp.decision(decision_id)
    assert row == {name: value for name, value in found.items() if name not in ("deliberation", "reviews")}


def test_filters_of_a_list(cstp: Caller, project: str) -> None:
    plain = cstp.record(project=project, category="tooling", stakes="low", tags=["a"])
    other = cstp.record(project=project, category="security", stakes="high", tags=["b", "c"])
    cstp.events([recorded(f"other-{project}", source="/agents/other", project=project, category="lsat", tags=["d"])])
    cstp.result("reviewDecision", {"id": other, "outcome": "success"})
    for filters, expected in (
        ({"category": "tooling"}, [plain]),
        ({"category": "lsat"}, [f"other-{project}"]),
        ({"category": "nothing"}, []),
        ({"stakes": "high"}, [other]),
        ({"status": "reviewed"}, [other]),
        ({"status": "pending"}, [f"other-{project}", plain]),
        ({"agent": "other"}, [f"other-{project}"]),
        ({"agent": "anonymous", "tags": ["a", "c"]}, [other, plain]),
        ({"tags": ["a"]}, [plain]),
        ({"tags": []}, [f"other-{project}", other, plain]),
    ):
        assert ids_of(cstp.result("listDecisions", {"project": project, **filters})) == expected, filters


def test_a_search_wants_every_whole_word(cstp: Caller, project: str) -> None:
    first = cstp.record(project=project, decision="Cache the tokens", context="They are read often")
    cstp.record(project=project, decision="Cache nothing")
    for search, expected in (("cache", 2), ("cache tokens", 1), ("tokens often", 1), ("cach", 0), ("  ", 2), ("", 2)):
        assert cstp.result("listDecisions", {"project": project, "search": search})["total"] == expected, search
    assert ids_of(cstp.result("listDecisions", {"project": project, "search": "TOKENS"})) == [first]


@pytest.mark.parametrize(
    ("sort", "ascending"),
    [
        ("created_at", [0, 1, 2]),
        ("confidence", [1, 2, 0]),
        ("category", [2, 0, 1]),
        ("stakes", [2, 1, 0]),
        ("status", [1, 2, 0]),
    ],
)
def test_sort_and_order(cstp: Caller, project: str, sort: str, ascending: list[int]) -> None:
    made = [
        cstp.record(project=project, confidence=0.9, category="process", stakes="critical"),
        cstp.record(project=project, confidence=0.1, category="tooling", stakes="high"),
        cstp.record(project=project, confidence=0.5, category="architecture", stakes="low"),
    ]
    cstp.result("reviewDecision", {"id": made[0], "outcome": "success"})
    up = cstp.result("listDecisions", {"project": project, "sort": sort, "order": "asc"})
    down = cstp.result("listDecisions", {"project": project, "sort": sort, "order": "desc"})
    assert ids_of(up) == [made[number] for number in ascending]
    assert ids_of(down)[0] == made[ascending[-1]]


def test_words_that_are_not_known_count_as_absent_and_are_named(cstp: Caller, project: str) -> None:
    made = [cstp.record(project=project) for _ in range(2)][::-1]
    wrong = {"stakes": "huge", "status": "odd", "sort": "size", "order": "sideways"}
    answer = cstp.result("listDecisions", {"project": project, **wrong})
    assert ids_of(answer) == made
    assert answer["ignored"] == list(wrong)


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"limit": "five"}, "limit"),
        ({"offset": 1.5}, "offset"),
        ({"tags": "a"}, "tags"),
        ({"category": 5}, "category"),
        ({"status": ["pending"]}, "status"),
        ({"sort": 1}, "sort"),
        ({"search": {}}, "search"),
        ({"dateFrom": "yesterday"}, "dateFrom"),
        ({"date_to": 5}, "date_to"),
        ({"dateFrom": "2026-02-02", "dateTo": "2026-02-01"}, "dateFrom"),
    ],
)
def test_what_is_wrong_with_a_list_is_named(cstp: Caller, params: dict[str, object], field: str) -> None:
    code, message = cstp.error("listDecisions", params)
    assert code == -32602
    assert message.startswith(f"Validation failed: {field}: ")


@pytest.mark.parametrize("names", [("dateFrom", "dateTo"), ("date_from", "date_to")])
def test_row_9_dates_are_instants_and_include_the_whole_last_day(
    cstp: Caller, project: str, names: tuple[str, str]
) -> None:
    times = {"a": "2026-02-04T23:59:59.999999Z", "b": "2026-02-05T00:00:00Z", "c": "2026-02-05T23:59:59.999999Z"}
    cstp.events(recorded(f"{project}-{name}", time, project=project) for name, time in times.items())
    for since, until, found in (
        ("2026-02-05", "2026-02-05", 2),
        ("2026-02-04", "2026-02-04", 1),
        ("2026-02-05T01:00:00+01:00", "2026-02-05T01:00:00+01:00", 1),
        ("2026-02-04T22:00:00-02:00", "2026-02-05T21:59:59.999999-02:00", 2),
        ("2026-02-06", None, 0),
    ):
        asked = {"project": project, names[0]: since, names[1]: until}
        assert cstp.result("listDecisions", asked)["total"] == found, asked
        assert cstp.result("getStats", asked)["total"] == found, asked


def test_the_answer_to_stats(cstp: Caller, project: str) -> None:
    cstp.record(project=project, category="tooling", stakes="low", tags=["a", "b"])
    reviewed = cstp.record(project=project, tags=["b"])
    cstp.result("reviewDecision", {"id": reviewed, "outcome": "failure"})
    cstp.events(
        [recorded(f"x-{project}", "2026-02-05T12:00:00Z", "/agents/other", project=project, category="tooling")]
    )
    today = cstp.decision(reviewed)["date"]
    assert cstp.result("getStats", {"project": project}) == {
        "total": 3,
        "byCategory": {"tooling": 2},
        "byStakes": {"low": 1},
        "byStatus": {"pending": 2, "reviewed": 1},
        "byAgent": {"anonymous": 2, "other": 1},
        "byDay": [{"date": today, "count": 2}, {"date": "2026-02-05", "count": 1}],
        "topTags": [{"tag": "b", "count": 2}, {"tag": "a", "count": 1}],
        "recentActivity": {"last24h": 2, "last7d": 2, "last30d": 2},
    }


def test_row_11_the_last_24_hours_are_24_hours(cstp: Caller, project: str) -> None:
    spans = (1, 23, 25, 47, 24 * 6, 24 * 8, 24 * 29, 24 * 31)
    cstp.events(recorded(f"{project}-{hours}", ago(hours=hours), project=project) for hours in spans)
    recent = cstp.result("getStats", {"project": project})["recentActivity"]
    assert recent == {"last24h": 2, "last7d": 5, "last30d": 7}


def test_stats_show_at_most_30_days_and_20_tags(cstp: Caller, project: str) -> None:
    for day in range(35):
        time = f"2025-{1 + day // 28:02}-{1 + day % 28:02}T00:00:00Z"
        cstp.events([recorded(f"{project}-{day}", time, project=project, tags=[f"t{day}"])])
    stats = cstp.result("getStats", {"project": project})
    days = [entry["date"] for entry in stats["byDay"]]
    assert len(days) == 30
    assert days == sorted(days, reverse=True)
    assert days[0] == "2025-02-07"
    assert len(stats["topTags"]) == 20


def test_stats_of_nothing(cstp: Caller, project: str) -> None:
    cstp.record(project=project)
    asked = {"project": project, "dateTo": "2020-01-01"}
    assert cstp.result("getStats", asked) == {
        "total": 0,
        "byCategory": {},
        "byStakes": {},
        "byStatus": {},
        "byAgent": {},
        "byDay": [],
        "topTags": [],
        "recentActivity": {"last24h": 0, "last7d": 0, "last30d": 0},
    }

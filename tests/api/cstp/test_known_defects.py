"""What the users of the reference server suffer from, row by row, 1 to 12; none of it can be met here."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.api.cstp.client import Caller, recorded, reviewed
from tests.api.http.posts import head
from tests.support.server import served

CASES = ((0.95, "SSSSSFFF"), (0.6, "SSSFF"))


def ago(**span: float) -> str:
    return (datetime.now(UTC) - timedelta(**span)).isoformat()


def calibration_text(cstp: Caller, **params: object) -> str:
    """The bytes of an answer to getCalibration, as text."""
    frame = {"jsonrpc": "2.0", "id": 1, "method": "cstp.getCalibration", "params": params}
    return cstp.http.post("/cstp", json=frame).text


def outcomes(cstp: Caller, project: str, confidence: float, letters: str, time: str | None = None) -> None:
    """Decisions with their outcomes, posted as events."""
    words = {"S": "success", "F": "failure", "P": "partial"}
    start = head(cstp.http)
    events = []
    for number, letter in enumerate(letters, start):
        name = f"{project[:40]}-{number}"
        events += [recorded(name, time, project=project, confidence=confidence), reviewed(name, words[letter])]
    cstp.events(events)


def test_row_1_zero_is_stored_as_zero_and_nothing_as_nothing(cstp: Caller, project: str) -> None:
    """There: confidence 0 stored 0.5, strength 0 stored 0.8, a missing confidence silently 0.5."""
    for zero in (0, 0.0):
        found = cstp.decision(cstp.record(project=project, confidence=zero, reasons=[{"text": "t", "strength": zero}]))
        assert (found["confidence"], found["reasons"][0]["strength"]) == (0, 0)
    silent = cstp.record(project=project)
    assert "confidence" not in cstp.decision(silent)
    cstp.result("reviewDecision", {"id": silent, "outcome": "success"})
    stats = cstp.calibration(project, minDecisions=1)
    assert (stats["overall"], stats["confidenceStats"]["mean"], stats["confidenceStats"]["count"]) == (None, 0, 2)


def test_row_2_a_confidence_cannot_be_bettered_after_the_outcome_nor_poisoned(cstp: Caller, project: str) -> None:
    """There: editable after the review; 5.0 gave a Brier score of 25; "high" broke getCalibration for everyone."""
    (first, *_) = cstp.judge(project, CASES)
    before, everyone = cstp.calibration(project), cstp.result("getCalibration", {"minDecisions": 1})
    poisons: tuple[object, ...] = (5.0, -1, "high", "1.5", [], {}, True, 10**400)
    for poison in poisons:
        code, message = cstp.error("updateDecision", {"id": first, "updates": {"confidence": poison}})
        assert (code, message[:58]) == (-32602, "Validation failed: updates.confidence: must be between 0.0")
        code, message = cstp.error("recordDecision", {"decision": "x", "project": project, "confidence": poison})
        assert (code, message[:50]) == (-32602, "Validation failed: confidence: must be between 0.0")
    cstp.result("updateDecision", {"id": first, "updates": {"confidence": 0.0}})
    assert cstp.decision(first)["confidence"] == 0
    after = cstp.calibration(project)
    for name in ("overall", "byConfidenceBucket", "recommendations", "by_category"):
        assert after[name] == before[name]
    assert cstp.result("getCalibration", {"minDecisions": 1})["overall"] == everyone["overall"]


def test_row_3_a_second_review_erases_nothing_and_each_names_its_author(cstp: Caller) -> None:
    """There: it overwrites; what it omits is nulled in one store and kept in the other; no history, no owner."""
    decision_id = cstp.record(confidence=0.5)
    reported = {"lessons": "measure", "actualResult": "it held", "notes": "n", "affectedKpis": {"p99": -1.5}}
    cstp.result("reviewDecision", {"id": decision_id, "outcome": "success", **reported})
    cstp.events([reviewed(decision_id, "failure", "/agents/other")])
    found = cstp.decision(decision_id)
    assert (found["outcome"], found["lessons"], found["actual_result"]) == ("failure", "measure", "it held")
    assert (found["review_notes"], found["affected_kpis"]) == ("n", {"p99": -1.5})
    history = [(review["outcome"], review["reviewed_by"]) for review in found["reviews"]]
    assert history == [("success", "anonymous"), ("failure", "other")]


def test_row_4_min_decisions_is_what_it_says(cstp: Caller, project: str) -> None:
    """There: minDecisions 1 with 2 reviews answered "Only 2... Need at least 1"."""
    cstp.judge(project, [(0.5, "SF")])
    assert cstp.calibration(project, minDecisions=1)["overall"]["reviewedDecisions"] == 2
    assert cstp.calibration(project, minDecisions=2)["overall"]["reviewedDecisions"] == 2
    few = cstp.calibration(project, minDecisions=3)
    assert few["overall"] is None
    assert few["recommendations"][0]["message"] == ("Only 2 reviewed decisions found. Need at least 3 for calibration.")


@pytest.mark.parametrize("window", ["7d", "120d", "1y", "30D", "30d ", "forever"])
def test_row_5_no_window_is_labelled_what_it_is_not(cstp: Caller, project: str, window: str) -> None:
    """There: window "7d" gave data of all time, labelled 7d."""
    outcomes(cstp, project, 0.5, "SSFFF", ago(days=400))
    for params in ({"window": window}, {"filters": {"window": window}}):
        answer = cstp.result("getCalibration", {"project": project, **params})
        assert (answer["ignored"], "window" in answer["overall"]) == (["window"], False)
    for known in ("30d", "60d", "90d"):
        answer = cstp.result("getCalibration", {"project": project, "window": known})
        assert answer["overall"] is None
        assert "confidenceStats" not in answer


@pytest.mark.slow
def test_row_6_twenty_thousand_decisions_are_all_looked_at(cstp: Caller, project: str) -> None:
    """There: only the newest 10,000 were; 20,000, half of them failures, gave accuracy 1.0 and total 10,000."""
    outcomes(cstp, project, 0.9, "F" * 10_000 + "S" * 10_000)
    overall = cstp.calibration(project)["overall"]
    assert (overall["totalDecisions"], overall["reviewedDecisions"], overall["accuracy"]) == (20_000, 20_000, 0.5)
    stats = cstp.result("getStats", {"project": project})
    assert (stats["total"], stats["byStatus"], stats["recentActivity"]["last24h"]) == (
        20_000, {"reviewed": 20_000}, 20_000,
    )  # fmt: skip
    last = cstp.result("listDecisions", {"project": project, "offset": 19_999, "limit": 500})
    assert (last["total"], len(last["decisions"])) == (20_000, 1)
    assert last["decisions"][0]["outcome"] == "failure", "the oldest"
    assert cstp.result("queryDecisions", {"filters": {"project": project}})["total"] == 20_000
    assert cstp.result("queryDecisions", {"query": "queue", "filters": {"project": project}})["total"] == 20_000


def test_row_7_what_is_below_a_half_is_counted_there(cstp: Caller, project: str) -> None:
    """There: confidences below 0.5 were counted as "0.5-0.6"."""
    for confidence in (0.0, 0.1, 0.25, 0.3, 0.49, 0.4999):
        cstp.record(project=project, confidence=confidence)
    counts = cstp.calibration(project)["confidenceStats"]["bucketCounts"]
    assert counts == {"0.4-0.5": 2, "0.3-0.4": 1, "0.2-0.3": 1, "0.1-0.2": 1, "0.0-0.1": 1}


@pytest.mark.parametrize(
    ("confidence", "letters", "gap"),
    [
        (0.7, "SSSSSSSFFF", -0.1),
        (0.5, "SSSSSFFFFF", -0.1),
        (0.6, "SSSFFP" + "S" * 14, 0.28),
        (0.95, "S" * 17 + "FFF", -0.1),
    ],
)
def test_row_8_a_gap_reads_the_same_wherever_it_occurs(
    cstp: Caller, project: str, confidence: float, letters: str, gap: float
) -> None:
    """There: stated .70 and 70% success read overconfident and the same -.1 at .5 well calibrated; -0.0 appeared."""
    outcomes(cstp, project, confidence, letters)
    (bucket,) = cstp.calibration(project)["byConfidenceBucket"]
    assert bucket["gap"] == pytest.approx(gap, abs=0.0051)
    assert bucket["interpretation"] == ("well_calibrated" if gap == -0.1 else "underconfident")
    assert re.search(r"-0(\.0+)?\b(?![.\deE])", calibration_text(cstp, project=project)) is None


def test_row_8_no_figure_is_minus_zero_whatever_is_stated(cstp: Caller, project: str) -> None:
    for confidence, letters in ((-0.0, "FFF"), (0.0, "FFF"), (5e-324, "FFF"), (1.0, "SSS"), (0.5, "PPPP")):
        outcomes(cstp, project, confidence, letters)
    for params in ({}, {"groupBy": "category"}, {"detail": "curves"}, {"until": "2100-01-01"}):
        text = calibration_text(cstp, project=project, **params)
        assert re.search(r"-0(\.0+)?\b(?![.\deE])", text) is None, text


def test_row_9_until_holds_the_last_second_of_its_day_and_offsets_count(cstp: Caller, project: str) -> None:
    """There: dates were compared as strings, so that the last second of the day was lost and offsets were ignored."""
    times = (
        "2026-02-04T23:30:00-01:00",
        "2026-02-05T23:59:59Z",
        "2026-02-05T23:59:59.999999Z",
        "2026-02-06T00:30:00+01:00",
    )
    for time in times:
        outcomes(cstp, project, 0.5, "S", time)
    outcomes(cstp, project, 0.5, "F", "2026-02-06T00:00:00Z")
    outcomes(cstp, project, 0.5, "F", "2026-02-05T00:59:59.999999+01:00")
    for since, until, total in (
        ("2026-02-05", "2026-02-05", 4),
        ("2026-02-05T00:30:00Z", "2026-02-05", 4),
        ("2026-02-05T01:30:00+01:00", "2026-02-06T01:00:00+01:00", 5),
        ("2026-02-05T00:30:00.000001Z", "2026-02-05T23:59:59Z", 2),
    ):
        filters: dict[str, Any] = {"since": since, "until": until, "minDecisions": 1}
        assert cstp.calibration(project, **filters)["overall"]["totalDecisions"] == total, (since, until)
        dates = {"project": project, "dateFrom": since, "dateTo": until}
        assert cstp.result("listDecisions", dates)["total"] == total, (since, until)
        assert cstp.result("getStats", dates)["total"] == total, (since, until)
        queried = {"project": project, "dateAfter": since, "dateBefore": until}
        assert cstp.result("queryDecisions", {"filters": queried})["total"] == total, (since, until)


def test_row_10_the_windows_of_drift_end_and_share_no_day(cstp: Caller, project: str) -> None:
    """There: "120d" had no beginning, so that 400 days old decisions counted as "90d+"; a day lay in both windows."""
    for days, letters in ((1, "SSSSS"), (29.99, "S"), (30.01, "S"), (60, "SSSSS"), (119.99, "S"), (120.01, "FFF")):
        outcomes(cstp, project, 0.9, letters, ago(days=days))
    outcomes(cstp, project, 0.9, "F" * 20, ago(days=400))
    answer = cstp.result("checkDrift", {"project": project})
    recent, historical = answer["recent"], answer["historical"]
    assert (recent["decisions"], recent["window"]) == (6, "30d")
    assert (historical["decisions"], historical["window"], historical["accuracy"]) == (7, "90d", 1)
    assert (answer["driftDetected"], answer["alerts"]) == (False, [])


def test_row_11_what_happened_47_hours_ago_is_not_of_the_last_24(cstp: Caller, project: str) -> None:
    """There: it was counted, because a time with a T was compared with one with a space."""
    for hours in (0.01, 23.9, 24.1, 47, 24 * 6.9, 24 * 7.1, 24 * 29.9, 24 * 30.1):
        outcomes(cstp, project, 0.5, "S", ago(hours=hours))
    recent = cstp.result("getStats", {"project": project})["recentActivity"]
    assert recent == {"last24h": 2, "last7d": 5, "last30d": 7}


@pytest.mark.slow
def test_row_12_there_is_one_store_and_it_shows_every_field_however_one_asks(tmp_path: Path) -> None:
    """There: SQLite lacked a dozen fields that the files had, and an id and its beginning gave different answers."""
    given = {
        "decision": "Write everything through one queue", "confidence": 0.8, "project": "p", "file": "a.py", "line": 7,
        "commit": "abc", "pr": 3, "trace": [{"thought": "t", "step": 1}], "kpi_indicators": ["p99"],
        "mental_state": "deliberate", "pre_decision": {"query_run": True},
    }  # fmt: skip
    ledger = tmp_path / "ledger.db"
    with served(ledger) as server, Caller(server.url) as cstp:
        decision_id = cstp.record(given, reviewIn="7d")
        cstp.result("reviewDecision", {"id": decision_id, "outcome": "success", "affectedKpis": {"p99": -2}})
        whole = cstp.decision(decision_id)
        server.process.kill()
        server.process.wait()
    with served(ledger) as server, Caller(server.url) as cstp:
        for beginning in (decision_id, decision_id[:7], decision_id[:4]):
            assert cstp.decision(beginning) == whole
        (row,) = cstp.result("listDecisions")["decisions"]
    assert {name: whole[name] for name in given} == given
    assert (whole["reviewed_by"], whole["affected_kpis"]) == ("anonymous", {"p99": -2})
    assert datetime.fromisoformat(whole["review_due"]) - datetime.fromisoformat(whole["created_at"]) == timedelta(
        days=7
    )
    assert row == {name: value for name, value in whole.items() if name not in ("deliberation", "trace", "reviews")}

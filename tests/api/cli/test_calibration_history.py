"""calibration --include on the command line: trend, drift, comparison."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, refused
from tests.support.paths import SHARED

ANSWERS = SHARED / "calibration" / "llm_confidence.csv"

DAWN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("course")
    rows = ["agent,decision,category,confidence,outcome,time,asked"]
    for day in range(200):
        at = (DAWN + timedelta(days=day)).isoformat()
        rows.append(f"ann,a{day},c,0.9,{int(day % 10 > 0 if day < 120 else day % 2 > 0)},{at},q{day}")
        rows.append(f"bea,b{day},c,0.9,{int(day % 10 > 0)},{at},q{day}")
        if day < 60:
            rows.append(f"cy,c{day},c,0.9,{int(day % 5 > 0)},{at},")
    table = folder / "table.csv"
    table.write_text("\n".join(rows))
    done(folder / "t.db", "import", "decisions", table, "--map", "question=asked")
    return folder / "t.db"


@pytest.mark.slow
@pytest.mark.defect(14)
def test_a_trend_is_a_table(ledger: Path) -> None:
    said = done(ledger, "calibration", "--agent", "ann", "--include", "trend", "--trend-days", 60).text
    assert "2026-01-01  2026-03-02" in said
    assert said.count("2026-") >= 2 * 8
    assert "Windows overlap: each has 67% of its time in common with the next." in said
    assert "Drift: the gap changed" not in said


@pytest.mark.slow
def test_a_change_is_reported_with_its_date(ledger: Path) -> None:
    said = done(ledger, "calibration", "--agent", "ann", "--include", "drift").text
    assert (
        "Drift: the gap changed (p < 0.001): before 2026-05-01 00:00 it was 0.000 (-0.063 to +0.044), n=120; " in said
    )
    assert "The change was between 2026-04-" in said
    assert " (90% interval)." in said
    assert (
        "No drift found in 200 reviews (p = "
        in done(ledger, "calibration", "--agent", "bea", "--include", "drift").text
    )
    few = done(ledger, "calibration", "--agent", "bea", "--until", "2026-02-19", "--include", "drift").text
    assert "Too few reviews to look for drift: 10 more are needed." in few


@pytest.mark.slow
@pytest.mark.defect(2)
@pytest.mark.skipif(not ANSWERS.exists(), reason="needs ../shared/data")
def test_a_file_without_times_shows_no_drift(tmp_path: Path) -> None:
    """Row 2 of the statistical defects: an alarm for every agent, dated at the end of its first category."""
    done(tmp_path / "t.db", "import", "decisions", ANSWERS, "--map", "decision=question_id")
    for agent in (None, "claude-3-7-sonnet-20250219", "claude-3-haiku-20240307", "deepseek_r1", "gpt-4o"):
        options = ("calibration", *(("--agent", agent) if agent else ()), "--include", "drift")
        drift = msgspec.json.decode(done(tmp_path / "t.db", *options, "--json").out)["drift"]
        assert (drift["alarm"], drift["p"], drift["reason"]) == (False, None, "too few times")
    said = done(tmp_path / "t.db", "calibration", "--agent", "gpt-4o", "--include", "drift").text
    assert (
        "No test for drift in 1,436 reviews: too few reviews have a time that says when the decision was made." in said
    )
    assert "1,436 reviews left out: their times do not say when they were made." in said


@pytest.mark.defect(2)
def test_categories_one_after_another_show_no_drift(tmp_path: Path) -> None:
    """Row 2 of the statistical defects: each category was stationary, and their border was dated as a change."""
    rows = ["agent,decision,category,confidence,outcome,time"]
    for day in range(240):
        right = day % 10 > 0 if day < 120 else day % 10 > 5
        rows.append(f"ann,a{day},{'bc'[day // 120]},0.9,{int(right)},{(DAWN + timedelta(days=day)).isoformat()}")
    (tmp_path / "table.csv").write_text("\n".join(rows))
    done(tmp_path / "t.db", "import", "decisions", tmp_path / "table.csv")
    drift = msgspec.json.decode(done(tmp_path / "t.db", "calibration", "--include", "drift", "--json").out)["drift"]
    assert (drift["alarm"], drift["strata"]) == (False, 2)


def test_agents_are_compared_on_shared_questions_and_marked_on_others(ledger: Path) -> None:
    said = done(ledger, "calibration", "--include", "comparison").text
    assert "ann and bea on 200 shared questions in 20 clusters: Brier 0.218 and 0.090, difference +0.128.\n" in said
    assert "\n  At this one look its interval is +0.0" in said
    assert "\n  bea is better? There is not enough data to be sure: the evidence is " in said
    assert " to 1, and 40 to 1 is called sure; questions that were answered one after" in said
    assert "ann and cy: different questions, 0 shared. Skill: c " in said
    assert "(n=60)." in said
    alone = done(ledger, "calibration", "--agent", "ann", "--include", "comparison").text
    assert "There are fewer than two agents to compare." in alone


def test_programs_get_what_people_get(ledger: Path) -> None:
    answer = msgspec.json.decode(done(ledger, "calibration", "--include", "comparison,drift", "--json").out)
    assert "trend" not in answer
    assert len(answer["comparison"]["pairs"]) == 3
    assert answer["drift"]["reviewed"] == 460
    assert "trend" not in msgspec.json.decode(done(ledger, "calibration", "--json").out)


def test_what_there_is_to_include_is_reported(ledger: Path) -> None:
    assert "Choose one of trend, drift, comparison, reviews_by_age, plots." in refused(
        ledger, "calibration", "--include", "trends"
    )
    assert "--trend-days: " in refused(ledger, "calibration", "--include", "trend", "--trend-days", 0)

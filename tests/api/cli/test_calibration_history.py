"""calibration --include on the command line: trend, drift, comparison."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, refused

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


def test_a_trend_is_a_table(ledger: Path) -> None:
    said = done(ledger, "calibration", "--agent", "ann", "--include", "trend", "--trend-days", 60).text
    assert "2026-01-01  2026-03-02" in said
    assert said.count("2026-") >= 2 * 8
    assert "Drift: the gap changed" not in said


def test_a_change_is_reported_with_its_date(ledger: Path) -> None:
    said = done(ledger, "calibration", "--agent", "ann", "--include", "drift").text
    assert (
        "Drift: the gap changed (p < 0.001): before 2026-05-01 00:00 it was +0.000 (-0.063 to +0.044), n=120; " in said
    )
    assert (
        "No drift found in 200 reviews (p = "
        in done(ledger, "calibration", "--agent", "bea", "--include", "drift").text
    )
    few = done(ledger, "calibration", "--agent", "bea", "--until", "2026-02-19", "--include", "drift").text
    assert "Too few reviews to look for drift: 10 more are needed." in few


def test_agents_are_compared_on_shared_questions_and_marked_on_others(ledger: Path) -> None:
    said = done(ledger, "calibration", "--include", "comparison").text
    assert "ann and bea on 200 shared questions in 20 clusters: Brier 0.218 and 0.090, difference +0.128 (" in said
    assert "\n  bea is better; questions that were answered one after another are alike, so " in said, "ann got worse"
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
    assert "Choose one of trend, drift, comparison." in refused(ledger, "calibration", "--include", "trends")
    assert "--trend-days: " in refused(ledger, "calibration", "--include", "trend", "--trend-days", 0)

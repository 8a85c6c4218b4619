"""calibration --threshold and --detail curves on the command line: what people read."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from api.reports.plots.tables import CURVE_ROWS_MAX
from tests.api.cli.command import done, refused


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("use")
    rng = np.random.default_rng(450)
    rows = ["agent,decision,confidence,outcome"]
    for number, confidence in enumerate(rng.beta(8, 2, 450).tolist()):
        rows.append(f"ann,a{number},{confidence:.6f},{int(rng.random() < confidence)}")
    rows += [f"bea,b{number},{0.9 if number % 2 else 0.6},{int(number % 8 > 1)}" for number in range(40)]
    rows += [f"cy,c{number},0.9,{int(number < 16)}" for number in range(20)]
    table = folder / "table.csv"
    table.write_text("\n".join(rows))
    done(folder / "t.db", "import", "decisions", table)
    return folder / "t.db"


@pytest.mark.slow
@pytest.mark.defect(10)
def test_a_curve_of_450_confidences_is_a_short_table_without_gaps(ledger: Path) -> None:
    """The band was `-` on every row, on 450 lines."""
    said = done(ledger, "calibration", "--agent", "ann", "--detail", "curves").text
    lines = said.splitlines()
    first = next(number for number, line in enumerate(lines) if "recalibrated" in line)
    rows = lines[first + 1 : lines.index(next(line for line in lines if line.startswith("Of calibrated agents")))]
    assert 3 <= len(rows) <= CURVE_ROWS_MAX
    assert all(row.count(" to ") >= 2 for row in rows), "both ranges on each row"
    assert not any(row.rstrip().endswith("-") for row in rows)
    answer = msgspec.json.decode(done(ledger, "calibration", "--agent", "ann", "--detail", "curves", "--json").out)
    assert len(answer["overall"]["corp"]["curve"]) == 450
    assert len(answer["overall"]["corp"]["band"]) == 100


def test_acting_above_a_threshold(ledger: Path) -> None:
    said = done(ledger, "calibration", "--agent", "bea", "--threshold", 0.8).text
    assert "Acting only at 0.8 or more: 20 of 40 reviewed decisions, success 0.750 (" in said
    assert "if a failure costs as much as 4 successes gain: -0.125 (" in said
    assert "Acting on all: -0.250 (" in said
    assert "The data cannot confirm that it is better than acting on none, or worse." in said
    none = done(ledger, "calibration", "--agent", "bea", "--threshold", 0.95).text
    assert "No reviewed decision had a stated confidence of 0.95 or more." in none
    assert "Here it is the same as acting on none." in none
    every = done(ledger, "calibration", "--agent", "bea", "--threshold", 0.5).text
    assert "Here it is the same as acting on all." in every
    assert "Acting" not in done(ledger, "calibration", "--agent", "bea").text


def test_a_threshold_is_below_one(ledger: Path) -> None:
    for value in ("1", "-0.1", "high"):
        assert "is not a number from 0 to 0.999" in refused(ledger, "calibration", f"--threshold={value}")


def test_the_ranking_is_printed_with_the_curve(ledger: Path) -> None:
    said = done(ledger, "calibration", "--agent", "bea", "--detail", "curves").text
    assert "AUC 0.500" in said
    assert "of 300 pairs of decisions with different outcomes, the better one had the higher confidence in 50%;" in said
    assert "AUC" not in done(ledger, "calibration", "--agent", "bea").text


def test_reviews_needed_are_printed_with_the_gap(ledger: Path) -> None:
    said = done(ledger, "calibration", "--agent", "cy").text
    answer = msgspec.json.decode(done(ledger, "calibration", "--agent", "cy", "--json").out)
    assert answer["overall"]["reviews_needed_gap"] == pytest.approx(-0.1)
    assert answer["reviews_needed_by_gap"][1]["reviews"] == answer["overall"]["reviews_needed"]
    numbers = [f"{one['reviews'] or 'no number'} if it is {one['gap']:+.3f}" for one in answer["reviews_needed_by_gap"]]
    sentence = f"How many more are enough, in 4 of 5 cases, depends on its true gap: {', '.join(numbers)}."
    assert sentence in " ".join(said.split())

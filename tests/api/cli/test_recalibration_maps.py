"""The recalibration maps as the command prints them and as programs read them: a real process, a real ledger."""

from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done
from tests.api.cli.lines import decided, turned_out

NOTHING = "No recalibration map: none would surely lower the Brier score by 0.002 or more."


def rows(name: str, confidence: float, outcomes: str, category: str = "all") -> bytes:
    """Decisions that state a confidence, and their outcomes: `S` is a success, anything else a failure."""
    return b"".join(
        decided(f"{name}{number}", confidence=confidence, category=category)
        + turned_out(f"{name}{number}", "success" if letter == "S" else "failure")
        for number, letter in enumerate(outcomes)
    )


def ledger_of(folder: Path, *parts: bytes) -> Path:
    done(folder / "t.db", "append", "--agent", "ann", given=b"".join(parts))
    return folder / "t.db"


def curves(ledger: Path) -> str:
    return done(ledger, "calibration", "--detail", "curves").text


def answer(ledger: Path) -> dict[str, object]:
    read: dict[str, object] = msgspec.json.decode(done(ledger, "calibration", "--detail", "curves", "--json").out)
    return read


@pytest.mark.defect(3)
def test_twenty_successes_at_99_percent_offer_nothing(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, rows("d", 0.99, "S" * 20))
    text = curves(ledger)
    assert NOTHING in text
    assert "has meant" not in text
    assert answer(ledger)["recalibration"] is None


@pytest.mark.defect(14)
def test_no_map_whose_gain_is_rounded_away(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, rows("a", 0.83, "SSSSF" * 100), rows("b", 0.88, "SSSSSSF" * 70))
    assert NOTHING in curves(ledger)


def test_an_overconfident_agent_reads_what_to_state(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path, rows("a", 0.9, "SSSF" * 75), rows("b", 0.999, "SSSSF" * 40))
    lines = [line for line in curves(ledger).splitlines() if line.startswith(("Stated ", "With this map"))]
    assert lines[0].startswith("Stated 0.90 has meant 0.75 (0.70 to 0.80), n=300: state 0.")
    assert lines[1].startswith("Stated 0.999 has meant 0.80 (0.74 to 0.85), n=200: state 0.")
    assert "n=500) the Brier score would have fallen from 0." in lines[2]
    assert " (cross-validated; 95% lower bound 0.0" in lines[2]
    found = msgspec.convert(answer(ledger)["recalibration"], dict[str, object])
    assert found["family"] in {"logit_shift", "beta"}
    assert found["reviewed"] == 500
    assert "recalibration_by_category" not in answer(ledger)


def test_a_category_with_a_map_of_its_own(tmp_path: Path) -> None:
    ledger = ledger_of(
        tmp_path, rows("l", 0.9, "SFFF" * 50, category="logic"), rows("f", 0.9, "SSSSSSSSSF" * 30, category="facts")
    )
    text = curves(ledger)
    assert "logic needs a map of its own, which improves on this map:" in text
    assert "In facts the stated confidences are better than this map:" in text
    assert "As stated (n=300) the Brier score would have fallen from 0." in text
    own = msgspec.convert(answer(ledger)["recalibration_by_category"], list[dict[str, object]])
    assert [one["category"] for one in own] == ["facts", "logic"]
    assert "recalibration_by_category" not in msgspec.json.decode(done(ledger, "calibration", "--json").out)

"""What is kept of faults: rows measured one by one make one table."""

from pathlib import Path

import msgspec

from tests.faults.report import Report, markdown, merge
from tests.faults.row import Row


def row(name: str, *, held: bool = True, lost: int = 0) -> Row:
    return Row(
        name=name,
        title=f"the {name}",
        must_hold="nothing lost",
        dose=1_000,
        unit="kills",
        seed=7,
        held=held,
        figures={"acknowledged lost": lost, "ready s": 0.51234, "said": "so"},
        elapsed_s=61.4,
    )


def test_rows_are_measured_one_by_one_and_stand_in_the_order_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    merge(path, [row("late"), row("early", lost=3)], ["early", "late"])
    report = merge(path, [row("early")], ["early", "late"])
    assert [one.name for one in report.rows] == ["early", "late"]
    assert report.rows[0].figures["acknowledged lost"] == 0
    assert msgspec.json.decode(path.read_bytes(), type=Report) == report


def test_a_table_tells_dose_seed_and_figures(tmp_path: Path) -> None:
    reported = markdown(merge(tmp_path / "faults.json", [row("kill", held=False, lost=12_345)], ["kill"]))
    line = "|the kill|1,000 kills|7|nothing lost|**no**|acknowledged lost 12,345; ready s 0.512; said so; 61 s in all|"
    assert line in reported.splitlines()

"""calibration on the command line: the evidence for a verdict, the interval for every look, the warning."""

from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done


def table(folder: Path, outcomes: list[int], *, timed: bool = False) -> Path:
    hours = [f",2026-01-{1 + n // 24:02}T{n % 24:02}:00:00Z" if timed else "" for n in range(len(outcomes))]
    rows = [f"ann,d{n},0.9,{one}{hour}" for n, (one, hour) in enumerate(zip(outcomes, hours, strict=True))]
    rows.insert(0, "agent,decision,confidence,outcome" + (",time" if timed else ""))
    path = folder / "table.csv"
    path.write_text("\n".join(rows))
    done(folder / "t.db", "import", "decisions", path)
    return folder / "t.db"


@pytest.mark.defect(1)
def test_a_supported_verdict_has_its_evidence(tmp_path: Path) -> None:
    ledger = table(tmp_path, [1, 1, 1, 0] * 20)
    found = msgspec.json.decode(done(ledger, "calibration", "--json").out)["overall"]
    said = done(ledger, "calibration").text
    assert f"It is overconfident: the evidence is {found['gap_e_values']['over']:,.0f} to 1." in said
    assert "If you look again and again: -" in said
    assert "turn out alike" not in said


@pytest.mark.defect(1)
def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    """Rows of one import are one look."""
    said = set()
    for name, outcomes in (("first", [0] * 13 + [1] * 37), ("last", [1] * 37 + [0] * 13)):
        (tmp_path / name).mkdir()
        said.add(done(table(tmp_path / name, outcomes), "calibration").text.partition("Skill")[0])
    assert len(said) == 1
    assert "It looks overconfident" in said.pop()


def test_alike_neighbours_are_a_warning(tmp_path: Path) -> None:
    ledger = table(tmp_path, ([1] * 45 + [0] * 5) * 4, timed=True)
    said = " ".join(done(ledger, "calibration").text.split())
    assert "! Decisions made one after another turn out alike: 200 reviews contain about as much evidence as" in said
    assert "The verdict and the intervals are too sure." in said


@pytest.mark.slow
@pytest.mark.defect(1)
def test_named_clusters_are_counted_and_allowed_for(tmp_path: Path) -> None:
    """Eight tasks of 25 decisions, three of which failed as a whole: without the clusters that is "overconfident"."""
    named = ["agent,decision,confidence,outcome,cluster"]
    named += [f"ann,d{n},0.8,{int(n // 25 % 3 > 0)},task {n // 25}" for n in range(200)]
    (tmp_path / "named.csv").write_text("\n".join(named))
    (tmp_path / "unnamed.csv").write_text("\n".join(line.rsplit(",", 1)[0] for line in named))
    said = {}
    for name in ("named", "unnamed"):
        done(tmp_path / f"{name}.db", "import", "decisions", tmp_path / f"{name}.csv")
        said[name] = " ".join(done(tmp_path / f"{name}.db", "calibration", "--group-by", "agent").text.split())
    assert "It is overconfident: the evidence is" in said["unnamed"]
    assert "cluster" not in said["unnamed"]
    assert "It looks overconfident, but there is not enough data to be sure: the evidence is" in said["named"]
    assert (
        "They are in 8 clusters, the largest with 25 reviews: 200 reviews contain about as much evidence as 7 "
        "independent ones. Verdicts and intervals allow for that."
    ) in said["named"]
    assert "turn out alike" not in said["named"]

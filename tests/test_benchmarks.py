"""The benchmarks run: what they measure is a matter for `make bench`, that they still can is one for every change."""

import subprocess
import sys
from pathlib import Path
from shutil import which

import msgspec
import pytest

from benchmarks.__main__ import sections
from benchmarks.child_cost import measure_command
from benchmarks.decision_ledgers import make_decisions
from benchmarks.measure import Report
from benchmarks.versions import RATIO_MIN
from tests.support.paths import ROOT
from tests.support.postgres import requires_postgres

pytestmark = pytest.mark.slow

ROWS = (
    "first figure after a restart", "tallystick calibration", "memory of tallystick", "resident memory", "views file",
    "append, one a request", "append, batches", "connections write, p99", "first figure after a burst of 2,000 events",
)  # fmt: skip
FILTERS = (
    "agent", "category", "stakes", "project", "feature", "cluster", "model", "status", "outcome", "tag", "since",
    "until", "window", "order", "sort", "search",
)  # fmt: skip
PAGE_SECTIONS = (
    "overview", "decisions", "reviews", "calibration", "models", "evaluations", "log", "proof", "operate", "programs",
)  # fmt: skip


def run(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], Report]:
    """Run benchmarks; return the process and its report."""
    report = folder / "bench.json"
    command = [sys.executable, "-m", "benchmarks", *arguments, "--json", str(report)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done, msgspec.json.decode(report.read_bytes(), type=Report)


def test_a_try_out_writes_its_report(tmp_path: Path) -> None:
    report = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", "replay", "--scale", "0.002", "--json", str(report), "--markdown"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    measures = msgspec.json.decode(report.read_bytes(), type=Report).measures
    scan = "SELECT + msgspec decode"
    assert [measure.against for measure in measures] == [scan, "eventsourcing, read and decode", scan]
    for measure in measures:
        assert min(measure.ratio, measure.ours, measure.other) > 0
        assert measure.name in done.stdout
    assert done.returncode == (0 if all(measure.holds for measure in measures) else 1)


def test_scores_are_timed(tmp_path: Path) -> None:
    report = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", "probe_scores", "--json", str(report)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    measures = msgspec.json.decode(report.read_bytes(), type=Report).measures
    assert len(measures) == 2
    assert all(measure.ours > 0 and measure.target == "<= 1" for measure in measures)


def test_a_verification_is_timed(tmp_path: Path) -> None:
    report = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", "verify", "--scale", "0.002", "--json", str(report)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    (measure,) = msgspec.json.decode(report.read_bytes(), type=Report).measures
    assert min(measure.ratio, measure.ours, measure.other) > 0


def test_grading_is_timed(tmp_path: Path) -> None:
    report = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", "evaluation_scores", "--scale", "0.01", "--json", str(report)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    measures = msgspec.json.decode(report.read_bytes(), type=Report).measures
    names = ["5 scenarios loaded and scored from captured analyses", "a hostile pattern cut off"]
    assert [measure.name for measure in measures] == names
    assert all(measure.ours > 0 and measure.target == "<= 1" for measure in measures)


def test_a_board_is_timed(tmp_path: Path) -> None:
    if which("wrk") is None:
        pytest.skip("wrk is not here")
    report = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", "scoreboard", "--scale", "0.01", "--json", str(report)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    measures = msgspec.json.decode(report.read_bytes(), type=Report).measures
    assert [measure.name.split()[0] for measure in measures] == [
        "/scoreboard",
        "/evaluations/RUN",
        "/evaluations/compare",
    ]
    assert all(measure.ours > 0 for measure in measures)


def test_the_start_of_commands_is_timed(tmp_path: Path) -> None:
    report = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", "start", "--json", str(report)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    libraries, *verbs = msgspec.json.decode(report.read_bytes(), type=Report).measures
    assert (libraries.against, libraries.holds) == ("python -c pass", None)
    names = [measure.name.split()[1].strip(",") for measure in verbs]
    assert names == ["log", "log", "decisions", "decisions", "status", "status", "calibration"]
    assert all(measure.ours > libraries.other > 0 for measure in verbs)


def test_two_sizes_are_measured_side_by_side(tmp_path: Path) -> None:
    if which("wrk") is None:
        pytest.skip("wrk is not here")
    measures = run(tmp_path, "log_size", "--scale", "0.002")[1].measures
    names = " ".join(measure.name for measure in measures)
    for what in ROWS:
        assert what in names
    for name in FILTERS:
        assert names.count(f"by {name}, page") == 2
    assert all(min(measure.ours, measure.other) > 0 for measure in measures)
    assert all((measure.holds is None) == (measure.target == "") for measure in measures)


def test_every_page_is_timed(tmp_path: Path) -> None:
    done, report = run(tmp_path, "pages", "--scale", "0.002")
    names = [measure.name for measure in report.measures]
    for section in PAGE_SECTIONS:
        for what in ("p95", "first request"):
            row = f"pages of {section}, 2,000 decisions, {what}: /ui"
            assert [name for name in names if name.startswith(row)], done.stderr
    html, scripts, memory = report.measures[-3:]
    assert html.name.startswith("largest HTML: /ui")
    assert (html.target, html.unit, scripts.unit, memory.unit) == ("<= 1", "KB", "KB", "MB")
    assert min(html.ours, scripts.ours, memory.ours) > 0
    assert (html.holds, scripts.holds) == (True, True), names


def test_a_peer_that_is_not_installed_is_left_out(tmp_path: Path) -> None:
    if which("wrk") is None:
        pytest.skip("wrk is not here")
    done, report = run(tmp_path, "peers", "--scale", "0.01", "--peers", str(tmp_path / "python"))
    assert [measure.against for measure in report.measures] == ["eventsourcing, in process"] * 3
    assert all(min(measure.ours, measure.other) > 0 and measure.holds is None for measure in report.measures)
    assert done.stderr.count("left out") == 2


@requires_postgres
def test_the_log_on_postgres_is_measured(tmp_path: Path) -> None:
    if which("wrk") is None:
        pytest.skip("wrk is not here")
    done, report = run(tmp_path, "postgres", "--scale", "0.002", "--peers", str(tmp_path / "bin" / "python"))
    assert done.stderr.count("left out") == 3, done.stderr
    against = [measure.against for measure in report.measures]
    assert len(against) == 8
    assert against[:2] == ["raw COPY into the same schema", "the same on SQLite"]
    assert all(min(measure.ratio, measure.ours, measure.other) > 0 for measure in report.measures)


def test_two_versions_are_compared_in_turns() -> None:
    command = [sys.executable, "-m", "benchmarks.versions", str(ROOT), "verify", "--rounds", "1", "--scale", "0.002"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    (line,) = done.stdout.splitlines()
    ratio = float(line.removesuffix("WORSE").split()[-1])
    assert line.startswith("verify of an export of 2,000 events")
    assert done.returncode == (1 if ratio < RATIO_MIN else 0)


def test_a_large_ledger_is_one_that_appends_could_have_made(tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    make_decisions(path, 300)
    ask = [sys.executable, "-m", "tallystick", "--ledger", str(path), "--json"]
    verified = subprocess.run([*ask, "verify"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert verified.returncode == 0, verified.stdout
    answer = subprocess.run([*ask, "calibration"], cwd=ROOT, capture_output=True, check=True).stdout
    overall = msgspec.json.decode(answer)["overall"]
    assert (overall["reviewed"], overall["total"]) == (300, 300)


def test_the_memory_of_a_command_is_its_own(tmp_path: Path) -> None:
    """Not that of the process that measures it, which a child inherits at first."""
    ballast = bytes(range(256)) * 2**20
    cost = measure_command([sys.executable, "-c", "x = b'x' * 50_000_000"], tmp_path)
    assert 50 < cost.peak_mb < len(ballast) / 1e6


def test_a_benchmark_that_is_not_there_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "nothing"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert all(name in done.stderr for name in sections(1.0))

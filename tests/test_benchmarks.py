"""The benchmarks run: what they measure is a matter for `make bench`, that they still can is one for every change."""

import subprocess
import sys
from pathlib import Path
from shutil import which

import msgspec
import pytest

from benchmarks.__main__ import sections
from benchmarks.measure import Report
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow


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


def test_a_benchmark_that_is_not_there_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "nothing"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert all(name in done.stderr for name in sections(1.0))

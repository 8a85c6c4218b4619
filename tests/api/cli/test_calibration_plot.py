"""calibration --plot: the curve as an SVG file, whole or not at all."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.api.cli.command import done, refused

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = 'a<b>&"c'


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plot")
    rows = ["agent,decision,category,confidence,outcome"]
    for number in range(120):
        stated = (0.55, 0.75, 0.9, 1.0)[number % 4]
        rows.append(f"ann,a{number},'{number % 2}',{stated},{int(number % 10 < 8 * stated)}")
    rows += [f'bea,b{number},"{HOSTILE.replace(chr(34), chr(34) * 2)}",0.8,1' for number in range(6)]
    table = folder / "table.csv"
    table.write_text("\n".join(rows))
    done(folder / "t.db", "import", "decisions", table)
    return folder / "t.db"


def drawn(ledger: Path, path: Path, *options: str) -> ET.Element:
    done(ledger, "calibration", "--plot", path, *options)
    return ET.fromstring(path.read_text(encoding="utf-8"))


def texts(svg: ET.Element) -> list[str]:
    return ["".join(each.itertext()) for each in svg.iter(f"{SVG}text")]


def test_the_curve_its_band_and_its_ranges_are_drawn(ledger: Path, tmp_path: Path) -> None:
    svg = drawn(ledger, tmp_path / "curve.svg", "--agent", "ann")
    curve = next(each for each in svg.iter(f"{SVG}polyline"))
    assert len(curve.attrib["points"].split()) == 4
    assert {each.attrib["class"] for each in svg.iter(f"{SVG}polygon")} == {"band", "whole"}
    whiskers = [each for each in svg.iter(f"{SVG}line") if each.attrib["class"] == "whisker"]
    assert len(whiskers) == 3
    assert {"ann", "stated confidence", "share of successes", "60", "30", "as of position 252"} <= set(texts(svg))
    assert any(text.startswith("120 reviews: stated 80.0%, successful ") for text in texts(svg))


@pytest.mark.defect(10)
def test_the_band_of_whole_curves_is_drawn_too(ledger: Path, tmp_path: Path) -> None:
    svg = drawn(ledger, tmp_path / "curve.svg", "--agent", "ann")
    (whole,) = [each for each in svg.iter(f"{SVG}polygon") if each.attrib["class"] == "whole"]
    assert len(whole.attrib["points"].split()) == 8
    assert {"95% of calibrated, at one point", "95% of calibrated, at every point"} <= set(texts(svg))


def murphy(ledger: Path, path: Path, *options: str) -> ET.Element:
    done(ledger, "calibration", "--murphy", path, *options)
    return ET.fromstring(path.read_text(encoding="utf-8"))


def test_the_murphy_diagram_has_three_curves_over_all_thresholds(ledger: Path, tmp_path: Path) -> None:
    svg = murphy(ledger, tmp_path / "loss.svg", "--agent", "ann")
    curves = {each.attrib["class"]: each.attrib["points"].split() for each in svg.iter(f"{SVG}polyline")}
    assert {name: len(points) for name, points in curves.items()} == {"base": 100, "best": 100, "curve": 100}
    assert {"ann", "mean elementary score", "stated confidence", "as of position 252"} <= set(texts(svg))
    heights = {name: [float(point.split(",")[1]) for point in points] for name, points in curves.items()}
    assert all(best >= stated for best, stated in zip(heights["best"], heights["curve"], strict=True)), "lower loss"


def test_both_drawings_come_from_one_answer(ledger: Path, tmp_path: Path) -> None:
    done(ledger, "calibration", "--plot", tmp_path / "a.svg", "--murphy", tmp_path / "b.svg")
    assert {path.name for path in tmp_path.iterdir()} == {"a.svg", "b.svg"}


@pytest.mark.parametrize("option", ["--plot", "--murphy"])
def test_everything_lies_within_the_drawing(ledger: Path, tmp_path: Path, option: str) -> None:
    done(ledger, "calibration", "--agent", "ann", option, tmp_path / "drawn.svg")
    svg = ET.fromstring((tmp_path / "drawn.svg").read_text(encoding="utf-8"))
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    for shape in svg.iter():
        for name, value in shape.attrib.items():
            if name in ("x", "x1", "x2", "cx"):
                assert 0 <= float(value) <= width
            if name in ("y", "y1", "y2", "cy"):
                assert 0 <= float(value) <= height


@pytest.mark.parametrize("option", ["--plot", "--murphy"])
def test_the_file_needs_nothing_else_and_suits_light_and_dark(ledger: Path, tmp_path: Path, option: str) -> None:
    path = tmp_path / "curve.svg"
    done(ledger, "calibration", option, path, "--agent", "ann")
    text = path.read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in text
    assert re.findall(r"https?://[^\"']+|@import|url\(|<script|<image|href", text) == ["http://www.w3.org/2000/svg"]


def test_the_same_decisions_give_the_same_file(ledger: Path, tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        drawn(ledger, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert "All agents" in texts(ET.parse(tmp_path / "one.svg").getroot())


def test_a_name_is_text_and_nothing_more(ledger: Path, tmp_path: Path) -> None:
    svg = drawn(ledger, tmp_path / "curve.svg", "--agent", "bea", "--category", HOSTILE)
    assert f"bea, {HOSTILE}" in texts(svg)
    assert f"bea, {HOSTILE}" in texts(murphy(ledger, tmp_path / "m.svg", "--agent", "bea", "--category", HOSTILE))


def test_what_cannot_be_drawn_is_refused_and_nothing_is_written(ledger: Path, tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    message = refused(ledger, "calibration", "--since", "2099-01-01", "--plot", path)
    assert "0 reviewed decisions with a stated confidence are too few for a curve." in message
    assert "is the ledger" in refused(ledger, "calibration", "--plot", ledger)
    assert "too few for a curve" in refused(ledger, "calibration", "--since", "2099-01-01", "--murphy", path)
    assert "cannot be written" in refused(ledger, "calibration", "--plot", tmp_path / "none" / "curve.svg")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.trial("A15")
def test_labels_can_be_read_on_a_phone(ledger: Path, tmp_path: Path) -> None:
    """An image scales with its width: 375 px is that of a phone."""
    done(ledger, "calibration", "--agent", "bea", "--plot", tmp_path / "curve.svg")
    svg = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    found = re.search(r'viewBox="0 0 (\d+) \d+"', svg)
    assert found is not None
    sizes = [int(size) * 375 / int(found[1]) for size in re.findall(r"(?:font: |font-size: )(\d+)px", svg)]
    assert sizes
    assert min(sizes) >= 10

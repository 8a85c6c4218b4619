"""calibration --plot --figure: each figure as an SVG file with the right content, or a reason why there is none."""

import json
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from api.cli.commands.calibration import FIGURES
from api.reports.plots.figures import FIGURES as DRAWN
from tests.api.cli.command import done, refused
from tests.api.simulated_ledger import import_simulated_agents
from tests.support.server import serving

SVG = "{http://www.w3.org/2000/svg}"
SELECTIONS: dict[str, tuple[str, ...]] = {
    "curve": ("--agent", "novice"),
    "murphy": ("--agent", "novice"),
    "evidence": ("--agent", "novice"),
    "drift": ("--agent", "scout"),
    "recalibration": ("--agent", "novice"),
    "missing": ("--agent", "scout"),
    "groups": ("--agent", "novice", "--group-by", "category"),
    "comparison": (),
    "threshold": ("--agent", "pilot", "--threshold", "0.8"),
    "trend": ("--agent", "scout"),
}
"""Decisions that have the figure."""


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ledger of the simulated agents of the manual."""
    return import_simulated_agents(tmp_path_factory.mktemp("figures") / "t.db")


class Drawn:
    """A drawing, and the answer that it is drawn from."""

    def __init__(self, ledger: Path, folder: Path, figure: str, *options: str) -> None:
        path = folder / f"{figure}.svg"
        self.answer: Any = json.loads(
            done(ledger, "calibration", "--plot", path, "--figure", figure, "--json", *options).out
        )
        self.svg = ET.fromstring(path.read_text(encoding="utf-8"))

    @property
    def texts(self) -> list[str]:
        return ["".join(each.itertext()) for each in self.svg.iter(f"{SVG}text")]

    def of_class(self, css_class: str, tag: str) -> list[ET.Element]:
        return [each for each in self.svg.iter(f"{SVG}{tag}") if each.attrib.get("class") == css_class]

    def points(self, css_class: str) -> list[list[tuple[float, float]]]:
        """The coordinates of each line of a class."""
        lines = (each.attrib["points"].split() for each in self.of_class(css_class, "polyline"))
        return [[(float(x), float(y)) for x, y in (point.split(",") for point in line)] for line in lines]

    def marks(self) -> list[float]:
        """Where the marks are that go from top to bottom."""
        found = (re.fullmatch(r"M([\d.]+) [\d.]+V[\d.]+", each.attrib["d"]) for each in self.of_class("mark", "path"))
        return [float(each[1]) for each in found if each is not None]


def across(value: float, low: float, high: float) -> float:
    """The horizontal coordinate of a value on an axis that fills the drawing."""
    return 78 + (604 - 78) * (value - low) / (high - low)


def test_every_figure_has_a_word_and_a_selection() -> None:
    assert tuple(DRAWN) == FIGURES == tuple(SELECTIONS)


@pytest.mark.slow
def test_evidence_ends_at_that_of_the_report(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "evidence", *SELECTIONS["evidence"])
    overall, points = drawn.answer["overall"], drawn.answer["plots"]["evidence"]
    assert drawn.marks() == []
    assert points[-1]["reviews"] == overall["reviewed"] == 600
    last = {"over": points[-1]["e_value_over"], "under": points[-1]["e_value_under"]}
    assert last == pytest.approx({side: overall["gap_e_values"][side] for side in last}, rel=1e-4)
    assert points[-1]["gap"] == pytest.approx(overall["gap"])
    assert points[-1]["gap_interval"] == pytest.approx(overall["gap_interval"])
    assert points[-1]["gap_sequence"] == pytest.approx(overall["gap_sequence"], abs=1e-8)
    (over, gap), (under,) = drawn.points("curve"), drawn.points("best")
    assert len(over) == len(under) == len(points) + 1
    assert len(gap) == len(points) <= 200
    assert over[-1][1] < under[-1][1], "higher on the page: more evidence"
    assert {len(each.attrib["points"].split()) for each in drawn.svg.iter(f"{SVG}polygon")} == {2 * len(points)}
    assert "600 reviews: slightly overconfident" in drawn.texts
    assert {"level of support: 40", "evidence (e-value)", "reviews", "gap"} <= set(drawn.texts)
    found = (re.search(r" ([.\d]+)H", line.attrib["d"]) for line in drawn.of_class("grid", "path"))
    levels = [float(level[1]) for level in found if level is not None]
    steps = {round(after - before) for before, after in pairwise(levels)}
    assert len(steps) == 3, "labels are at equal distances in each of both areas"


@pytest.mark.slow
def test_evidence_of_a_calibrated_agent_is_not_enough(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "evidence", "--agent", "pilot", "--category", "tooling")
    assert drawn.answer["overall"]["supported"] is False
    assert any(text.endswith("? Not supported yet") for text in drawn.texts)


def test_evidence_says_of_a_small_gap_what_the_report_says(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "evidence")
    assert "2,232 reviews: surely overconfident, by little" in drawn.texts


def test_drift_is_dated_where_the_sum_turns(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "drift", *SELECTIONS["drift"])
    change, sums = drawn.answer["drift"]["change"], drawn.answer["plots"]["gap_sums"]
    assert sums[-1]["decisions"] == drawn.answer["drift"]["reviewed"]
    assert sums[-1]["sum"] == pytest.approx(0, abs=1e-6)
    ((mark,), (line,), (span,)) = drawn.marks(), drawn.points("curve"), drawn.of_class("span", "rect")[:1]
    highest = min(line, key=lambda point: point[1])
    assert mark == pytest.approx(highest[0], abs=8)
    left, width = float(span.attrib["x"]), float(span.attrib["width"])
    assert left < mark < left + width
    assert change["earliest"] < "2025-07-10" < change["latest"], "the agent changed on that day"
    assert f"the most likely date of the change: {change['time'][:10]}" in drawn.texts
    assert {"90% interval of that date", "time of the decision", "2025-01-01"} <= set(drawn.texts)


@pytest.mark.slow
def test_drift_that_is_not_found_is_drawn_without_a_date(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "drift", "--agent", "pilot")
    assert drawn.marks() == []
    assert drawn.of_class("span", "rect") == []
    assert any("no drift found" in text for text in drawn.texts)


def test_the_map_is_drawn_beside_what_confidences_meant(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "recalibration", *SELECTIONS["recalibration"])
    found = drawn.answer["recalibration"]
    rows_shown = len(found["meanings"])
    (line,) = drawn.points("curve")
    assert len(line) == rows_shown
    assert len(drawn.of_class("dot", "circle")) == rows_shown + 1, "one is in the legend"
    whiskers = drawn.of_class("whisker", "line")
    first = found["meanings"][0]
    low, high = 560 - 432 * (first["interval"][0] - 0.2) / 0.8, 560 - 432 * (first["interval"][1] - 0.2) / 0.8
    assert [float(whiskers[0].attrib[name]) for name in ("y2", "y1")] == pytest.approx([low, high], abs=0.06)
    assert any(text.startswith("600 reviews (logit shift): Brier 0.201 to 0.195") for text in drawn.texts)


def test_missing_reviews_show_both_distributions_and_the_bounds(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "missing", *SELECTIONS["missing"])
    found, tenths = drawn.answer["missing_reviews"], drawn.answer["plots"]["tenths"]
    assert sum(tenth["unreviewed"] for tenth in tenths) == found["unreviewed"]
    assert sum(tenth["reviewed"] for tenth in tenths) == found["total"] - found["unreviewed"]
    for css_class, name in (("count", "reviewed"), ("outline", "unreviewed")):
        bars = [float(bar.attrib["height"]) for bar in drawn.of_class(css_class, "rect")][:-1]
        shares = [tenth[name] for tenth in tenths if tenth["reviewed"] or tenth["unreviewed"]]
        assert [bar / max(bars) for bar in bars] == pytest.approx([share / max(shares) for share in shares], abs=0.01)
    low, high = found["gap_bounds"]
    assert {f"{low:+.3f} to {high:+.3f}", "weighted to represent all", "reviewed decisions"} <= set(drawn.texts)
    assert "Stated on average 77% if reviewed, 89% if not" in drawn.texts
    assert "The missing reviews cannot change the verdict" in drawn.texts
    assert len(drawn.of_class("whisker", "line")) == 3


def test_groups_have_intervals_and_question_marks(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "groups", *SELECTIONS["groups"])
    groups = drawn.answer["groups"]
    assert {group["group"] for group in groups} < set(drawn.texts)
    notes = [text for text in drawn.texts if text.startswith("n=")]
    assert [note.endswith("?") for note in notes] == [not group["supported"] for group in groups] + [False]
    assert len(drawn.of_class("open", "circle")) == 1 + sum(not group["supported"] for group in groups)
    whiskers = [float(each.attrib["x2"]) - float(each.attrib["x1"]) for each in drawn.of_class("whisker", "line")]
    widths = [high - low for low, high in (group["gap_interval"] for group in groups)]
    assert [each / whiskers[0] for each in whiskers[:-1]] == pytest.approx([w / widths[0] for w in widths], abs=0.01)


def test_groups_by_model(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "groups", "--group-by", "model")
    assert {"lyra-1", "lyra-2", "orion", "vega", "all"} <= set(drawn.texts)
    assert "n=210: overconfident" in drawn.texts
    assert "n=2,232: surely overconfident, by little" in drawn.texts
    assert any(advice["type"] == "small_gap" for advice in drawn.answer["recommendations"])


def test_groups_that_are_left_out_are_counted(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "groups", "--group-by", "category", "--limit", "1")
    assert "2 groups are not shown" in drawn.texts


def test_trend_shows_each_window(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "trend", *SELECTIONS["trend"])
    windows = drawn.answer["trend"]["windows"]
    (line,) = drawn.points("curve")
    assert len(line) == len(windows)
    lowest = min(range(len(windows)), key=lambda place: windows[place]["gap"])
    assert max(line, key=lambda point: point[1]) == line[lowest]
    last = windows[-1]
    assert f"Last: {last['gap']:+.3f}, n={last['reviewed']}, before {last['until'][:10]}" in drawn.texts


def test_a_window_without_reviews_leaves_a_space(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    days = [*range(1, 29, 3), 200, *range(330, 360, 3)]
    times = [(datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=day)).isoformat() for day in days]
    table.write_text(
        "time,agent,decision,confidence,outcome\n"
        + "".join(f"{time},a,d{n},0.8,{n % 2}\n" for n, time in enumerate(times))
    )
    done(tmp_path / "t.db", "import", "decisions", table)
    drawn = Drawn(tmp_path / "t.db", tmp_path, "trend")
    assert any(window["reviewed"] == 0 for window in drawn.answer["trend"]["windows"])
    assert len(drawn.points("curve")) == 3


def test_comparison_shows_each_pair(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "comparison")
    pairs = drawn.answer["comparison"]["pairs"]
    assert {" minus ".join(pair["agents"]) for pair in pairs} < set(drawn.texts)
    assert "n=600: ranger is better?" in drawn.texts
    unsure = [pair["agents"] for pair in pairs if not pair["supported"]]
    assert unsure == [["novice", "scout"], ["pilot", "ranger"], ["pilot", "scout"], ["ranger", "scout"]]
    assert len(drawn.of_class("open", "circle")) == 5, "one is in the legend"


def test_threshold_shows_the_figures_of_the_report(ledger: Path, tmp_path: Path) -> None:
    drawn = Drawn(ledger, tmp_path, "threshold", *SELECTIONS["threshold"])
    chosen, uses = drawn.answer["threshold"], drawn.answer["plots"]["net_benefit"]
    assert uses[80] == chosen
    assert drawn.marks() == pytest.approx([across(0.8, 0, 1)], abs=0.06)
    (curve,) = drawn.points("curve")
    heights = dict(curve)
    assert heights[round(across(0.8, 0, 1), 1)] == pytest.approx(
        520 - 392 * (chosen["net_benefit"] + 0.5) / 1.5, abs=0.06
    )
    (every,) = drawn.points("best")
    assert every[0] == curve[0], "acting above 0 is acting on every decision"


@pytest.mark.parametrize("figure", FIGURES)
def test_a_drawing_is_whole_readable_and_needs_nothing_else(ledger: Path, tmp_path: Path, figure: str) -> None:
    drawn = Drawn(ledger, tmp_path, figure, *SELECTIONS[figure])
    _, _, width, height = map(float, drawn.svg.attrib["viewBox"].split())
    for shape in drawn.svg.iter():
        for name, value in shape.attrib.items():
            if name in ("x", "x1", "x2", "cx"):
                assert 0 <= float(value) <= width
            if name in ("y", "y1", "y2", "cy"):
                assert 0 <= float(value) <= height
        for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", shape.attrib.get("points", "")):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height
    for text in drawn.svg.iter(f"{SVG}text"):
        if "x" in text.attrib and "subject" not in text.attrib.get("class", ""):
            reach = 10 * len("".join(text.itertext()))
            left = float(text.attrib["x"]) - reach * {"start": 0, "middle": 0.5, "end": 1}[text.attrib["text-anchor"]]
            assert left >= -1, text.text
            assert left + reach <= width + 40, text.text
    source = (tmp_path / f"{figure}.svg").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in source
    assert re.findall(r"https?://[^\"']+|@import|url\(|<script|<image|href", source) == ["http://www.w3.org/2000/svg"]
    sizes = [int(size) * 375 / width for size in re.findall(r"(?:font: |font-size: )(\d+)px", source)]
    assert min(sizes) >= 10, "an image scales with its width: 375 px is that of a phone"
    assert f"as of position {drawn.answer['as_of']['position']:,}" in drawn.texts
    assert drawn.svg.find(f"{SVG}title") is not None
    described = drawn.svg.find(f"{SVG}desc")
    assert described is not None
    assert (described.text or "").endswith(DRAWN[figure].reading)


@pytest.mark.slow
def test_a_server_gives_the_same_drawings(ledger: Path, tmp_path: Path) -> None:
    for figure in FIGURES:
        Drawn(ledger, tmp_path, figure, *SELECTIONS[figure])
    remote = tmp_path / "remote"
    remote.mkdir()
    with serving(ledger) as url:
        for figure in FIGURES:
            Drawn(ledger, remote, figure, "--url", url, *SELECTIONS[figure])
    for figure in FIGURES:
        assert (remote / f"{figure}.svg").read_bytes() == (tmp_path / f"{figure}.svg").read_bytes(), figure


def test_an_old_position_has_its_own_drawing(ledger: Path, tmp_path: Path) -> None:
    Drawn(ledger, tmp_path, "murphy", "--agent", "novice", "--as-of", "3000")
    drawn = Drawn(ledger, tmp_path, "threshold", "--agent", "novice", "--as-of", "3000")
    assert "as of position 3,000" in drawn.texts


@pytest.mark.parametrize(
    ("figure", "options", "reason"),
    [
        ("evidence", ("--since", "2099-01-01"), "too few for a figure"),
        ("drift", ("--agent", "pilot", "--until", "2025-01-20"), "more reviews are needed to look for drift"),
        ("recalibration", ("--agent", "pilot"), "no map surely lowers the Brier score of new decisions (600 reviews)"),
        ("missing", ("--agent", "pilot"), "every decision with a stated confidence is reviewed"),
        ("groups", ("--group-by", "agent", "--min-decisions", "700"), "no group has enough reviewed decisions"),
        ("comparison", ("--agent", "pilot"), "no two of these agents have 30 reviewed questions in common"),
        ("threshold", ("--agent", "pilot", "--until", "2025-01-02"), "too few for a figure"),
    ],
)
def test_a_figure_that_does_not_exist_says_why(
    ledger: Path, tmp_path: Path, figure: str, options: tuple[str, ...], reason: str
) -> None:
    message = refused(ledger, "calibration", "--plot", tmp_path / "none.svg", "--figure", figure, *options)
    assert reason in " ".join(message.split())
    assert list(tmp_path.iterdir()) == []


def test_undated_decisions_have_no_drift_to_draw(tmp_path: Path) -> None:
    table, folder = tmp_path / "table.csv", tmp_path / "drawn"
    folder.mkdir()
    table.write_text("agent,decision,confidence,outcome\n" + "".join(f"a,d{n},0.8,{n % 5 > 0:d}\n" for n in range(90)))
    done(tmp_path / "t.db", "import", "decisions", table)
    message = refused(tmp_path / "t.db", "calibration", "--plot", folder / "none.svg", "--figure", "drift")
    assert "too few reviews have a time that says when the decision was made" in " ".join(message.split())
    assert list(folder.iterdir()) == []


def test_options_that_contradict_each_other_are_refused(ledger: Path, tmp_path: Path) -> None:
    path = tmp_path / "none.svg"
    assert "Add --plot FILE.svg" in refused(ledger, "calibration", "--figure", "drift")
    assert "is not one of the choices" in refused(ledger, "calibration", "--plot", path, "--figure", "bars")
    assert "is the file of --plot too" in refused(ledger, "calibration", "--plot", path, "--murphy", path)
    assert "is the ledger" in refused(ledger, "calibration", "--plot", ledger, "--figure", "drift")
    refused(
        ledger, "calibration", "--agent", "pilot", "--plot", path, "--figure", "missing", "--murphy", tmp_path / "m"
    )
    assert list(tmp_path.iterdir()) == [], "both or none"


def test_names_are_text_and_nothing_more(tmp_path: Path) -> None:
    hostile = "<b>&'x"
    table = tmp_path / "table.csv"
    table.write_text(
        "agent,decision,category,confidence,outcome\n"
        + "".join(f'a,d{n},"{hostile * (1 + n % 2 * 20)}",0.8,{n % 2}\n' for n in range(40))
    )
    done(tmp_path / "t.db", "import", "decisions", table)
    drawn = Drawn(tmp_path / "t.db", tmp_path, "groups", "--group-by", "category")
    assert hostile in drawn.texts
    assert max(len(text) for text in drawn.texts) < 60

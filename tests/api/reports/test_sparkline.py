"""The small drawing of a trend: valid, titled, within its box, and on one scale with those of other agents."""

import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

from api.reports.plots.sparkline import HEIGHT, WIDTH, SparkScale, describe_trend, draw_sparkline
from tallystick.shapes.history import Window
from tallystick.shapes.parts import Interval

START = datetime(2026, 1, 1, tzinfo=UTC)


def window(number: int, gap: float | None, reviewed: int = 20, width: float = 0.1) -> Window:
    """A window of thirty days that begins so many times ten days after the start."""
    since = START + timedelta(days=10 * number)
    interval = None if gap is None else Interval(gap - width, gap + width)
    shown = 0 if gap is None else reviewed
    return Window(since=since, until=since + timedelta(days=30), reviewed=shown, gap=gap, gap_interval=interval)


def draw(windows: list[Window], *others: list[Window], name: str = "scout") -> ET.Element:
    """The drawing as XML."""
    scale = SparkScale.of([windows, *others])
    assert scale is not None
    return ET.fromstring(draw_sparkline(windows, scale, name, "trend-1"))


def points(drawing: ET.Element, name: str) -> list[list[tuple[float, float]]]:
    """The points of every polyline or polygon."""
    found = []
    for element in drawing.iter(name):
        numbers = [float(each) for each in re.findall(r"-?[0-9.]+", element.attrib["points"])]
        found.append(list(zip(numbers[::2], numbers[1::2], strict=True)))
    return found


def test_a_drawing_has_title_and_figures_in_words() -> None:
    drawing = draw([window(0, 0.1), window(1, -0.3), window(2, 0.05)], name="</svg><script>")
    assert drawing.findtext("title") == "Gap of </svg><script> over time"
    words = drawing.findtext("desc") or ""
    assert words == describe_trend([window(0, 0.1), window(1, -0.3), window(2, 0.05)])
    assert words.startswith("3 windows. First +0.10 (0.00 to +0.20), n=20, 2026-01-01 to 2026-01-31; lowest -0.30")
    assert drawing.attrib["aria-labelledby"] == "trend-1-t"


def test_everything_is_within_the_box() -> None:
    drawing = draw([window(0, 0.9, width=0.5), window(1, -1.0, width=0.5), window(2, 0.0)])
    for x, y in [each for shape in points(drawing, "polyline") + points(drawing, "polygon") for each in shape]:
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT


def test_agents_share_the_scale_of_time_and_gap() -> None:
    late, wide = [window(10, 0.1), window(11, 0.1)], [window(0, 0.5), window(12, 0.5)]
    alone, beside = points(draw(late), "polyline")[0], points(draw(late, wide), "polyline")[0]
    assert alone[0][0] < beside[0][0]
    assert alone[0][1] < beside[0][1] < HEIGHT / 2


def test_few_reviews_do_not_change_the_scale() -> None:
    steady = [window(0, 0.1), window(1, 0.1)]
    assert points(draw(steady), "polyline") == points(draw(steady, [window(0, 1.0, reviewed=3)]), "polyline")


def test_windows_without_reviews_interrupt_the_line() -> None:
    drawing = draw([window(0, 0.1), window(1, 0.1), window(2, None), window(3, 0.1), window(4, 0.1), window(5, None)])
    assert [len(line) for line in points(drawing, "polyline")] == [2, 2]


def test_one_window_is_a_dot_with_its_interval() -> None:
    drawing = draw([window(0, 0.1)])
    assert [element.attrib["class"] for element in drawing.iter("line")] == ["zero", "range"]
    assert (drawing.findtext("desc") or "").startswith("One window: +0.10")


def test_a_trend_without_reviews_has_no_scale() -> None:
    assert SparkScale.of([[window(0, None)], []]) is None

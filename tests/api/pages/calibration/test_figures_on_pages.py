"""The numbers on the calibration pages are those of `GET /calibration` for the same query."""

import httpx
import pytest

from api.http.pages.calibration.parts import PARTS
from api.reports.plots.figures import FIGURES
from tests.api.pages.page_requests import read_json, read_page

PAGE = "/ui/calibration"

SELECTIONS: tuple[dict[str, str], ...] = (
    {},
    {"agent": "novice"},
    {"agent": "scout", "category": "operations"},
    {"agent": "novice", "as_of": "3000"},
    {"model": "orion"},
    {"since": "2025-03-01", "until": "2025-09-30", "min_decisions": "20"},
)


def figure(value: float | None, sign: str = "") -> str:
    """Three decimals, and no sign of a zero."""
    if value is None:
        return "-"
    return f"{value:{sign}.3f}" if round(value, 3) else "0.000"


def interval(ends: list[float] | None, sign: str = "") -> str:
    return "-" if ends is None else f"{figure(ends[0], sign)} to {figure(ends[1], sign)}"


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_summary(agents: httpx.Client, selection: dict[str, str]) -> None:
    page = read_page(agents, PAGE, **selection)
    answer = read_json(agents, "/calibration", **selection, detail="curves")
    assert read_json(agents, page.links["JSON"]) == answer
    overall = answer["overall"]
    assert page.cards["reviewed decisions"].split()[2] == f"{overall['reviewed']:,}"
    assert figure(overall["mean_confidence"]) in page.cards["stated"]
    for title, value, ends, sign in (
        ("successful", "accuracy", "accuracy_interval", ""),
        ("gap", "gap", "gap_interval", "+"),
    ):
        assert page.cards[title].endswith(f"{figure(overall[value], sign)} {interval(overall[ends], sign)}")
    corp = overall["corp"]
    brier = page.text.partition("Brier score " + figure(overall["brier_score"]) + " =")[2]
    assert [figure(corp[part]) in brier[:400] for part in ("miscalibration", "discrimination", "uncertainty")] == [
        True
    ] * 3
    buckets = next(rows for rows in page.tables if rows[0][1] == "n")[1:]
    assert buckets == [
        [
            row["bucket"],
            f"{row['decisions']:,}",
            figure(row["mean_confidence"]),
            figure(row["success_rate"]),
            interval(row["success_rate_interval"]),
            figure(row["stated_gap"], "+"),
            interval(row["stated_gap_interval"], "+"),
            row["interpretation"].replace("_", " ") + ("" if row["supported"] else "?"),
        ]
        for row in answer["buckets"]
    ]
    assert f"gap {figure(overall['gap'], '+')} ({interval(overall['gap_interval'], '+')})" in page.text
    assert f"If you look again and again: {interval(overall['gap_sequence'], '+')}." in page.text
    assert " to 1" in page.text or overall["surely_off"]
    assert f"position {answer['as_of']['position']:,} of" in page.text


@pytest.mark.parametrize("by", ["agent", "category", "stakes", "model", "confidence_bucket", "project"])
def test_groups(agents: httpx.Client, by: str) -> None:
    page = read_page(agents, PAGE, part="groups", group_by=by)
    answer = read_json(agents, page.links["JSON"])
    assert answer["groups"] == read_json(agents, "/calibration", group_by=by)["groups"]
    shown = [rows for rows in page.tables if rows[0][0] == by.replace("_", " ")]
    if not answer["groups"]:
        assert shown == []
        assert f"No decision has a {by}" in page.text
        return
    assert [row[:7] for row in shown[0][1:]] == [
        [
            "not stated" if group["group"] is None else group["group"],
            f"{group['reviewed']:,}",
            f"{group['total']:,}",
            figure(group["accuracy"]),
            figure(group["mean_confidence"]),
            figure(group["gap"], "+"),
            interval(group["gap_interval"], "+"),
        ]
        for group in answer["groups"]
    ]
    if by in ("agent", "category", "model"):
        name = answer["groups"][0]["group"]
        assert page.links[name] == f"{PAGE}?{by}={name}"


def test_groups_by_page(agents: httpx.Client) -> None:
    first = read_page(agents, PAGE, part="groups", limit=2)
    assert first.links["Next"] == f"{PAGE}?part=groups&limit=2&offset=2"
    second = read_page(agents, first.links["Next"])
    assert "3 to 3 of 3" in second.text
    assert [row[0] for table in (first, second) for row in table.tables[0][1:]] == [
        "architecture",
        "operations",
        "tooling",
    ]
    assert second.links["Previous"] == f"{PAGE}?part=groups&limit=2"


def test_trend_and_evidence(agents: httpx.Client) -> None:
    page = read_page(agents, PAGE, part="time", agent="scout", trend_days=60, as_of=5000)
    answer = read_json(agents, page.links["JSON"])
    asked = {"agent": "scout", "trend_days": 60, "as_of": 5000, "include": "trend,plots"}
    assert answer == read_json(agents, "/calibration", **asked)
    assert [[row[index] for index in (0, 2, 5, 6)] for row in page.table("from")] == [
        [
            each["since"][:10],
            str(each["reviewed"]),
            figure(each.get("gap"), "+"),
            interval(each.get("gap_interval"), "+"),
        ]
        for each in answer["trend"]["windows"]
    ]
    points = answer["plots"]["evidence"]
    assert [[row[index] for index in (0, 3, 4, 5)] for row in page.table("reviews")] == [
        [
            str(point["reviews"]),
            figure(point["gap"], "+"),
            interval(point["gap_interval"], "+"),
            interval(point["gap_sequence"], "+"),
        ]
        for point in points
    ]


def test_drift(agents: httpx.Client) -> None:
    page = read_page(agents, PAGE, part="drift", agent="scout")
    change = read_json(agents, page.links["JSON"])["drift"]["change"]
    days = f"{change['earliest'][:10]} and {change['latest'][:10]}"
    assert f"The change was between {days} (90% interval)" in page.text
    assert "The nearest change of a model was within the interval of the date: scout from lyra-1 to lyra-2" in page.text
    before, after = page.table("decisions")[1:3]
    assert before[1:4] == [
        str(change["reviewed_before"]),
        figure(change["gap_before"], "+"),
        interval(change["gap_before_interval"], "+"),
    ]
    assert after[1:4] == [
        str(change["reviewed_after"]),
        figure(change["gap_after"], "+"),
        interval(change["gap_after_interval"], "+"),
    ]


def test_thresholds(agents: httpx.Client) -> None:
    page = read_page(agents, PAGE, part="threshold", agent="pilot", threshold=0.8)
    answer = read_json(agents, page.links["JSON"])
    chosen = answer["threshold"]
    assert f"{chosen['acted_on']} of {chosen['reviewed']} reviewed decisions" in page.text
    assert f"AUC {figure(answer['auc']['auc'])} ({interval(answer['auc']['interval'])})" in page.text
    benefit, murphy = (rows[1:] for rows in page.tables)
    assert [row[5:7] for row in benefit] == [
        [figure(use["net_benefit"], "+"), interval(use["net_benefit_interval"], "+")]
        for use in answer["plots"]["net_benefit"]
    ]
    assert [row[1:4] + row[6:] for row in murphy] == [
        [
            str(answer["overall"]["reviewed"]),
            f"{point['stated']:.4f}",
            "{:.4f} to {:.4f}".format(*point["stated_interval"]),
            f"{point['difference']:+.4f}",
            "{:+.4f} to {:+.4f}".format(*point["difference_interval"]),
        ]
        for point in answer["murphy"]
    ]


def test_recalibration(agents: httpx.Client) -> None:
    page = read_page(agents, PAGE, part="recalibration", agent="novice")
    found = read_json(agents, page.links["JSON"])["recalibration"]
    assert [[row[1], row[2], row[3], row[4]] for row in page.tables[0][1:]] == [
        [str(row["reviewed"]), figure(row["meant"]), interval(row["interval"]), figure(row["mapped"])]
        for row in found["meanings"]
    ]


def test_missing_reviews(agents: httpx.Client) -> None:
    page = read_page(agents, PAGE, part="missing", agent="scout")
    answer = read_json(agents, page.links["JSON"])
    found = answer["missing_reviews"]
    low, high = found["gap_bounds"]
    assert f"{found['unreviewed']} of {found['total']} decisions" in page.text
    assert f"between {figure(low, '+')} and {figure(high, '+')}." in page.text
    weighted = found["weighted_gap"]
    assert page.table("decisions")[1][3:] == [figure(weighted["gap"], "+"), interval(weighted["interval"], "+")]
    assert [row[0] for row in page.table("by")] == ["confidence", "category", "age"]


@pytest.mark.parametrize("by", ["agent", "model"])
def test_comparison(agents: httpx.Client, by: str) -> None:
    page = read_page(agents, f"{PAGE}/compare", group_by=by)
    answer = read_json(agents, page.links["JSON"])
    pairs = answer["comparison"]["pairs"]
    assert [[row[index] for index in (0, 1, 3, 4)] for row in page.table("pair")] == [
        [
            " minus ".join(pair["agents"]),
            str(pair["shared"]),
            figure(pair.get("mean_difference"), "+"),
            interval(pair.get("interval"), "+"),
        ]
        for pair in pairs
    ]
    assert [row[0] for row in page.table(by)] == [group["group"] for group in answer["groups"]]


@pytest.mark.parametrize("name", PARTS)
def test_every_drawing_has_a_table_and_a_description(agents: httpx.Client, name: str) -> None:
    path = f"{PAGE}/compare" if name == "compare" else f"{PAGE}?part={name}&agent=scout"
    page = read_page(agents, path)
    figures = PARTS[name].figures
    assert set(figures) <= set(page.ids)
    assert page.texts.count("Numbers") == page.texts.count("SVG") == len(figures)
    for figure_name in figures:
        assert page.texts.count(FIGURES[figure_name].reading) == 1, "below the title"
        assert any(text.endswith(FIGURES[figure_name].reading) for text in page.descriptions), "in the drawing"

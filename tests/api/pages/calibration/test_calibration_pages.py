"""The calibration pages: forms, errors, missing figures, drawings as files, the replay, small and hostile ledgers."""

import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from api.http.pages.calibration.parts import PARTS
from api.reports.plots.figures import FIGURES
from api.reports.plots.svg import STYLE
from events.limits import LABEL_CHARS_MAX
from tests.api.cli.command import done
from tests.api.http.posts import post, recorded, reviewed
from tests.api.pages.html_page import HtmlPage
from tests.api.pages.page_requests import read_json, read_page
from tests.support.server import serving

PAGE = "/ui/calibration"


def address(part: str) -> str:
    return f"{PAGE}/compare" if part == "compare" else f"{PAGE}?part={part}"


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_every_part_links_to_every_other_and_keeps_the_selection(agents: httpx.Client, part: str) -> None:
    path, _, query = address(part).partition("?")
    page = read_page(agents, f"{path}?{query}{'&' if query else ''}agent=scout&as_of=6000&offset=0")
    for label in (one.label for one in PARTS.values()):
        assert "agent=scout&as_of=6000" in page.links[label]
        assert "offset" not in page.links[label]
        assert agents.get(page.links[label]).status_code == 200


def test_a_form_may_send_controls_without_a_value(agents: httpx.Client) -> None:
    page = read_page(agents, f"{PAGE}?agent=novice&category=&stakes=&window=&since=&as_of=&min_decisions=")
    assert page.controls["agent"]["value"] == "novice"
    assert page.links["JSON"] == "/calibration?agent=novice&detail=curves"


def test_the_form_keeps_what_it_does_not_show(agents: httpx.Client) -> None:
    page = read_page(agents, f"{PAGE}?part=groups&group_by=agent&category=tooling")
    assert set(page.hidden) == {("part", "groups"), ("group_by", "agent"), ("category", "tooling")}


@pytest.mark.parametrize(
    "query",
    ["stakes=huge", "as_of=99999999", "since=2026-01-02&until=2026-01-01", "min_decisions=0", "threshold=1", "agnet=x"],
)
def test_a_wrong_value_is_the_same_error_as_of_the_json_route(agents: httpx.Client, query: str) -> None:
    page, problem = agents.get(f"{PAGE}?{query}"), agents.get(f"/calibration?{query}")
    assert page.status_code == problem.status_code
    shown = HtmlPage(page.text).text
    assert problem.json()["detail"].partition(": ")[0] in shown


def test_a_part_without_rows_takes_no_notice_of_what_selects_rows(agents: httpx.Client) -> None:
    page = read_page(agents, f"{PAGE}?group_by=agent&limit=7&offset=2")
    assert page.links["JSON"] == "/calibration?detail=curves"
    assert agents.get(f"{PAGE}?group_by=nothing").status_code == agents.get("/calibration?group_by=nothing").status_code
    assert agents.get(f"{PAGE}?part=groups&limit=61").status_code != 200
    assert agents.get(f"{PAGE}/compare?group_by=category").status_code != 200


def test_an_unknown_part_is_an_error(agents: httpx.Client) -> None:
    answer = agents.get(f"{PAGE}?part=everything")
    assert answer.status_code == agents.get("/calibration?stakes=huge").status_code
    assert "is not one of the choices" in answer.text


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("part=recalibration&agent=pilot", "No map surely lowers the Brier score of new decisions (600 reviews)."),
        ("part=missing&agent=pilot", "Every decision with a stated confidence is reviewed."),
        ("part=drift&agent=pilot&until=2025-01-20", "27 more reviews are needed to look for drift."),
        ("part=threshold&agent=pilot&until=2025-01-02", "reviewed decisions with a stated confidence are too few"),
        ("part=groups&min_decisions=900", "No group has enough reviewed decisions."),
        ("agent=nobody", "No decision has the agent nobody"),
    ],
)
def test_what_is_missing_is_said(agents: httpx.Client, query: str, sentence: str) -> None:
    page = read_page(agents, f"{PAGE}?{query}")
    assert sentence in page.text
    assert "--" not in page.text, "the command line's options mean nothing here"


@pytest.mark.parametrize("name", FIGURES)
def test_a_drawing_is_a_file_with_its_own_style(
    agents: httpx.Client, simulated: Path, tmp_path: Path, name: str
) -> None:
    options, query = ("--agent", "scout"), "agent=scout"
    if name == "comparison":
        options, query = ("--group-by", "agent"), ""
    elif name == "groups":
        options, query = ("--group-by", "category"), "group_by=category"
    done(simulated, "calibration", "--plot", tmp_path / "drawn.svg", "--figure", name, *options)
    answer = agents.get(f"{PAGE}/figures/{name}.svg?{query}")
    assert answer.headers["content-type"] == "image/svg+xml"
    width, height = re.findall(r' (?:width|height)="([0-9]+)"', answer.text)[:2]
    assert f'viewBox="0 0 {width} {height}"' in answer.text
    unsized = answer.text.replace(f' width="{width}" height="{height}"', "", 1)
    assert unsized == (tmp_path / "drawn.svg").read_text(encoding="utf-8"), "the command line draws the same"
    digest = b64encode(sha256(STYLE.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in answer.headers["content-security-policy"]


def test_the_command_line_has_every_figure_of_the_pages(simulated: Path) -> None:
    shown = {figure for part in PARTS.values() for figure in part.figures}
    assert shown == set(FIGURES)
    text = done(simulated, "calibration", "--help").text
    assert not {figure for figure in shown if figure not in text}


@pytest.mark.slow
def test_a_page_links_to_the_files_of_its_drawings(agents: httpx.Client) -> None:
    page = read_page(agents, f"{PAGE}?part=drift&agent=scout&as_of=7000")
    assert page.links["SVG"] == f"{PAGE}/figures/drift.svg?part=drift&agent=scout&as_of=7000"
    assert "as of position 7,000" in agents.get(page.links["SVG"]).text


@pytest.mark.parametrize("path", ["nothing.svg", "drift.svg?agent=pilot&until=2025-01-20", "drift.svg?part=summary"])
def test_a_drawing_that_does_not_exist_is_not_found(agents: httpx.Client, path: str) -> None:
    assert agents.get(f"{PAGE}/figures/{path}").status_code == 404


def test_the_past_is_replayed_by_a_slider_and_links(agents: httpx.Client) -> None:
    head = read_json(agents, "/status")["head"]["position"]
    now = read_page(agents, f"{PAGE}?agent=novice")
    slider = now.controls["as_of"] if now.controls["as_of"]["type"] == "range" else {}
    page = read_page(agents, f"{PAGE}?agent=novice&as_of=3000")
    slider = next(each for each in (page.controls["as_of"], slider) if each.get("type") == "range")
    assert int(slider["max"]) == head
    assert (head - int(slider["min"])) % int(slider["step"]) == 0, "the head can be reached"
    answer = read_json(agents, "/calibration", agent="novice", as_of=3000)
    assert answer["as_of"]["time"][:10] in page.text
    step = head // 20
    assert page.links["Earlier"] == f"{PAGE}?agent=novice&as_of={3000 - step}"
    assert page.links["Later"] == f"{PAGE}?agent=novice&as_of={3000 + step}"
    assert page.links["back to now"] == f"{PAGE}?agent=novice"
    assert "Later" not in now.links
    assert "Earlier" not in read_page(agents, f"{PAGE}?as_of=0").links
    assert read_page(agents, f"{PAGE}?as_of={head - 1}").links["Later"] == PAGE
    assert "No decision is selected." in read_page(agents, f"{PAGE}?as_of=0").text


def test_a_day_is_a_position_of_the_slider(agents: httpx.Client) -> None:
    page = read_page(agents, f"{PAGE}?as_of=2999-01-01".replace("2999-01-01", "2020-01-01"))
    assert "position 0 of" in page.text


def test_the_past_is_not_live(agents: httpx.Client) -> None:
    assert "data-live" in agents.get(PAGE).text
    assert "data-live" not in agents.get(f"{PAGE}?as_of=3000").text


@pytest.mark.parametrize("part", PARTS)
def test_an_empty_ledger(tmp_path: Path, part: str) -> None:
    with serving(tmp_path / "t.db") as url, httpx.Client(base_url=url, timeout=None) as client:
        page = read_page(client, address(part))
        assert "No decision is selected." in page.text
        assert "position 0 of 0, before the first event" in page.text
        post(client, [recorded("d1", decision="go"), reviewed("d1")])
        page = read_page(client, address(part))
        assert "position 2 of 2" in page.text
        assert read_page(client, f"{address(part)}{'&' if '?' in address(part) else '?'}min_decisions=1").text


@pytest.mark.parametrize("part", PARTS)
def test_one_agent_with_one_bucket(one_bucket: httpx.Client, part: str) -> None:
    page = read_page(one_bucket, address(part))
    if part == "summary":
        assert page.cards["reviewed decisions"].split()[2] == "40"
        assert [row[:2] for row in page.tables[0][1:]] == [["0.7-0.9", "40"]]
    assert all(one_bucket.get(link).status_code == 200 for text, link in page.links.items() if text == "SVG")


HOSTILE = "<script>alert(1)</script>&\"'\u202e\u2066"


@pytest.mark.parametrize("part", PARTS)
def test_hostile_names_are_text(one_bucket: httpx.Client, part: str) -> None:
    path, _, query = address(part).partition("?")
    page = one_bucket.get(f"{path}?{urlencode({'category': HOSTILE})}&{query}")
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert not set("\u202e\u2066") & set(page.text)
    HtmlPage(page.text)
    groups = one_bucket.get(f"{PAGE}?part=groups&group_by=category").text
    assert "&lt;script&gt;" in groups
    assert "<script>alert" not in groups
    assert not set("\u202e\u2066") & set(groups)
    link = HtmlPage(groups).links["<script>alert(1)</script>&\"'[U+202E][U+2066]"]
    assert "40 decisions" in read_page(one_bucket, link).cards["reviewed decisions"]


@pytest.mark.slow
def test_sixty_groups_with_the_longest_names_are_a_small_page(tmp_path: Path) -> None:
    with serving(tmp_path / "t.db") as url, httpx.Client(base_url=url, timeout=None) as client:
        names = [f"{number:03}{'&' * (LABEL_CHARS_MAX - 3)}" for number in range(120)]
        for number, name in enumerate(names):
            events = [recorded(f"d{number}-{each}", category=name) for each in range(5)]
            post(client, events)
            post(client, [reviewed(f"d{number}-{each}") for each in range(5)])
        page = read_page(client, f"{PAGE}?part=groups&group_by=category&limit=60")
        assert "1 to 60 of 120" in page.text
        assert client.get(page.links["Next"]).status_code == 200


@pytest.fixture(scope="module")
def one_bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with serving(tmp_path_factory.mktemp("small") / "t.db") as url, httpx.Client(base_url=url, timeout=None) as client:
        names = {"category": HOSTILE, "project": HOSTILE, "confidence": 0.8}
        for number in range(40):
            post(
                client,
                [recorded(f"d{number}", **names), reviewed(f"d{number}", "success" if number % 4 else "failure")],
            )
        yield client

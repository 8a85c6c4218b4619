"""Every drawing of calibration figures has n, intervals, a title, a description, and a table with the same."""

import re
from xml.etree import ElementTree as ET

import httpx
import pytest

from api.http.pages.calibration.parts import PARTS, address_of_part
from api.reports.plots.figures import FIGURES
from tests.api.pages.page_requests import read_page

SVG = "{http://www.w3.org/2000/svg}"
AGENTS = {"groups": None, "comparison": None, "drift": "scout", "missing": "scout", "trend": "scout"}
"""Decisions that have the figure: of an agent, or of all. Others have it of novice."""

INTERVALS = {"near", "band", "whole", "span", "whisker"}
"""The classes of what is drawn for an interval; a legend has one of each that the drawing has."""

COUNTED = re.compile(r"n=[\d,]+|[\d,]+ (reviews|reviewed|decisions|shared)")
COUNTS = re.compile(r"n|reviewed|reviews|of|shared questions")
OF_INTERVALS = re.compile(r".*interval|for one look|if calibrated")


@pytest.mark.parametrize("name", FIGURES)
def test_n_and_intervals(agents: httpx.Client, name: str) -> None:
    part = next(part for part, shown in PARTS.items() if name in shown.figures)
    agent = AGENTS.get(name, "novice")
    path, query = address_of_part(part, {} if agent is None else {"agent": agent})
    page = read_page(agents, path, **query)
    at = page.ids.index(name)
    assert page.ids[at : at + 2] == [name, f"{name}-t"], "the figure, and in it the title that names it"

    address = next(link for link in page.addresses if f"/figures/{name}.svg" in link)
    drawing = ET.fromstring(agents.get(address).raise_for_status().text)
    title, description = (drawing.findtext(f"{SVG}{tag}") or "" for tag in ("title", "desc"))
    assert title
    assert FIGURES[name].reading in description
    texts = ["".join(each.itertext()) for each in drawing.iter(f"{SVG}text")]
    assert any(COUNTED.search(text) for text in texts), texts
    drawn = [each.get("class") for each in drawing.iter()]
    assert any(drawn.count(one) > 1 for one in INTERVALS), "in the legend, and in the area"
    assert any(re.search("interval|band", text) for text in texts)

    columns, *rows = page.labelled[f"Numbers of {FIGURES[name].title}"]
    assert rows
    assert {len(row) for row in rows} == {len(columns)}
    (counts, *_), (intervals, *_) = (
        [place for place, column in enumerate(columns) if pattern.fullmatch(column)]
        for pattern in (COUNTS, OF_INTERVALS)
    )
    assert any(re.fullmatch(r"[\d,]+", row[counts]) for row in rows)
    assert any(re.fullmatch(r"[-+.\d]+ to [-+.\d]+", row[intervals]) for row in rows)

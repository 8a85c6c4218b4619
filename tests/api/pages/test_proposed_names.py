"""The names that filters propose while one types: those of the most decisions, of every kind, at most 100."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.http.posted_evaluations import finished, scored, started
from tests.api.http.posts import Json, recorded
from tests.api.pages.html_page import HtmlPage
from tests.api.pages.shown_ledgers import append
from tests.support.server import serving

RARE = 150
COMMON = {
    "agent": "a-common",
    "category": "z-common",
    "project": "shop",
    "feature": "cart",
    "tag": "db",
    "model": "m-1",
}
FIELDS = ("agent", "category", "project", "feature")
PAGES = {
    "/ui/decisions": (*FIELDS, "model", "tag"),
    "/ui/reviews": FIELDS,
    "/ui/calibration": (*FIELDS, "model"),
    "/ui/calibration/compare": (*FIELDS, "model"),
    "/ui/evaluations": ("suite", "agent"),
    "/ui/evaluations/scoreboard": ("suite", "agent"),
    "/ui/evaluations/scenarios/dns": ("suite", "agent"),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server of decisions: a category of ten of them, 150 of one each, and one whose name cannot be shown."""
    ledger: Path = tmp_path_factory.mktemp("names") / "ledger.db"
    with serving(ledger) as url, httpx.Client(base_url=url, timeout=None) as connected:
        run = started("base", "incidents", agent="triage"), scored("base", "dns", 80.0), finished("base")
        append(connected, [*decisions(), *run])
        yield connected


def decisions() -> Iterator[Json]:
    named = {key: COMMON[key] for key in ("category", "project", "feature", "model")}
    for number in range(10):
        data = recorded(f"common-{number}", tags=["db", f"t{number}"], **named)
        yield {**data, "type": "decision.recorded.v2", "source": "/agents/a-common"}
    for number in range(RARE):
        yield recorded(f"rare-{number}", category=f"c{number:03}")
    yield recorded("bidi", category="\u202egnp", tags=["w" * 60])


@pytest.mark.parametrize("address", PAGES)
def test_every_filter_of_names_proposes_them(client: httpx.Client, address: str) -> None:
    proposed = names_of(client.get(address).raise_for_status().text)
    assert proposed.keys() == set(PAGES[address])
    if "evaluations" in address:
        assert proposed == {"suite": ["incidents"], "agent": ["triage"]}
        return
    for parameter, names in proposed.items():
        assert COMMON[parameter] in names
        assert len(names) <= 100
        assert names == sorted(names)
    assert len(proposed["category"]) == 100, "the common one, and the first of the others"
    assert "c098" in proposed["category"]
    assert "c099" not in proposed["category"]


def names_of(html: str) -> dict[str, list[str]]:
    """The options of the list of each field that has one."""
    page, found = HtmlPage(html), dict[str, list[str]]()
    lists = {given["id"] for tag, given in page.elements if tag == "datalist"}
    fields = {given["list"]: given["name"] for tag, given in page.elements if tag == "input" and "list" in given}
    assert fields.keys() == lists
    current = ""
    for tag, given in page.elements:
        if tag == "datalist":
            current = fields[given["id"]]
            found[current] = []
        elif tag == "option" and current:
            found[current].append(given["value"])
        elif tag != "option":
            current = ""
    return found

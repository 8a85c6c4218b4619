"""The addresses that `make bench` measures: every page has some, so a new page cannot be forgotten."""

import pytest

from api.http.pages import page_table
from benchmarks import page_addresses
from benchmarks.page_addresses import ADDRESSES, PAST, addresses

GET_PATHS = [row.path for row in page_table.PAGES if row.method == "GET"]
PLACES = dict.fromkeys(("decision", "deep", "middle", "deep_runs", "deep_evaluations", "related", "last_evaluation"), 7)


def test_every_page_is_measured() -> None:
    assert ADDRESSES.keys() == set(GET_PATHS)
    found = list(addresses(PLACES))
    assert list(dict.fromkeys(path for path, _ in found)) == GET_PATHS
    for path, address in found:
        assert address.startswith(path.partition("{")[0].rstrip("/")), path
        assert not {"{", "}"} & set(address.replace(PAST, ""))


def test_a_page_without_an_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    row = page_table.PAGES[0]._replace(path="/ui/new")
    monkeypatch.setattr(page_addresses, "PAGES", (*page_table.PAGES, row))
    with pytest.raises(SystemExit, match="No address of /ui/new is measured"):
        list(addresses(PLACES))

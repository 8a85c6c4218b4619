"""Pages of evaluations with hostile and long texts, and of large runs."""

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.api.http.posted_evaluations import FIXTURE, component, failed, finished, fresh, scored, started, stating
from tests.api.http.posts import get, post
from tests.api.pages.page_requests import read_page
from tests.api.reports.hostile import TEXTS
from tests.support.server import serving

HARMLESS = "harmless"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A ledger of its own, in which something harmless is said already."""
    ledger = tmp_path_factory.mktemp("hostile") / "ledger.db"
    with serving(ledger) as url, httpx.Client(base_url=url, timeout=None) as client:
        record_text(client, HARMLESS, "x")
        yield client


def record_text(client: httpx.Client, name: str, text: str) -> tuple[str, str]:
    """Two runs that say a text wherever one may be said."""
    runs = (f"{name}-1", f"{name}-2")
    about = {"scenario_id": name, "name": text, "family": text, "failure_type": text, "fixture_digest": FIXTURE}
    post(client, {"type": "eval.scenario_captured.v1", "data": about})
    for number, run in enumerate(runs):
        parts = [component(("root_cause.patterns[0]", text, number == 0))]
        if number == 0:
            parts[0]["findings"][0] |= {"where": "rca.root_cause", "start": 0, "end": len(text), "text": text[:200]}
        post(client, [
            started(run, text, agent=text, agent_version=text, selection=text, meta={"key": text}),
            stating(scored(run, name, 90 - 80 * number, components=parts, analysis=text), model=text),
            failed(run, name, attempt=2, failure="crash", detail=text, said=text),
            finished(run, reason=text),
        ])  # fmt: skip
    return runs


def shapes(client: httpx.Client, name: str, runs: tuple[str, str]) -> list[list[tuple[str, list[str]]]]:
    addresses = [
        f"/ui/evaluations/{runs[1]}",
        f"/ui/evaluations/{runs[0]}/scenarios/{name}",
        f"/ui/evaluations/scenarios/{name}",
        f"/ui/evaluations/compare?baseline={runs[0]}&candidate={runs[1]}",
    ]
    return [
        [(tag, list(given)) for tag, given in read_page(client, address).elements if tag != "option"]
        for address in addresses
    ]


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_hostile_texts_change_nothing_but_texts(hostile: httpx.Client, number: int) -> None:
    text = TEXTS[number].encode("utf-8", "replace").decode().replace("\x00", "\x01")
    text = text if text.strip() else f"({text})"
    name = f"text-{number}"
    runs = record_text(hostile, name, text)
    assert shapes(hostile, name, runs) == shapes(hostile, HARMLESS, (f"{HARMLESS}-1", f"{HARMLESS}-2"))
    for address in ("/ui/evaluations", f"/ui/evaluations/{runs[1]}", f"/ui/evaluations/{runs[1]}/scenarios/{name}"):
        answer = hostile.get(address).text
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]", answer)
    board = hostile.get("/ui/evaluations/scoreboard", params={"suite": text.strip() or HARMLESS})
    assert board.status_code == 200


def test_long_answers_are_cut(client: httpx.Client) -> None:
    run, suite = fresh(), fresh("suite")
    findings = [(f"root_cause.patterns[{number}]", f"<{number}>" + "&" * 200, False) for number in range(200)]
    events = [started(run, suite, attempts=10)]
    for attempt in range(1, 11):
        events.append(scored(run, "s", 10, attempt=attempt, components=[component(*findings[:100])]))
        events.append(failed(run, "t", attempt=attempt, failure="crash", said=f"{attempt}" + "<" * 50_000))
        events.append(scored(run, "u", 10, attempt=attempt, analysis='{"rca":{"root_cause":"' + "&" * 60_000 + '"}}'))
    post(client, events)
    for scenario in "stu":
        read_page(client, f"/ui/evaluations/{run}/scenarios/{scenario}")
    assert "left out here" in read_page(client, f"/ui/evaluations/{run}/scenarios/s").text
    read_page(client, f"/ui/evaluations/{run}")


@pytest.mark.slow
def test_a_large_run_is_shown_in_pages(client: httpx.Client) -> None:
    suite, runs = fresh("suite"), (fresh(), fresh())
    for run in runs:
        post(client, started(run, suite, agent="rca", scenarios=328, attempts=10))
        for first in range(0, 328, 41):
            post(client, [
                scored(run, f"s{number}", 40 + (number * attempt * (2 if run == runs[0] else 3)) % 60, attempt=attempt,
                       components=[component(("root_cause.patterns[0]", "limit", attempt > 4))])
                for number in range(first, first + 41) for attempt in range(1, 11)
            ])  # fmt: skip
        post(client, finished(run))
    page = read_page(client, f"/ui/evaluations/{runs[1]}")
    assert "1 to 100 of 328" in page.text
    assert "301 to 328 of 328" in read_page(client, f"/ui/evaluations/{runs[1]}", offset=300).text
    compared = read_page(client, "/ui/evaluations/compare", baseline=runs[0], candidate=runs[1])
    said = get(client, "/evaluations/compare", baseline=runs[0], candidate=runs[1])
    assert f"Improved: more pass, or more points: {len(said['improved'])}" in compared.text
    listed = read_page(client, "/ui/evaluations/compare", baseline=runs[0], candidate=runs[1], list="improved")
    assert f"1 to 100 of {len(said['improved'])}" in listed.text

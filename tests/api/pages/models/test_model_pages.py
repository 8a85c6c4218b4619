"""The pages of the inventory and of probe scores show the figures of the JSON routes."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.http.discovery_agent import PROBE, REFUSED, model
from tests.api.http.posts import fresh, get, post
from tests.api.pages.models.driven_runs import drive
from tests.api.pages.page_requests import read_page
from tests.support.server import serving

TIMES = "\N{MULTIPLICATION SIGN}"


def number(value: int | None) -> str:
    return f"{value:,}"


def score(value: float | None, decimals: int = 3) -> str:
    return "none" if value is None else f"{value:.{decimals}f}"


def interval(ends: list[float] | None) -> str:
    return "none" if ends is None else f"{ends[0]:.3f} to {ends[1]:.3f}"


def names(counts: dict[str, int], most: int) -> str:
    shown = ", ".join(f"{name} {TIMES}{n}" for name, n in list(counts.items())[:most])
    return shown if len(counts) <= most else f"{shown} and {len(counts) - most} more"


def test_the_inventory_has_the_figures_of_the_json(client: httpx.Client) -> None:
    mark = fresh()
    drive(client, model(f"alpha-{mark}", reported_model=f"beta-{mark}"), model(f"beta-{mark}"), router=f"r-{mark}")
    drive(client, model(f"alpha-{mark}", reported_model=f"alpha-{mark}"), {"response": '{"model_name": "Cursor"}\n\nx'})
    registered = {"key": f"beta-{mark}", "provider": "Lab", "version": "2026-11"}
    post(client, {"type": "model.registered.v2", "data": registered})
    found = get(client, "/inventory", search=mark, limit=50)
    page = read_page(client, "/ui/models", search=mark)
    rows = page.rows("Models")
    assert len(rows) == len(found["models"]) == found["totals"]["models"] == 2
    for row, of in zip(rows, found["models"], strict=True):
        assert row[0].startswith(of["key"])
        assert ("registered" in row[0]) == of["known"]
        assert (f"contradicted {TIMES}{of['contradicted']}" in row[0]) == bool(of["contradicted"])
        runs = f"{of['runs']} run" + ("" if of["runs"] == 1 else "s")
        assert row[1] == f"{number(of['sightings'])} in {runs}"
        assert row[2:4] == [names(of["claims"], 2), names(of["reported"], 2)]
        assert row[5] == f"{of['first_seen'][:16]} {of['last_seen'][:16]}".replace("T", " ")
    (conflict,) = found["contradictions"]
    ((claimed, reported, sightings, where),) = page.rows("Claims that the endpoint contradicts")
    assert claimed.startswith(conflict["claimed"])
    assert reported.startswith(conflict["reported"])
    assert sightings == number(conflict["sightings"])
    assert where == f"{conflict['where'][0]['run_id']}, attempt {conflict['where'][0]['attempt']}"
    address = next(link for link in page.addresses if link.startswith("/inventory"))
    assert client.get(address).json() == found
    alone = read_page(client, "/ui/models", router=f"r-{mark}", sort="name")
    assert [row[0].split()[0] for row in alone.rows("Models")] == [f"alpha-{mark}", f"beta-{mark}"]
    assert [row[1] for row in alone.rows("Models")] == ["1 in 1 run"] * 2
    assert len(read_page(client, "/ui/models", search=mark, known="true").rows("Models")) == 1
    assert "version 2026-11 by Lab" in read_page(client, "/ui/models", model=f"beta-{mark}").text


def test_one_model_with_what_supports_it_and_its_figures(client: httpx.Client) -> None:
    mark = fresh()
    for n in range(3):
        drive(client, model(f"gamma-{mark}", work=f"L07 and L09, tried {n} times."), REFUSED)
    found = get(client, "/inventory", model=f"GAMMA-{mark}")
    (of,) = found["models"]
    page = read_page(client, "/ui/models", model=f"GAMMA-{mark}")
    assert f"Sightings {of['sightings']} in {of['runs']} runs" in page.text
    assert "not registered" in page.text
    ((what, totals, figure, mean, ends),) = page.rows("Figures")
    (probe,) = found["figures"]["probes"]
    answered = f"{probe['answered']} of {probe['counted']} answered"
    assert (what.split()[:2], totals, figure) == (["Probe", PROBE], answered, "mean score")
    assert (mean, ends or "none") == (score(probe["counted_mean"]), interval(probe["counted_interval"]))
    assert [link for link in page.addresses if link.startswith("/ui/models/runs/")] == [
        f"/ui/models/runs/{run['run_id']}" for run in of["by_run"]
    ]
    host = read_page(client, "/ui/models", model="auto")
    assert "What supports it" not in host.text
    nobody = read_page(client, "/ui/models", model=f"gamma-{mark[:-1]}x")
    assert f"Did you mean gamma-{mark}" in nobody.text


def test_probe_scores_with_intervals_a_verdict_and_a_drawing(client: httpx.Client) -> None:
    probe = f"probe-{fresh()}"
    post(client, [scored(probe, f"model-{n % 3}", n % 3 / 4 + n / 100) for n in range(9)])
    post(client, [scored(probe, "auto", 0.5), scored(probe, "model-3", 0.125)])
    (table,) = get(client, "/probes", probe=probe)["probes"]
    page = read_page(client, "/ui/models/probes", probe=probe)
    rows = page.rows(f"Scores by model: {probe} by s")
    assert len(rows) == len(table["models"]) == 5
    for row, of in zip(rows, table["models"], strict=True):
        assert row[0] == (of["model"] if of["kind"] == "model" else f"{of['model']} (host)")
        assert row[1] == f"{of['answered']} of {of['counted']}"
        assert row[2:4] == [score(of["counted_mean"]), interval(of["counted_interval"])]
        assert row[4:6] == [score(of["min"], 2), score(of["max"], 2)]
        assert row[6] == score(of["counted_percentile"], 0)
    found = table["discrimination"]
    assert f"tells models apart {found['says'][0].upper()}{found['says'][1:]}." in page.text
    assert f"{found['between']:.0%} of the pairs of answers of different models differ" in page.text
    drawn = page.rows(f"Numbers of Mean score by model: {probe} by s")
    assert [(row[0], row[2]) for row in drawn] == [(row[0], row[2]) for row in rows]
    assert client.get(next(link for link in page.addresses if link.startswith("/probes?"))).json()["probes"][0] == {
        **table,
        "rows": 5,
    }
    address = next(link for link in page.addresses if "scores.svg" in link)
    drawing = client.get(address)
    assert drawing.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in drawing.headers["content-security-policy"]
    assert f"n=3: {table['models'][0]['mean']:.2f}" in drawing.text
    assert "model-3" in drawing.text
    assert "<desc>11 total scores by s." in drawing.text
    assert 'class="open"' in drawing.text


def scored(probe: str, name: str | None, total: float) -> dict[str, Any]:
    data = {"probe_id": probe, "scorer_id": "s", "model_name": name, "total_score": total}
    return {"type": "probe.scored.v1", "data": {key: value for key, value in data.items() if value is not None}}


def test_many_probes_are_listed_and_one_is_chosen(client: httpx.Client) -> None:
    mark = fresh()
    post(client, [scored(f"many-{mark}-{n:02}", f"model-{m}", m / 40) for n in range(3) for m in range(40)])
    page = read_page(client, "/ui/models/probes")
    listed = [row for row in page.rows("Probes") if row[0].startswith(f"many-{mark}")]
    assert [row[2:4] for row in listed] == [["40", "40"]] * 3
    one = read_page(client, "/ui/models/probes", probe=f"many-{mark}-01", scorer="s", limit=30)
    label = f"Scores by model: many-{mark}-01 by s"
    assert len(one.rows(label)) == 30
    assert "1 to 30 of 40" in one.text
    rest = read_page(client, "/ui/models/probes", probe=f"many-{mark}-01", scorer="s", limit=30, offset=30)
    assert [row[0] for row in rest.rows(label)] == [f"model-{n}" for n in range(9, -1, -1)]


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/ui/models?sort=size", 400, "&#39;size&#39; is not one of the choices"),
        ("/ui/models?colour=red", 400, "is not a parameter here"),
        ("/ui/models?limit=5000", 400, "not a whole number from 1 to 100"),
        ("/ui/models/runs?since=soon", 400, "neither a date nor"),
        ("/ui/models/runs?as_of=999999999", 400, "beyond the head"),
        ("/ui/models/runs/nothing", 404, "Run not found: nothing"),
        ("/ui/models/runs/nothing/attempts/1", 404, "Run not found: nothing"),
        ("/ui/models/probes/figures/scores.svg?probe=nothing", 404, "No score has this probe"),
    ],
)  # fmt: skip
def test_refusals_are_pages_that_say_what_is_wrong(client: httpx.Client, path: str, status: int, says: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (status, "text/html")
    assert says in answer.text


def test_a_form_without_values_shows_everything(client: httpx.Client) -> None:
    form = dict.fromkeys(("search", "known", "router", "sort", "as_of"), "")
    assert client.get("/ui/models", params=form).status_code == 200
    form = dict.fromkeys(("agent", "router", "probe", "since", "until", "window", "as_of"), "")
    assert client.get("/ui/models/runs", params=form).status_code == 200


@pytest.mark.slow
def test_an_empty_ledger_has_every_page(tmp_path: Path) -> None:
    with serving(tmp_path / "ledger.db") as url, httpx.Client(base_url=url, timeout=None) as client:
        assert "No model has answered yet." in read_page(client, "/ui/models").text
        assert "No discovery run yet." in read_page(client, "/ui/models/runs").text
        assert "No answer has been scored yet." in read_page(client, "/ui/models/probes").text
        for name in ("contradictions", "identical", "wrappers", "unresolved", "models"):
            read_page(client, "/ui/models", list=name)
        run = drive(client)
        page = read_page(client, f"/ui/models/runs/{run}").text
        assert "Running since" in page
        assert "No attempt yet." in page

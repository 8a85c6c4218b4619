"""Hostile names and answers render, make no page large, and change nothing else."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.api.http.discovery_agent import Asker, model
from tests.api.http.posts import fresh, post
from tests.api.pages.models.driven_runs import drive
from tests.api.pages.page_requests import read_page
from tests.support.server import serving

LONG = 65_536
HOSTILE = "<script>alert(1)</script>\u202egnp.exe\u0007&amp;'\""
VISIBLE = "<script>alert(1)</script>[U+202E]gnp.exe\u2407&amp;'\""


def test_hostile_names_and_answers_render_and_change_nothing_else(client: httpx.Client) -> None:
    mark = fresh()
    name = f"{mark} {HOSTILE}"
    plain = drive(client, model(f"plain-{mark}"), router=mark)
    before = read_page(client, f"/ui/models/runs/{plain}").text
    text = (HOSTILE * LONG)[:LONG]
    events: list[dict[str, Any]] = [
        {
            "type": "discovery.started.v1",
            "data": {"run_id": mark, "router": name, "requested_model": name, "probe_id": name},
        }
    ]
    for n in range(1, 13):
        claimed = dict.fromkeys(("model_name", "provider", "version", "wrapper"), f"{name}{n}")
        attempt = {"run_id": mark, "attempt": n, "outcome": "accepted", "claimed": claimed, "reported_model": name}
        attempt |= {"response": text[:20_000], "exclusion_prompt": text[:2_000], "detail": text[:2_000]}
        events.append({"type": "discovery.attempted.v1", "data": attempt})
        data = {"probe_id": name, "scorer_id": name, "run_id": mark, "attempt": n, "model_name": f"{name}{n}"}
        data |= {"total_score": 0.5, "counts": {f"{name}{m}": m for m in range(20)}}
        events.append({"type": "probe.scored.v1", "data": data})
        meta = {f"{name}{m}": text[:500] for m in range(8)}
        events.append({"type": "discovery.signalled.v1", "data": {"run_id": mark, "event": name, "meta": meta}})
    post(client, events)
    Asker(client).respond(plain, model(name, work=text))
    paths = [
        "/ui/models", f"/ui/models?model={quote(name)}", f"/ui/models?search={mark}", "/ui/models/runs",
        f"/ui/models/runs?router={quote(name)}", f"/ui/models/runs/{mark}", f"/ui/models/runs/{plain}",
        f"/ui/models/runs/{plain}/attempts/2?text=answer", f"/ui/models/runs/{mark}/attempts/2?text=answer",
        "/ui/models/probes", f"/ui/models/probes?probe={quote(name)}", "/ui/models?list=contradictions",
    ]  # fmt: skip
    for path in paths:
        page = read_page(client, path)
        raw = client.get(path).text
        assert "<script>alert" not in raw, path
        assert "\u202e" not in raw, path
        assert "\u0007" not in raw, path
    assert VISIBLE in read_page(client, f"/ui/models/runs/{mark}").text
    after = read_page(client, f"/ui/models/runs/{plain}").text
    assert before[before.index("Attempt 1") : before.index("plain")] in after
    page = read_page(client, f"/ui/models/runs/{plain}/attempts/2")
    assert "All 6" in page.text
    drawing = client.get(f"/ui/models/probes/figures/scores.svg?probe={quote(name)}")
    assert drawing.status_code == 200
    assert "<script>" not in drawing.text


@pytest.mark.slow
def test_no_name_makes_a_page_large(tmp_path: Path) -> None:
    run = "r" * 64
    faces, turns = "\U0001f600" * 200, "\u202e" * 65_000
    events: list[dict[str, Any]] = []
    for n in range(60):
        named = f"model-{n}-{faces}"
        started = {
            "run_id": f"{run[:-2]}{n:02}",
            "router": f"router-{n}-{faces}",
            "requested_model": named,
            "probe_id": named,
        }
        events.append({"type": "discovery.started.v1", "data": started})
        for number in range(1, 16 if n == 0 else 2):
            attempt = {
                "run_id": f"{run[:-2]}{n:02}",
                "attempt": number,
                "outcome": "accepted",
                "reported_model": f"x{named}",
            }
            claimed = dict.fromkeys(("model_name", "provider", "version", "wrapper"), f"{named}{number}")
            texts = {"response": turns[:15_000], "exclusion_prompt": turns[:3_000], "detail": turns[:900]}
            events.append({"type": "discovery.attempted.v1", "data": {**attempt, "claimed": claimed, **texts}})
        score = {"probe_id": "p", "scorer_id": "s", "model_name": named, "total_score": n / 60}
        events.append({"type": "probe.scored.v1", "data": score})
    with serving(tmp_path / "ledger.db") as url, httpx.Client(base_url=url, timeout=None) as client:
        post(client, events)
        for path in ("/ui/models?limit=100", "/ui/models/runs?limit=100", "/ui/models/probes?limit=100"):
            read_page(client, path)
        for path in (f"/ui/models/runs/{run[:-2]}00", f"/ui/models/runs/{run[:-2]}00/attempts/2?text=answer"):
            read_page(client, path)

"""The pages of discovery runs show the figures of the JSON routes, a page of attempts at a time."""

from pathlib import Path

import httpx
import pytest

from tests.api.cli.command import done
from tests.api.http.discovery_agent import FAILED, GARBAGE, TIMEOUT, Asker, model
from tests.api.http.posts import fresh, get, post
from tests.api.pages.models.driven_runs import drive
from tests.api.pages.page_requests import read_page
from tests.support.run_reports import report, written
from tests.support.server import serving


def test_runs_have_the_figures_of_the_json_page_by_page(client: httpx.Client) -> None:
    router = f"router-{fresh()}"
    drive(client)
    then = get(client, "/status")["head"]["position"]
    for _ in range(3):
        drive(client, model("one"), TIMEOUT, model("two"), router=router, max_iterations=3)
    drive(client, model("one"), FAILED, router=router)
    found = get(client, "/runs", router=router)["runs"]
    first, rest = (read_page(client, "/ui/models/runs", router=router, limit=3, offset=offset) for offset in (0, 3))
    rows = [*first.rows("Discovery runs"), *rest.rows("Discovery runs")]
    assert len(rows) == len(found) == 4
    for row, of in zip(rows, found, strict=True):
        assert row[0] == f"{of['run_id']} {of['probe_id']}@{of['probe_version']}"
        assert row[1] == of["start_time"][:16].replace("T", " ")
        assert row[2] == f"{of['agent']} {router}"
        assert row[3] == f"{of['models']:,}"
        assert row[4] == ", ".join(f"{n} {outcome}" for outcome, n in of["outcomes"].items())
        signals = f" {of['signals']} signal{'s' * (of['signals'] > 1)}" if of["signals"] else ""
        assert row[5] == (of["ending"] or "running") + signals
    assert "1 to 3 of 4" in first.text
    assert f"/ui/models/runs?router={router}&limit=3&offset=3" in first.addresses
    assert "4 to 4 of 4" in rest.text
    past = read_page(client, "/ui/models/runs", router=router, as_of=then)
    assert "No run passes these filters" in past.text


def test_a_run_attempt_by_attempt(client: httpx.Client) -> None:
    mark = fresh()
    answers = [
        model(f"alpha-{mark}", reported_model=f"omega-{mark}", tokens_used=1_234, elapsed_ms=2_500.0),
        TIMEOUT, model(f"beta-{mark}", work="L07, because of L09.\n" * 100), GARBAGE,
    ]  # fmt: skip
    run = drive(client, *answers, router=f"r-{mark}")
    found = get(client, f"/runs/{run}", include="attempts,summary")
    page = read_page(client, f"/ui/models/runs/{run}")
    text = page.text
    assert f"Ended {found['summary']['end_time'][:16].replace('T', ' ')} UTC: {found['termination_reason']}" in text
    assert f"Models identified {found['summary']['models']} by" in text
    outcomes = ", ".join(f"{n} {outcome}" for outcome, n in found["summary"]["outcomes"].items())
    assert f"Attempts {found['summary']['attempts']} {outcomes}" in text
    for result in found["results"]:
        assert f"{result['model']['model_name']} by Acme" in text
    for attempt in found["attempts"]:
        assert f"Attempt {attempt['attempt']} {attempt['outcome']} {attempt['timestamp']}" in text
        for one in attempt["scores"]:
            if "total_score" in one:
                assert f"{one['total_score']:.3f} by {one['scorer_id']}@{one['scorer_version']}" in text
    assert "Took 2.5 s Tokens 1,234" in text
    assert f"Endpoint omega-{mark}" in text
    assert [signal["meta"]["outcome"] for signal in found["signals"]] == ["timeout", "unparsable"]
    for signal, (at, event, agent, what) in zip(found["signals"], page.rows("Signals"), strict=True):
        assert (at, event, agent) == (signal["ts"], signal["event"], signal["agent"])
        assert f"outcome {signal['meta']['outcome']}" in what
    size = len(found["attempts"][2]["response"])
    assert f"All {size:,} characters" in text
    newest = read_page(client, f"/ui/models/runs/{run}", order="desc").text
    assert newest.index("Attempt 4") < newest.index("Attempt 1 ")


def test_a_long_run_is_shown_in_pages_of_attempts(client: httpx.Client) -> None:
    run = drive(client, *([TIMEOUT] * 30), keep_going=True)
    path = f"/ui/models/runs/{run}"
    every = [f"{path}/attempts/{n}" for n in range(1, 31)]

    def attempts(**parameters: str | int) -> list[str]:
        """The attempts of a page, after the marks of all."""
        shown = read_page(client, path, **parameters).addresses
        links = [link for link in shown if link.startswith(f"{path}/attempts/")]
        assert links[:30] == every
        return links[30:]

    assert [link for offset in (0, 12, 24) for link in attempts(offset=offset)] == every
    assert attempts(order="desc") == every[:17:-1]
    assert attempts(order="desc", offset=12) == every[17:5:-1]


def test_a_page_behind_a_thousand_attempts(client: httpx.Client) -> None:
    run = fresh()
    drive(client, model(f"model-{run}"))
    post(client, {"type": "discovery.started.v1", "data": {"run_id": run}})
    attempts = [{"run_id": run, "attempt": n, "outcome": "timeout"} for n in range(1, 1_101)]
    post(client, [{"type": "discovery.attempted.v1", "data": data} for data in attempts])
    for order, expected in (("asc", range(1_091, 1_101)), ("desc", range(10, 0, -1))):
        page = read_page(client, f"/ui/models/runs/{run}", offset=1_090, order=order)
        links = [link for link in page.addresses if link.startswith(f"/ui/models/runs/{run}/attempts/")]
        assert links[-10:] == [f"/ui/models/runs/{run}/attempts/{n}" for n in expected]
        assert "1,091 to 1,100 of 1,100" in page.text
        assert "The newest 120 of 1,100 attempts" in page.text
    read_page(client, f"/ui/models/runs/{run}/attempts/1099")
    for path in (f"/ui/models/runs/{run}", "/ui/models/runs", "/ui/models"):
        assert "This page is behind the last" in read_page(client, path, offset=5_000).text


def test_a_run_as_it_was(client: httpx.Client) -> None:
    mark = fresh()
    run = drive(client, model(f"alpha-{mark}"))
    then = get(client, "/status")["head"]["position"]
    Asker(client).respond(run, model(f"beta-{mark}"))
    Asker(client).ask("POST", f"/discovery/{run}/finish", {})
    past = read_page(client, f"/ui/models/runs/{run}", as_of=then)
    assert f"As of position {then:,}" in past.text
    assert "Running since" in past.text
    assert f"beta-{mark}" not in past.text
    assert f"/ui/models/runs/{run}/attempts/1?as_of={then}" in past.addresses
    assert client.get(f"/ui/models/runs/{run}/attempts/2", params={"as_of": then}).status_code == 404
    assert f"beta-{mark}" in read_page(client, f"/ui/models/runs/{run}").text
    assert f"beta-{mark}" not in read_page(client, "/ui/models", as_of=then, search=mark).text


def test_one_attempt_with_its_prompt_and_its_whole_answer(client: httpx.Client) -> None:
    mark = fresh()
    words = " ".join(f"word{n}" for n in range(4_000))
    answer = model(f"beta-{mark}", work=words)
    run = drive(client, model(f"alpha-{mark}"), answer)
    path = f"/ui/models/runs/{run}/attempts/2"
    text = read_page(client, path).text
    prompt = get(client, f"/discovery/{run}/prompt")["prompt"]
    assert f"- alpha-{mark} (Acme)" in text
    assert "First say who is answering." in text
    whole = answer["response"]
    pieces, start = "", 0
    while start < len(whole):
        page = client.get(path, params={"text": "answer", "from": start}).text
        piece = page.split('aria-label="answer">', 1)[1].split("</pre>", 1)[0]
        pieces += piece.replace("&#34;", '"')
        start += len(piece.replace("&#34;", '"'))
    assert pieces == whole
    assert " ".join(prompt.split())[-200:] in " ".join(read_page(client, path, text="prompt").text.split())
    assert f"/ui/models/runs/{run}/attempts/1" in read_page(client, path).addresses
    assert client.get(f"/ui/models/runs/{run}/attempts/3").status_code == 404


def test_answers_in_evidence_are_read_and_erased_ones_are_said_to_be_erased(client: httpx.Client) -> None:
    mark = fresh()
    run = drive(client, model(f"alpha-{mark}", work=f"secret {mark}"), sensitive=True)
    listed = read_page(client, f"/ui/models/runs/{run}").text
    assert f"secret {mark}" not in listed
    assert "It is stored as evidence" in listed
    path = f"/ui/models/runs/{run}/attempts/1"
    assert f"secret {mark}" in read_page(client, path).text
    (attempt,) = get(client, f"/runs/{run}", include="attempts")["attempts"]
    for digest in {attempt["response_digest"], attempt["output_digest"]}:
        assert client.delete(f"/evidence/{digest}").status_code == 200
    erased = read_page(client, path).text
    assert f"secret {mark}" not in erased
    assert "This text was erased" in erased
    assert "The answer was erased" in read_page(client, f"/ui/models/runs/{run}").text


@pytest.mark.slow
def test_reports_from_files_have_their_pages(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    done(ledger, "import", "runs", *map(str, written(tmp_path, report("one", "model-a", "model-b"))))
    with serving(ledger) as url, httpx.Client(base_url=url, timeout=None) as client:
        assert [row[0] for row in read_page(client, "/ui/models/runs").rows("Discovery runs")] == ["one refactor-v1"]
        text = read_page(client, "/ui/models/runs/one").text
        assert "2026-02-21T16:36:08.945237141+02:00" in text
        assert "func F() {}" in text
        assert "The log has no text of this prompt." in read_page(client, "/ui/models/runs/one/attempts/1").text

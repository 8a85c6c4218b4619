"""A filter that names something unknown is refused, with the nearest name; on a file and through a server."""

from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cli.lines import decided
from tests.api.cli.test_rescore import lines_of, run_of
from tests.support.server import serving

UNKNOWN = (
    (("calibration", "--agent", "scot"), "There is no agent 'scot'.", "Did you mean 'scout'?"),
    (("calibration", "--agent", "Scout"), "There is no agent 'Scout'.", "Did you mean 'scout'?"),
    (("calibration", "--agent", "scout", "--category", "nosuch"), "There is no category 'nosuch'.", "Check the spell"),
    (("calibration", "--project", "payment"), "There is no project 'payment'.", "Did you mean 'payments'?"),
    (("calibration", "--feature", "retry"), "There is no feature 'retry'.", "Did you mean 'retries'?"),
    (("decisions", "--agent", "scot"), "There is no agent 'scot'.", "Did you mean 'scout'?"),
    (("decisions", "--tag", "slo"), "There is no tag 'slo'.", "Did you mean 'slow'?"),
    (("advice", "--agent", "scot"), "There is no agent 'scot'.", "Did you mean 'scout'?"),
    (("run", "list", "--agent", "scot"), "There is no agent 'scot'.", "Did you mean 'scout'?"),
    (("run", "list", "--router", "x"), "There is no router 'x'.", "Check the spelling."),
    (("run", "list", "--probe", "debuging"), "There is no probe 'debuging'.", "Did you mean 'debugging'?"),
    (("run", "show", "none"), "Run not found: none", ""),
    (("inventory", "--model", "model-x"), "There is no model 'model-x'.", "Did you mean 'model-a'?"),
    (("probe", "scores", "--model", "nobody"), "There is no model 'nobody'.", ""),
    (("probe", "scores", "--probe", "debuging"), "There is no probe 'debuging'.", "Did you mean 'debugging'?"),
    (("probe", "scores", "--scorer", "reporte"), "There is no scorer 'reporte'.", "Did you mean 'reported'?"),
    (("eval", "list", "--suite", "nightl"), "There is no suite 'nightl'.", "Did you mean 'nightly'?"),
    (("scoreboard", "--agent", "scot"), "There is no agent 'scot'.", "Did you mean 'scout'?"),
    (("log", "--source", "scot"), "There is no agent 'scot'", "Did you mean 'scout'?"),
    (("log", "--subject", "decision/none"), "decision/none is not in the log.", ""),
    (("decision", "none"), "Decision not found: none", ""),
)  # fmt: skip


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("names") / "t.db"
    evaluation = {"run_id": "e1", "suite": "nightly", "agent": "scout"}
    lines = [
        decided("a", confidence=0.9, category="tooling", project="payments", feature="retries", tags=["slow"]).strip(),
        *lines_of(*run_of("first", ["no code"])).splitlines(),
        msgspec.json.encode({"type": "eval.started.v1", "data": evaluation}),
    ]
    done(path, "append", "--agent", "scout", given=b"\n".join(lines))
    return path


@pytest.mark.trial("A6")
@pytest.mark.parametrize(("words", "detail", "advice"), UNKNOWN, ids=lambda value: " ".join(value)[:40])
def test_an_unknown_name_is_an_error(ledger: Path, words: tuple[str, ...], detail: str, advice: str) -> None:
    said = refused(ledger, *words, code=1)
    assert said.startswith(f"error: {detail}")
    assert advice in said
    ended = tally(ledger, *words, "--json")
    assert (ended.code, ended.out) == (1, b"")
    problem = msgspec.json.decode(ended.err)
    assert (problem["type"], problem["status"]) == ("urn:tallystick:problem:not-found", 404)
    assert problem["detail"].startswith(detail)


@pytest.mark.trial("A6")
@pytest.mark.parametrize(
    "words",
    [
        ("calibration", "--agent", "scout"),
        ("decisions", "--agent", "scout", "--until", "2020-01-01"),
        ("decisions", "--agent", "scout", "--status", "reviewed"),
        ("run", "list", "--agent", "scout", "--until", "2020-01-01"),
        ("eval", "list", "--suite", "nightly", "--until", "2020-01-01"),
        ("inventory", "--model", "Model-A"),
        ("probe", "scores", "--model", "model-a-20250514"),
        ("log", "--source", "scout", "--until", "2020-01-01"),
        ("advice", "--agent", "scout", "--category", "first-of-its-kind"),
    ],
    ids=" ".join,
)
def test_an_empty_answer_about_known_names_is_an_answer(ledger: Path, words: tuple[str, ...]) -> None:
    assert tally(ledger, *words).code == 0


@pytest.mark.defect(5)
def test_advice_in_a_new_category_names_the_nearest(ledger: Path) -> None:
    """The first decision of a category is planned before the ledger knows it, so this is an answer."""
    said = done(ledger, "advice", "--agent", "scout", "--category", "toling", "--confidence", "0.9").text
    assert said.startswith("No decision here has the category 'toling'. Did you mean 'tooling'?")
    with serving(ledger) as url:
        again = done(ledger, "advice", "--agent", "scout", "--category", "toling", "--url", url).text
        assert again.startswith(said[:60])


@pytest.mark.trial("A6")
def test_a_server_names_what_is_unknown_in_its_answer(ledger: Path) -> None:
    with serving(ledger) as url:
        import httpx  # noqa: PLC0415

        found = httpx.get(f"{url}/calibration", params={"agent": "scot", "category": "tooling"})
        assert found.status_code == 200
        assert found.json()["unknown_names"] == [{"parameter": "agent", "value": "scot", "nearest": "scout"}]
        assert "unknown_names" not in httpx.get(f"{url}/calibration", params={"agent": "scout"}).json()
        for path, query in (
            ("decisions", "agent=scot"), ("runs", "agent=scot"), ("evaluations", "suite=x"), ("scoreboard", "suite=x"),
            ("inventory", "model=x"), ("probes", "probe=x"), ("calibration/advice", "agent=scot"),
        ):  # fmt: skip
            answer = httpx.get(f"{url}/{path}?{query}")
            assert (answer.status_code, len(answer.json()["unknown_names"])) == (200, 1), path

"""eval show, compare, list, gate and scoreboard, on results that any runner posts as events."""

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import msgspec
import pytest

from api.reports.markdown_size import MARKER
from projections.stats.loss_power import ATTEMPTS_TRIED
from tests.api.cli.command import (
    command,
    done,
    refused,
    tally,
)
from tests.api.cli.terminal import on_a_terminal
from tests.api.http.posted_evaluations import (
    CHANGED,
    FIXTURE,
    Json,
    failed,
    finished,
    scored,
    started,
)
from tests.support.server import serving

ANSWER = '{"decision":{"why":["the image was not found in the registry"]}}'
SCORER: dict[str, Any] = {"scorer_id": "rca", "scorer_version": "1", "fixture_digest": FIXTURE}


def component(score: float) -> Json:
    finding: Json = {
        "expectation": "root_cause.patterns[0]", "pattern": "image.*not found", "match_type": "regex",
        "matched": score >= 70,
    }  # fmt: skip
    if finding["matched"]:
        finding |= {"where": "decision.why[0]", "start": 4, "end": 23, "text": "image was not found"}
    return {
        "name": "root_cause", "applicable": True, "score": score, "weight": 1.0, "mark": 70.0, "passed": score >= 70,
        "findings": [finding],
    }  # fmt: skip


def answer(run: str, scenario: str, score: float, attempt: int = 1, **more: object) -> Json:
    fields: dict[str, Any] = {
        "pass_threshold": 70.0,
        "components": [component(score)],
        "analysis": ANSWER,
        **SCORER,
        **more,
    }
    return scored(run, scenario, score, attempt, **fields)


def crash(run: str, scenario: str) -> Json:
    return failed(run, scenario, failure="crash", detail="exit code 3", said="Traceback\nKeyError: alert", **SCORER)


def evaluation(run: str, version: str, *scores: Json, **more: object) -> list[Json]:
    begun = {"agent": "triage", "agent_version": version, "scorer_id": "rca", "scorer_version": "1", **more}
    return [started(run, "examples", **begun), *scores, finished(run, elapsed_ns=3_000_000_000)]


BEFORE = evaluation(
    "night-6",
    "1.3",
    answer("night-6", "image-pull", 100.0),
    answer("night-6", "oom", 90.0),
    answer("night-6", "crash-loop", 80.0),
    answer("night-6", "cpu", 75.0),
)
AFTER = evaluation(
    "night-7",
    "1.4",
    answer("night-7", "image-pull", 20.0),
    answer("night-7", "oom", 90.0),
    answer("night-7", "crash-loop", 80.0, fixture_digest=CHANGED),
    crash("night-7", "http"),
)
EMPTY = [
    started("base", "examples", baseline="empty", agent="baseline", scorer_id="rca", scorer_version="1"),
    scored("base", "oom", 0.0, **SCORER),
    finished("base"),
]
SAME = evaluation("night-8", "1.5", answer("night-8", "image-pull", 100.0), answer("night-8", "oom", 90.0))


def posted(path: Path, *histories: list[Json]) -> Path:
    events = [event for history in histories for event in history]
    done(path, "append", given=b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    return path


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return posted(tmp_path_factory.mktemp("evaluated") / "t.db", BEFORE, AFTER, EMPTY)


@pytest.mark.slow
def test_the_gate_names_what_regressed_first_with_what_used_to_match(ledger: Path) -> None:
    ended = tally(ledger, "eval", "gate", "--baseline", "latest", "--suite", "examples")
    assert ended.code == 1
    assert ended.text.startswith(
        "Regressed: image-pull: 100.0 before, 20.0 now; 1 of 1 attempt passed, now 0\n"
        "  used to match: image.*not found (regex, root_cause.patterns[0]) in decision.why[0]: image was not found\n"
    )
    reported = ended.text
    assert "Error: http, attempt 1: crash: exit code 3\n  | Traceback\n  | KeyError: alert\n" in reported
    assert "Not comparable:\n  crash-loop: fixture changed\n" in reported
    assert "Missing:\n  cpu: not scored, 75.0 before\n" in reported
    assert "New:\n  http: 0.0\n" in reported
    assert reported.endswith("\nWorse: 1 scenario missing.\n")
    places = [reported.index(word) for word in ("Regressed", "Error", "Not comparable", "Missing", "New", "Worse")]
    assert places == sorted(places)
    assert ended.err == "Baseline: night-6, the latest before night-7, by the same agent.\n"
    assert "\x1b" not in reported


def test_the_gate_for_programs(ledger: Path) -> None:
    ended = tally(ledger, "eval", "gate", "--baseline", "night-6", "--run", "night-7", "--json")
    assert ended.code == 1
    found = msgspec.json.decode(ended.out)
    assert found["judgement"]["test"].pop("attempts_needed") in ATTEMPTS_TRIED
    assert found["judgement"] == {
        "verdict": "worse",
        "exit": 1,
        "reasons": ["1 scenario missing"],
        "limits": {
            "regressions": 0,
            "errors": 0,
            "score": None,
            "strict": False,
            "alpha": 0.05,
            "drop": 0.2,
            "drop_scenarios": None,
            "latency_s": None,
            "latency_p95_s": None,
            "cost_per_attempt_usd": None,
        },
        "rule": "test",
        "test": {
            "p": 0.5,
            "alpha": 0.05,
            "level": 0.05,
            "least_p": 0.25,
            "power": 0.0,
            "drop": 0.2,
            "attempts_to_detect": 2,
        },
        "flaky": [],
    }
    assert [one["scenario_id"] for one in found["regressed"]] == ["image-pull"]
    compared = msgspec.json.decode(done(ledger, "eval", "compare", "night-6", "night-7", "--json").out)
    assert {**compared, "judgement": found["judgement"]} == found


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--max-regressions", 1), 1, "Worse: 2 regressions, where 1 is allowed."),
        (("--max-regressions", 2), 2, "Unusable: 1 error, where none is allowed."),
        (("--max-regressions", 2, "--max-errors", 1), 0, "Passed: 2 scenarios compared, 2 regressions allowed."),
        (("--max-regressions", 2, "--max-errors", 1, "--min-score", 50), 1, "Worse: a mean of 47.5 is below 50."),
    ],
)
def test_what_is_allowed(ledger: Path, options: tuple[str | int, ...], code: int, said: str) -> None:
    ended = tally(ledger, "eval", "gate", "--baseline", "night-6", *options)
    assert ended.code == code
    assert ended.text.endswith(f"\n{said}\n")


@pytest.mark.slow
def test_as_of_the_past_and_what_is_newest(tmp_path: Path) -> None:
    path = posted(tmp_path / "t.db", BEFORE)
    refused(path, "eval", "gate", "--baseline", "latest")
    assert "Nothing newer than the baseline night-6" in refused(path, "eval", "gate", "--baseline", "night-6")
    head = len(BEFORE) + len(AFTER)
    posted(path, AFTER, EMPTY, SAME)
    assert "latest before night-8" in tally(path, "eval", "gate", "--baseline", "latest").err
    assert "latest before night-7" in tally(path, "eval", "gate", "--baseline", "latest", "--as-of", head).err
    passed = tally(path, "eval", "gate", "--baseline", "night-6", "--max-regressions", 2)
    assert passed.code == 0
    assert passed.text.endswith("\nPassed: 2 scenarios compared, 2 regressions allowed.\n")
    assert "No evaluation of other has ended" in refused(
        path, "eval", "gate", "--baseline", "latest", "--suite", "other"
    )


def test_another_agent_is_taken_where_there_is_none_by_the_same(tmp_path: Path) -> None:
    first = evaluation("a", "1", answer("a", "oom", 90.0), agent="rival")
    path = posted(tmp_path / "t.db", first, evaluation("b", "1", answer("b", "oom", 95.0)))
    ended = tally(path, "eval", "gate", "--baseline", "latest")
    assert ended.code == 0
    assert ended.err == "Baseline: a, the latest before b, by another agent, because the same one has none.\n"
    assert ended.text.endswith("\nPassed: 1 scenario compared, none worse.\n")


def test_nothing_scored_and_nothing_in_common_cannot_be_judged(tmp_path: Path) -> None:
    nothing = evaluation("b", "2")
    apart = evaluation("c", "3", answer("c", "oom", 95.0, fixture_digest=CHANGED))
    path = posted(tmp_path / "t.db", evaluation("a", "1", answer("a", "oom", 90.0)), nothing, apart)
    ended = tally(path, "eval", "gate", "--baseline", "a", "--run", "b")
    assert (ended.code, ended.text.splitlines()[-1]) == (2, "Unusable: no scenario of the candidate was scored.")
    ended = tally(path, "eval", "gate", "--baseline", "a", "--run", "c")
    assert (ended.code, ended.text.splitlines()[-1]) == (2, "Unusable: no scenario is comparable with the baseline.")


def test_reports(ledger: Path, tmp_path: Path) -> None:
    files = {"--junit": tmp_path / "r.xml", "--html": tmp_path / "r.html", "--markdown": tmp_path / "r.md"}
    options = [word for pair in files.items() for word in pair]
    assert tally(ledger, "eval", "gate", "--baseline", "night-6", *options).code == 1
    cases = fromstring(files["--junit"].read_text(encoding="utf-8")).findall("testsuite/testcase")
    assert [case.attrib["name"] for case in cases] == ["crash-loop", "http", "image-pull", "oom"]
    page = files["--html"].read_text(encoding="utf-8")
    assert "<mark>image was not found</mark>" in page
    assert "Worse: 1 scenario missing." in page
    assert 'aria-label="Mean points of 2 versions' in page
    assert files["--markdown"].read_text(encoding="utf-8").startswith(f"{MARKER}\n\n### \u274c `examples`: Worse")
    done(ledger, "eval", "show", "night-6", *options)
    assert "Worse" not in files["--html"].read_text(encoding="utf-8")
    assert "the <mark>image was not found</mark> in the registry" in files["--html"].read_text(encoding="utf-8")
    done(ledger, "eval", "compare", "night-6", "night-7", "--markdown", files["--markdown"])
    assert "### `examples`: 2 regressions" in files["--markdown"].read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written_is_refused_before_anything(ledger: Path, tmp_path: Path) -> None:
    said = refused(
        ledger, "eval", "show", "night-6", "--html", tmp_path / "none" / "r.html", "--junit", tmp_path / "r.xml"
    )
    assert said.startswith("error: --html: ")
    assert not (tmp_path / "r.xml").exists()
    refused(ledger, "eval", "gate", "--baseline", "night-6", "--markdown", tmp_path)
    refused(ledger, "eval", "compare", "night-6", "night-7", "--markdown", tmp_path)


def test_show(ledger: Path) -> None:
    said = done(ledger, "eval", "show", "night-7").text
    assert said.startswith("night-7  examples\n")
    assert "Error: http, attempt 1: crash: exit code 3" in said
    assert (
        "image-pull, attempt 1: 20.0 of 70.0 needed\n  root cause: 20.0, mark 70.0, weight 1.00, not passed\n" in said
    )
    assert "    - not found: image.*not found (regex, root_cause.patterns[0])" in said
    assert "of 4 scenarios 2 stable, 1 failing, 1 in error." in said
    one = done(ledger, "eval", "show", "night-6", "--scenario", "image-pull").text
    assert (
        "+ found: image.*not found (regex, root_cause.patterns[0]) in decision.why[0]: the image was not found in"
        in one
    )
    assert "registry" in done(ledger, "eval", "show", "night-6", "--scenario", "oom", "--analyses").text
    begun = refused(ledger, "eval", "show", "night", code=1)
    assert "night begins more than one id" in begun
    assert "Its scenarios: cpu, crash-loop, image-pull, oom" in refused(
        ledger, "eval", "show", "night-6", "--scenario", "none", code=1
    )


@pytest.mark.slow
def test_show_and_list_and_scoreboard_for_programs_are_what_the_server_says(tmp_path: Path) -> None:
    path = posted(tmp_path / "t.db", BEFORE, AFTER, EMPTY)
    import httpx  # noqa: PLC0415 - beside the one test that needs it

    with serving(path) as url:
        for route, words in (
            ("/evaluations/night-7", ("eval", "show", "night-7")),
            ("/evaluations/night-7?include=analyses", ("eval", "show", "night-7", "--analyses")),
            ("/evaluations?suite=examples&limit=2", ("eval", "list", "--suite", "examples", "--limit", "2")),
            ("/evaluations/compare?baseline=night-6&candidate=night-7", ("eval", "compare", "night-6", "night-7")),
            ("/scoreboard?agent=triage&versions=1", ("scoreboard", "--agent", "triage", "--versions", "1")),
        ):
            said = httpx.get(url + route).json()
            assert msgspec.json.decode(done(path, *words, "--json").out) == said
            past = httpx.get(url + route, params={**httpx.URL(route).params, "as_of": "9"}).json()
            assert msgspec.json.decode(done(path, *words, "--json", "--as-of", 9).out) == past


def test_list_and_scoreboard_for_people(ledger: Path) -> None:
    listed = done(ledger, "eval", "list")
    assert [line.split()[0] for line in listed.text.splitlines()] == ["run", "base", "night-7", "night-6"]
    assert listed.err == "3 of 3 evaluations.\n"
    assert [
        line.split()[0] for line in done(ledger, "eval", "list", "--limit", 1, "--offset", 1).text.splitlines()
    ] == [
        "run",
        "night-7",
    ]
    board = done(ledger, "scoreboard").text
    assert board.startswith("examples: 5 scenarios, scored by rca 1\n")
    assert "empty answer" in board
    assert "! triage 1.4 lost since 1.3: image-pull" in board
    assert "No evaluation yet" in done(ledger, "scoreboard", "--as-of", 0).text
    assert refused(ledger, "scoreboard", "--suite", "none", code=1).startswith("error: There is no suite 'none'.")
    assert "and 1 older version: --versions" in done(ledger, "scoreboard", "--versions", 1).text


@pytest.mark.slow
def test_a_narrow_terminal_keeps_names_and_figures(ledger: Path) -> None:
    def narrow(*words: str) -> list[list[str]]:
        return [
            line.split() for line in on_a_terminal(*command(ledger, *words), COLUMNS="80", NO_COLOR="1").splitlines()
        ]

    assert narrow("scoreboard")[2][:3] == ["triage", "1.3", "88.3"]
    assert ["night-7", "examples", "triage", "1.4", "47.5"] in [row[:5] for row in narrow("eval", "list")]
    assert ["image-pull", "failing", "20.0", "0", "of", "1"] in [row[:6] for row in narrow("eval", "show", "night-7")]


def test_hostile_texts_do_not_reach_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[2J\x07 a\nb \u202etxt"
    run = evaluation(
        "r",
        evil.replace("\n", ""),
        failed("r", "s", failure="crash", detail=evil, said=evil),
        agent=evil.replace("\n", ""),
    )
    path = posted(tmp_path / "t.db", run, evaluation("q", "2", answer("q", "s", 90.0)))
    for words in (("eval", "list"), ("eval", "show", "r"), ("eval", "compare", "r", "q"), ("scoreboard",)):
        said = done(path, *words).text
        assert not set(said) & {"\x1b", "\x07", "\u202e"}

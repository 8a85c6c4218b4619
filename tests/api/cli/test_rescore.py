"""probe list, probe rescore: stored outputs scored again, through the file and through a server."""

import asyncio
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.client.open_store import open_store
from api.service.rescore import RescoreQuery, rescore
from api.service.rescore_comparison import RescoreResult
from events.discovery import DiscoveryAttempted, DiscoveryStarted
from events.model import ModelIdentity
from events.payload import Payload
from events.probe import ProbeScored, score_id_of
from instruments.probes import PROBES, SCORERS
from instruments.probes.text.summarising_probe import REPORT
from tests.api.cli.command import done, refused, tally
from tests.instruments.probes.graded import DEBUGGING, SUMMARISING
from tests.instruments.questions import Sandboxed
from tests.support.drafts import draft_of
from tests.support.paths import SHARED
from tests.support.server import serving

ANSWERS = [graded.answer for graded in DEBUGGING[-10:]]
TOTALS = [graded.total for graded in DEBUGGING[-10:]]


def lines_of(*payloads: Payload) -> bytes:
    """What `append` reads."""
    drafts = [draft_of(payload) for payload in payloads]
    for draft in drafts:
        draft.source = None
    return b"\n".join(map(msgspec.json.encode, drafts))


def run_of(run_id: str, answers: list[str], probe_id: str = "debugging") -> list[Payload]:
    """A run in which model-a and model-b take turns, each answer scored 1.0 by who reported it."""
    reported: list[Payload] = [DiscoveryStarted(run_id=run_id, probe_id=probe_id, probe_version="1")]
    for number, answer in enumerate(answers, 1):
        name = "model-a" if number % 2 else "Model-B-20250514"
        reported += [
            DiscoveryAttempted(
                run_id=run_id, attempt=number, outcome="accepted", iteration=number - 1,
                claimed=ModelIdentity(model_name=name), response=answer,
            ),
            ProbeScored(
                score_id=score_id_of(run_id, number, "reported"), probe_id=probe_id, scorer_id="reported",
                run_id=run_id, attempt=number, model_name=name, total_score=1.0,
            ),
        ]  # fmt: skip
    reported.append(DiscoveryAttempted(run_id=run_id, attempt=len(answers) + 1, outcome="refused", response="EXCLUDED"))
    return reported


def found(out: bytes) -> dict[str, Any]:
    return msgspec.json.decode(out, type=dict[str, Any])


def scores_in(ledger: Path) -> list[dict[str, Any]]:
    out = done(ledger, "log", "--type", "probe.scored.v1", "--json").out
    return [msgspec.json.decode(line)["data"] for line in out.splitlines()]


def test_the_probes_are_listed(tmp_path: Path) -> None:
    listed = msgspec.json.decode(done(tmp_path / "t.db", "probe", "list", "--json").out)
    assert [(one["id"], one["version"], one["kind"]) for one in listed] == [
        (probe.id, probe.version, probe.kind) for probe in PROBES
    ]
    assert {name for one in listed for name in (one["scorer"], *one["older_scorers"])} == set(SCORERS)
    rows = [line.split() for line in done(tmp_path / "t.db", "probe", "list").text.splitlines()]
    assert ["weighting", "1", "text", "-", "weighting@2", "weighting@1"] in rows
    assert not (tmp_path / "t.db").exists()


def test_old_and_new_stand_side_by_side_and_again_adds_nothing(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=lines_of(*run_of("first", ANSWERS), *run_of("other", ANSWERS[:2], "weighting")))
    said = done(ledger, "probe", "rescore", "--scorer", "debugging@1")
    assert said.text.startswith("10 outputs: 10 scored by debugging@1, 0 scored before; ")
    lines = [line.split() for line in said.text.splitlines()]
    assert ["model", "outputs", "reported", "values", "invalid", "debugging@1", "values", "invalid", "change"] in lines
    for model, own in (("model-a", TOTALS[::2]), ("model-b", TOTALS[1::2]), ("all", TOTALS)):
        mean, values = f"{sum(own) / len(own):.3f}", str(len(set(own)))
        change = f"{round(sum(own) / len(own) - 1, 6):+.3f}"
        assert [model, str(len(own)), "1.000", "1", "0", mean, values, "0", change] in lines
    scores = scores_in(ledger)
    assert len(scores) == 12 + 10
    assert scores[12] == {
        "score_id": score_id_of("first", 1, "debugging", "1"), "probe_id": "debugging", "probe_version": "1",
        "scorer_id": "debugging", "scorer_version": "1", "run_id": "first", "attempt": 1, "model_name": "model-a",
        "output_digest": sha256(ANSWERS[0].encode()).hexdigest(), "valid": True, "total_score": 1.0,
        "dimension_scores": {"cause": 1.0, "evidence": 1.0, "rejection": 1.0, "fix": 1.0},
        "apart": {"suspects_blamed": 1, "words": scores[12]["apart"]["words"]},
    }  # fmt: skip
    again = found(done(ledger, "probe", "rescore", "--scorer", "debugging@1", "--json").out)
    assert (again["outputs"], again["appended"], again["known"]) == (10, 0, 10)
    assert again["total"]["debugging@1"]["distinct"] == len(set(TOTALS))
    assert again["discrimination"]["reported"]["discrimination"] == 0.0
    assert scores_in(ledger) == scores
    assert done(ledger, "replay", "--check").code == 0


KEYWORDS = "CAUSE: pool, 4417, 50, 5, reduced, lowered, cut, connections\nEVIDENCE: L07, L09, L12\nREJECTED: -\nFIX: -"


def test_both_versions_are_shown_by_model_and_by_answer_before_anything_is_written(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=lines_of(*run_of("first", [ANSWERS[0], KEYWORDS, "I decline."])))
    done(ledger, "probe", "rescore", "--scorer", "debugging@1")
    before = scores_in(ledger)
    said = done(ledger, "probe", "rescore", "--scorer", "debugging@2", "--dry-run")
    assert said.text.startswith("3 outputs: 3 would be scored by debugging@2, 0 scored before; ")
    assert scores_in(ledger) == before
    lines = [line.split() for line in said.text.splitlines()]
    assert ["run", "attempt", "model", "debugging@1", "debugging@2", "change"] in lines
    assert ["first", "2", "model-b", "0.650", "0.000", "-0.650"] in lines
    assert ["first", "3", "model-a", "0.000", "0.000", "+0.000"] in lines
    shown = found(done(ledger, "probe", "rescore", "--scorer", "debugging@2", "--json").out)
    assert (shown["before"], shown["dry_run"], shown["appended"]) == ("debugging@1", False, 3)
    assert [(row["attempt"], row["model"], row["before"], row["after"]) for row in shown["answers"]] == [
        (1, "model-a", 1.0, 1.0), (3, "model-a", 0.0, 0.0), (2, "model-b", 0.65, 0.0),
    ]  # fmt: skip
    model_a, model_b = shown["models"]
    assert (model_a["change"], model_b["change"], shown["change"]) == (0.0, -0.65, -0.216667)
    assert (model_a["scorers"]["debugging@2"]["mean"], model_a["scorers"]["debugging@2"]["counted_mean"]) == (1.0, 0.5)
    assert scores_in(ledger)[: len(before)] == before
    assert [score["scorer_version"] for score in scores_in(ledger)[len(before) :]] == ["2", "2", "2"]
    again = found(done(ledger, "probe", "rescore", "--scorer", "debugging@2", "--json").out)
    assert (again["appended"], again["answers"]) == (0, shown["answers"])


def test_what_a_scorer_cannot_score_here_is_named_and_has_no_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=lines_of(*run_of("first", ANSWERS[:2], "sandboxed")))
    monkeypatch.setattr("api.service.rescore.SCORERS", {"sandboxed@1": Sandboxed()})
    query = RescoreQuery(scorer="sandboxed@1", probe="sandboxed")

    async def inside() -> RescoreResult:
        async with open_store(ledger, None, None) as store:
            return await rescore(store, query, lambda done, total: None)

    result = asyncio.run(inside())
    reasons = [f"no sandbox for {len(answer)} characters" for answer in ANSWERS[:2]]
    assert result.unscored == dict.fromkeys(reasons, 1)
    assert [(row.attempt, row.after, row.unscored) for row in result.answers] == [
        (1, None, reasons[0]), (2, None, reasons[1]),
    ]  # fmt: skip
    assert (result.appended, result.known) == (0, 0)
    assert len(scores_in(ledger)) == 2


def test_one_run_and_a_probe_of_former_days(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    reported = [
        *run_of("first", ANSWERS[:3]),
        *run_of("second", ANSWERS[:2]),
        *run_of("old", ["func f() {}"], "refactor-v1"),
    ]
    done(ledger, "append", "-", given=lines_of(*reported))
    one = found(done(ledger, "probe", "rescore", "--scorer", "debugging@1", "--run", "second", "--json").out)
    assert (one["outputs"], one["appended"], one["probes"]) == (2, 2, ["debugging"])
    rest = found(done(ledger, "probe", "rescore", "--scorer", "debugging@1", "--json").out)
    assert (rest["outputs"], rest["appended"], rest["known"]) == (5, 3, 2)
    old = done(ledger, "probe", "rescore", "--scorer", "weighting@1", "--probe", "refactor-v1", "--json").out
    assert (found(old)["probes"], found(old)["total"]["weighting@1"]["invalid"]) == (["refactor-v1"], 1)
    assert scores_in(ledger)[-1]["probe_id"] == "refactor-v1"
    done(ledger, "append", "-", given=lines_of(*run_of("strange", ["func f() {}"], "juggling-v1")))
    strange = done(ledger, "probe", "rescore", "--scorer", "refactor-go@1", "--probe", "juggling-v1", "--json").out
    assert (found(strange)["probes"], found(strange)["appended"]) == (["juggling-v1"], 1)
    assert found(done(ledger, "probe", "rescore", "--scorer", "refactor-go@1", "--json").out)["probes"] == [
        "refactor-v1"
    ]


RUNS = SHARED / "metacal" / "runs"


@pytest.mark.skipif(not RUNS.is_dir(), reason="the reports of real runs are not beside this checkout")
def test_the_outputs_of_real_runs_are_reported_apart(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "import", "runs", *sorted(RUNS.glob("*.json")))
    reported = found(done(ledger, "probe", "rescore", "--scorer", "refactor-go@1", "--json").out)
    assert (reported["outputs"], reported["appended"], reported["scorers"]) == (13, 13, ["reported", "refactor-go@1"])
    assert reported["total"]["reported"]["distinct"] == 2
    assert reported["total"]["refactor-go@1"]["distinct"] > 5
    report = msgspec.json.decode((RUNS / "mc-1771684523895.json").read_bytes())
    assert msgspec.json.decode(done(ledger, "run", "show", report["run_id"], "--json").out) == report


@pytest.mark.slow
def test_through_a_server_page_by_page(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=lines_of(*run_of("first", ANSWERS * 110)))
    with serving(ledger) as url:
        asked = ("probe", "rescore", "--scorer", "debugging@1", "--url", url, "--json")
        first = found(done(tmp_path / "none.db", *asked).out)
        again = found(done(tmp_path / "none.db", *asked).out)
    assert (first["outputs"], first["appended"], first["known"]) == (1100, 1100, 0)
    assert (again["appended"], again["known"]) == (0, 1100)
    assert first["models"] == again["models"]
    assert len(scores_in(ledger)) == 2200


def test_evidence_is_read_and_what_was_erased_is_skipped(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    reported = run_of("first", [])
    digests = ["0" * 64]
    for answer in (SUMMARISING[0].answer, REPORT, "to be erased"):
        file = tmp_path / "answer.txt"
        file.write_text(answer)
        digests.append(done(ledger, "evidence", "put", file).text.strip())
    done(ledger, "evidence", "erase", digests[-1], "--reason", "it names a person", "--yes")
    reported += [
        DiscoveryAttempted(
            run_id="first", attempt=number, outcome="accepted", output_digest=digest, response="too long"
        )
        for number, digest in enumerate(digests, 2)
    ]
    done(ledger, "append", "-", given=lines_of(*reported))
    said = done(ledger, "probe", "rescore", "--scorer", "summarising@1", "--probe", "debugging")
    assert said.text.startswith("4 outputs: 2 scored by summarising@1, 0 scored before; ")
    assert "1 output skipped: the evidence was erased." in said.err
    assert "1 output skipped: the evidence is missing or damaged." in said.err
    listed = found(done(ledger, "probe", "rescore", "--scorer", "summarising@1", "--probe", "debugging", "--json").out)
    assert [(row["attempt"], row["unscored"]) for row in listed["answers"] if row["unscored"]] == [
        (2, "the evidence is missing or damaged"), (5, "the evidence was erased"),
    ]  # fmt: skip
    assert [score["valid"] for score in scores_in(ledger)] == [True, False]
    assert "total_score" not in scores_in(ledger)[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--scorer", "juggling@1"), "--scorer: there is no scorer 'juggling@1'."),
        (("--scorer", "debugging"), "Scorers: "),
        (("--scorer", "debugging@1", "--probe", "juggling"), "--probe: there is no probe 'juggling'."),
        (("--scorer", "debugging@1", "--run", "none"), "There is no run none."),
    ],
)
def test_what_there_is_none_of_is_said_with_what_there_is(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=lines_of(*run_of("first", ANSWERS[:1])))
    assert said in refused(ledger, "probe", "rescore", *arguments, code=1 if "--run" in arguments else 2)
    assert len(scores_in(ledger)) == 1


def test_nothing_to_score_is_no_error(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=lines_of(*run_of("first", [])))
    assert tally(ledger, "probe", "rescore", "--scorer", "weighting@1").text.startswith("0 outputs: 0 scored")

"""calibration, decisions, decision, projections, replay: the views on the command line."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from ledger.sqlite.reader import SqliteReader
from ledger.transparency.tree import LogTree
from ledger.view_key import read_view_key
from projections.calibration.calibration import Calibration
from projections.registry import PROJECTIONS
from projections.snapshots import Snapshots
from tests.api.cli.command import done, refused, tally
from tests.api.cli.lines import decided, history


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("views") / "t.db"
    done(path, "append", "--agent", "ann", given=history(40) + decided("open", confidence=0.9))
    return path


def test_calibration_says_it_in_a_sentence(ledger: Path) -> None:
    said = done(ledger, "calibration", "--agent", "ann", "--group-by", "category").text
    assert said.startswith("ann: 65.0% of 40 reviewed decisions succeeded, with 75.0% mean confidence: ")
    assert "It looks slightly overconfident, but there is not enough data to be sure: the evidence is" in said
    assert "enough, in 4 of 5 cases, depends on its true gap: " in " ".join(said.split())
    assert "Not counted, of 41 decisions: 1 without a review." in said
    assert "c0" in said
    assert "0.9-1.0" in said
    assert "As of position 81," in said
    assert "\x1b" not in said
    few = done(ledger, "calibration", "--min-decisions", 50).text
    assert "Too few decisions are reviewed for figures." in few
    assert "Need at least 50" in few


def test_calibration_for_programs_and_in_the_past(ledger: Path) -> None:
    now = msgspec.json.decode(done(ledger, "calibration", "--json").out)
    assert (now["overall"]["reviewed"], now["as_of"]["position"]) == (40, 81)
    past = msgspec.json.decode(done(ledger, "calibration", "--as-of", 20, "--json").out)
    assert (past["overall"]["reviewed"], past["as_of"]["position"]) == (10, 20)
    assert "As of position 0" in done(ledger, "calibration", "--as-of", "2020-01-01").text


def test_advice_before_deciding(ledger: Path) -> None:
    said = done(ledger, "advice", "--agent", "ann").text
    assert said.startswith("Decisions of ann stated 0.75 on average and came to 0.65 (")
    answer = msgspec.json.decode(done(ledger, "advice", "--agent", "ann", "--confidence", "0.9", "--json").out)
    assert (answer["confidence"], answer["widened"]) == ([0, 1], ["confidence"])
    assert answer["narrower"][0]["confidence"] == [0.85, 0.95]
    assert "There is no agent 'nobody'" in refused(ledger, "advice", "--agent", "nobody", "--as-of", 20, code=1)


def test_decisions_are_listed_and_shown(ledger: Path) -> None:
    page = msgspec.json.decode(done(ledger, "decisions", "--status", "pending", "--json").out)
    assert [decision["decision_id"] for decision in page["decisions"]] == ["open"]
    listed = done(ledger, "decisions", "--search", "d7", "--category", "c1")
    assert "do d7" in listed.text
    assert listed.err == "1 of 1 decision.\n"
    assert "Next page: --offset 2" in done(ledger, "decisions", "--limit", 2).err
    shown = done(ledger, "decision", "op").text
    assert "do open" in shown
    assert "0.900" in shown
    assert msgspec.json.decode(done(ledger, "decision", "d7", "--json").out)["review"]["outcome"] == "success"


def test_projections_are_listed_and_shown(ledger: Path) -> None:
    assert "calibration" in done(ledger, "projections").text
    listed = msgspec.json.decode(done(ledger, "projections", "--json").out)["projections"]
    assert [info["position"] for info in listed] == [81] * len(PROJECTIONS)
    state = msgspec.json.decode(done(ledger, "projections", "calibration", "--as-of", 20).out)
    assert (state["position"], state["view"]["overall"]["reviewed"]) == (20, 10)
    assert state == msgspec.json.decode(done(ledger, "projections", "calibration", "--as-of", 20, "--json").out)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (
            ("calibration", "--group-by", "x"),
            "--group-by: 'x' is not one of the choices.\nChoose one of confidence_b",
        ),
        (("calibration", "--detail", "x"), "--detail: 'x' is not one of the choices.\nChoose one of figures, curves."),
        (("advice", "--agent", "ann", "--confidence", "2"), "--confidence: '2' is not a number from 0 to 1"),
        (("advice", "--agent", "ann", "--stakes", "x"), "--stakes: 'x'"),
        (
            ("calibration", "--window", "1d"),
            "--window: '1d' is not one of the choices.\nChoose one of 30d, 60d",
        ),
        (("calibration", "--stakes", "x"), "--stakes: 'x'"),
        (("calibration", "--since", "x"), "--since: 'x' is neither a date"),
        (("calibration", "--as-of", "99"), "--as-of: 99 is beyond the head, 81"),
        (("decisions", "--limit", "0"), "--limit: '0'"),
        (("decisions", "--sort", "x"), "--sort: 'x'"),
        (("decision", "nope"), "Decision not found: nope"),
        (("decision", "d1"), ""),
        (("projections", "nope"), "There is no projection 'nope'"),
        (("projections", "--as-of", "3"), "--as-of: needs the name"),
        (("replay", "--to", "99"), "--to: 99 is beyond the head, 81"),
        (("replay", "--projection", "nope"), "There is no projection 'nope'"),
    ],
)
def test_refusals(ledger: Path, arguments: tuple[str, ...], why: str) -> None:
    if not why:
        done(ledger, *arguments)
        return
    assert why in refused(ledger, *arguments, code=1 if "nope" in arguments else 2)


def test_replay_prints_digests(ledger: Path) -> None:
    both = msgspec.json.decode(done(ledger, "replay", "--check", "--json").out)
    assert both["same"] is True
    names = [kind.name for kind in PROJECTIONS]
    assert [(one["name"], one["position"]) for one in both["projections"]] == [(name, 81) for name in names]
    past = msgspec.json.decode(done(ledger, "replay", "--projection", "calibration", "--to", 20, "--json").out)
    state = msgspec.json.decode(done(ledger, "projections", "calibration", "--as-of", 20, "--json").out)
    assert [one["digest"] for one in past["projections"]] == [state["digest"]]
    said = done(ledger, "replay", "--check").text
    assert said.count("the same") == len(PROJECTIONS)
    assert both["projections"][1]["digest"] in said


def test_replay_finds_a_view_that_is_not_what_the_events_say(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    done(path, "append", given=history(3))

    async def forge() -> None:
        reader = await SqliteReader.open(path)
        root = await LogTree(reader).root(6)
        await reader.close()
        secret = read_view_key(path, make=False)
        snapshots = await Snapshots.open(tmp_path / "t.db.views.db", writable=True, secret=secret)
        assert await snapshots.save(6, root, await snapshots.store_states([Calibration()]))
        await snapshots.close()

    asyncio.run(forge())
    ended = tally(path, "replay", "--check")
    assert ended.code == 1
    assert ended.text.count("DIFFERS") == 1
    assert "remove" in ended.err
    ended = tally(path, "replay", "--check", "--json")
    assert (ended.code, msgspec.json.decode(ended.out)["same"]) == (1, False)
    done(path, "replay", "--check", "--projection", "decisions")

"""inventory, probe scores, model: which models are got, as people and programs read it; from the file and a server."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.service.model_registry import registration_command
from events.model import ModelIdentity
from tests.api.cli.command import done, refused
from tests.support.run_reports import REAL, RUNS
from tests.support.server import serving

real_runs = pytest.mark.skipif(not RUNS.is_dir(), reason="the real runs are not beside this checkout")


def lines(*events: tuple[str, dict[str, Any]]) -> bytes:
    return b"".join(msgspec.json.encode({"type": kind, "data": data}) + b"\n" for kind, data in events)


def attempted(
    run: str, number: int, name: str, outcome: str = "accepted", **more: object
) -> tuple[str, dict[str, Any]]:
    claimed = {"model_name": name, "provider": "Lab; rm -rf"}
    data = {"run_id": run, "attempt": number, "outcome": outcome, "claimed": claimed, **more}
    return "discovery.attempted.v1", data


def scored(number: int, name: str, total: float) -> tuple[str, dict[str, Any]]:
    data = {"score_id": f"s{number}", "probe_id": "p", "scorer_id": "s", "model_name": name, "total_score": total}
    return "probe.scored.v1", {**data, "valid": True, "counts": {"renames": number}}


HISTORY = lines(
    ("discovery.started.v1", {"run_id": "one", "router": "command:ide", "requested_model": "model-c"}),
    attempted("one", 1, "Model-A-20250101", output_digest="a" * 64),
    attempted("one", 2, "model-b", reported_model="lab/model-a", output_digest="a" * 64),
    attempted("one", 3, "Auto", "wrapper", reported_model="model-b"),
    attempted("one", 4, "unknown", "unparsable"),
    *(scored(number, f"model-{'ab'[number % 2]}", 0.2 + 0.6 * (number % 2)) for number in range(10)),
)


@pytest.fixture(scope="module")
def sighted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sighted") / "t.db"
    done(path, "append", given=HISTORY)
    return path


@pytest.fixture(params=["file", "server"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """A ledger, and the options by which a verb writes it."""
    path = tmp_path / "t.db"
    if request.param == "file":
        yield path, ()
        return
    with serving(path) as url:
        yield path, ("--url", url)


def test_the_inventory_for_people(sighted: Path) -> None:
    said = done(sighted, "inventory").text
    assert said.startswith("2 models claimed in 1 run with 4 attempts.\n")
    assert "Hosts that named themselves: auto, 1 time in 1 run, while the endpoint reported model-b." in said
    assert "Names of no model: unknown, 1 time in 1 run." in said
    assert "command:ide: 2 models in 1 run; 4 attempts: 2 accepted, 1 unparsable, 1 wrapper." in said
    assert "! Answers claim model-b while the endpoint reports model-a: 1 time, last in run one, attempt 2." in said
    assert "! Identical output under several names: model-a (run one, attempt 1); model-b (run one, attempt 2)." in said
    assert "tallystick model register model-a --provider 'Lab; rm -rf' --name Model-A-20250101" in said
    assert "model-c" in said
    assert "As of position 15, recorded" in said
    assert "\x1b" not in said


def test_the_inventory_for_programs_and_in_the_past(sighted: Path) -> None:
    now = msgspec.json.decode(done(sighted, "inventory", "--json").out)
    assert [(model["key"], model["sightings"], model["requested"]) for model in now["models"]] == [
        ("model-a", 1, 0), ("model-b", 1, 0), ("model-c", 0, 4),
    ]  # fmt: skip
    then = msgspec.json.decode(done(sighted, "inventory", "--as-of", 2, "--json").out)
    assert [model["key"] for model in then["models"]] == ["model-a", "model-c"]
    assert then["as_of"]["position"] == 2
    one = msgspec.json.decode(done(sighted, "inventory", "--model", "LAB/MODEL-B", "--json").out)
    assert [model["key"] for model in one["models"]] == ["model-b"]
    assert done(sighted, "inventory", "--as-of", 0).text.startswith("0 models claimed in 0 runs with 0 attempts")
    assert "beyond the head" in refused(sighted, "inventory", "--as-of", 99)


def test_scores(sighted: Path) -> None:
    said = done(sighted, "probe", "scores").text
    assert said.startswith(
        "p, scored by s: 10 scores\n"
        "Tells models apart: 100% of the variance of 10 scores of 2 models is between models (p = 0.0"
    )
    assert "renames 4.00" in said
    found = msgspec.json.decode(done(sighted, "probe", "scores", "--probe", "p", "--model", "model-a", "--json").out)
    ((row,),) = [table["models"] for table in found["probes"]]
    assert (row["model"], row["scores"], row["percentile"], row["valid_share"]) == ("model-a", 5, 25.0, 1.0)
    assert row["mean"] == pytest.approx(0.2)
    past = msgspec.json.decode(done(sighted, "probe", "scores", "--as-of", 7, "--json").out)
    assert (past["probes"][0]["scores"], past["probes"][0]["discrimination"]["variance_share"]) == (2, None)
    assert "There is no scorer 'other'." in refused(sighted, "probe", "scores", "--scorer", "other", code=1)


@pytest.mark.slow
def test_models_are_registered_named_and_listed(written: tuple[Path, tuple[str, ...]]) -> None:
    path, through = written
    said = done(
        path, "model", "register", "model-a", "--provider", "Lab", "--name", "Model A", "--note", "ours", *through
    )
    assert said.text == "Model model-a is registered: position 1.\n"
    done(path, "append", "-", *through, given=HISTORY)
    before = msgspec.json.decode(done(path, "inventory", "--json").out)
    assert {model["key"]: model["known"] for model in before["models"]}["model-a"]
    placed = done(path, "model", "alias", "model-a", "MODEL-B", "--agent", "ann", "--json", *through)
    assert msgspec.json.decode(placed.out) == {"position": 17}
    listed = msgspec.json.decode(done(path, "model", "list", "--json").out)
    ((model),) = listed["models"]
    assert (model["key"], model["name"], model["provider"], model["note"]) == ("model-a", "Model A", "Lab", "ours")
    assert (model["aliases"], model["sightings"], model["claims"]) == (
        ["MODEL-B"], 2, {"Model-A-20250101": 1, "model-b": 1},
    )  # fmt: skip
    assert "MODEL-B" in done(path, "model", "list").text
    assert done(path, "model", "list", "--as-of", 0).text.startswith(
        "No model is registered: tallystick model register"
    )
    (source,) = {line["source"] for line in _log(path) if line["type"] == "model.aliased.v1"}
    assert source == "/agents/ann"


def _log(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in done(path, "log", "--json").out.splitlines()]


def test_a_registration_states_the_version_that_answers_claim(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    claimed = {"model_name": "model-a", "version": "2026-11"}
    started = ("discovery.started.v1", {"run_id": "one"})
    done(path, "append", given=lines(started, attempted("one", 1, "model-a", claimed=claimed)))
    assert "tallystick model register model-a --name model-a --version 2026-11\n" in done(path, "inventory").text
    done(path, "model", "register", "model-a", "--version", "2026-11")
    done(path, "model", "register", "model-b")
    assert [line["type"] for line in _log(path)[2:]] == ["model.registered.v2", "model.registered.v1"]
    listed = msgspec.json.decode(done(path, "model", "list", "--json").out)["models"]
    assert [model.get("version", "absent") for model in listed] == ["2026-11", "absent"]
    head, first, second = done(path, "model", "list", COLUMNS="80").text.splitlines()
    assert head.split()[:3] == ["key", "name", "version"]
    assert (first.split()[:3], second.split()[:3]) == (["model-a", "-", "2026-11"], ["model-b", "-", "-"])
    assert "version" in refused(path, "model", "register", "model-c", "--version", "")


@pytest.mark.slow
def test_what_cannot_be_registered_or_named(written: tuple[Path, tuple[str, ...]]) -> None:
    path, through = written
    done(path, "model", "register", "model-a", *through)

    def no(*arguments: str, code: int = 2) -> str:
        return refused(path, "model", *arguments, *through, code=code)

    again = no("register", "model-a", code=1)
    assert again.startswith("error: model model-a is registered already.\n")
    assert "tallystick model alias model-a NAME" in again
    assert "tallystick model register model-b" in no("alias", "model-b", "x", code=1)
    assert "'Auto' is a host's own name, not a model's." in no("register", "Auto")
    assert "tallystick model alias KEY Auto" in no("register", "Auto")
    assert "'unknown' names no model." in no("register", "unknown")
    assert "Write example-4, which its other names come to, too." in no("register", "lab/Example 4")
    assert "Write example-4" in no("alias", "Example 4", "x")
    assert "is not 1..64 of letters" in no("register", "a" * 65)
    assert "is empty" in no("alias", "model-a", " ")
    assert "provider" in no("register", "model-c", "--provider", "x" * 5_000)
    assert "not an agent's name" in no("register", "model-c", "--agent", "a b")
    assert len(_log(path)) == 1


def test_a_server_that_holds_the_ledger_is_used(tmp_path: Path) -> None:
    with serving(tmp_path / "t.db") as url:
        ended = done(tmp_path / "t.db", "model", "register", "model-a")
    assert ended.err.startswith(f"using the server at {url} that holds ")


@pytest.mark.parametrize(
    ("identity", "command"),
    [
        (ModelIdentity(model_name="gpt-4o"), "tallystick model register gpt-4o --name gpt-4o"),
        (
            ModelIdentity(model_name="Claude Sonnet 4", provider="Anthropic"),
            "tallystick model register claude-sonnet-4 --provider Anthropic --name 'Claude Sonnet 4'",
        ),
        (
            ModelIdentity(model_name="x$(reboot)\n\x1b[2J", provider="'; ls\n#"),
            "tallystick model register x-reboot-2j --provider ''\"'\"'; ls #' --name 'x$(reboot)  [2J'",
        ),
        (ModelIdentity(model_name="m-1", provider="-", version="-"), "tallystick model register m-1 --name m-1"),
        (
            ModelIdentity(model_name="m-1", version="-2026\n; ls"),
            "tallystick model register m-1 --name m-1 --version '2026 ; ls'",
        ),
        (ModelIdentity(model_name="Auto", provider="Cursor"), None),
        (ModelIdentity(model_name="unknown"), None),
        (ModelIdentity(model_name=""), None),
    ],
)
def test_the_command_that_registers_a_claimed_model(
    tmp_path: Path, identity: ModelIdentity, command: str | None
) -> None:
    assert registration_command(identity) == command
    if command is not None:
        done(tmp_path / "t.db", *shlex.split(command)[1:])


@real_runs
def test_the_inventory_of_the_real_runs(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    done(path, "import", "runs", *REAL)
    done(path, "model", "register", "gpt-4o", "--provider", "OpenAI")
    found = msgspec.json.decode(done(path, "inventory", "--json").out)
    reported = {model["key"]: (model["sightings"], model["known"]) for model in found["models"]}
    assert reported == {
        "claude-sonnet-4": (7, False), "gpt-4o": (2, True), "gpt-4o-mini": (1, False), "claude-3.5-sonnet": (1, False),
        "gemini-2.0-flash": (1, False), "deepseek-v3": (1, False),
    }  # fmt: skip
    assert found["models"][0]["claims"] == {"claude-sonnet-4-20250514": 6, "claude-sonnet-4": 1}
    assert [(one["key"], one["claims"]) for one in found["wrappers"]] == [("auto", {"Auto": 2, "auto": 1})]
    assert [(one["key"], one["sightings"]) for one in found["unresolved"]] == [("unknown", 1)]
    scores = msgspec.json.decode(done(path, "probe", "scores", "--probe", "refactor-v1", "--json").out)["probes"]
    assert [table["discrimination"]["says"] for table in scores] == [
        "saturated: 12 of 13 scores are 1.00; not shown to tell models apart: 6 scores of 2 models are all the same"
    ]
    assert done(path, "replay", "--check").code == 0

"""Where drift says the model changed: the same over HTTP, CSTP, the client and the command line, aliases resolved."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import msgspec
import pytest

import tallystick
from tests.api.cli.command import done
from tests.api.http.posted_evaluations import Json
from tests.api.http.posts import get, post
from tests.support.server import serving

BEGAN = datetime.now(UTC).replace(microsecond=0) - timedelta(days=100)
NAMES = ("House Large", "vendor/large-4", "large-4-20260101")


def decided(agent: str, number: int, *, fails: bool, model: str | None) -> list[Json]:
    """A decision of the given half day and its review."""
    name, at = f"{agent}-{number}", (BEGAN + timedelta(hours=12 * number)).isoformat()
    named = {} if model is None else {"model": model}
    data = {"decision_id": name, "decision": "ship it", "confidence": 0.9, "category": "c", **named}
    outcome = {"decision_id": name, "outcome": "failure" if fails else "success"}
    return [
        {"type": "decision.recorded.v2", "time": at, "source": f"/agents/{agent}", "data": data},
        {"type": "decision.reviewed.v1", "source": f"/agents/{agent}", "data": outcome},
    ]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The models change on half day 120; of ann's 200 decisions those after it fail, bea is right as before."""
    path = tmp_path_factory.mktemp("models") / "t.db"
    with serving(path) as url, httpx.Client(base_url=url) as client:
        events: list[Json] = [
            {"type": "model.registered.v1", "data": {"key": "large-4"}},
            {"type": "model.registered.v1", "data": {"key": "small-2"}},
            {"type": "model.aliased.v1", "data": {"key": "large-4", "alias": NAMES[0]}},
            {"type": "model.aliased.v1", "data": {"key": "small-2", "alias": "cursor"}},
        ]
        for number in range(200):
            early = number < 120
            model = None if number % 10 == 5 else NAMES[number % 3] if early else "cursor"
            events += decided("ann", number, fails=number % 10 == 0 if early else number % 2 == 0, model=model)
            events += decided("bea", number, fails=number % 10 == 0, model=model)
            events += decided("cy", number, fails=number % 10 == 0 if early else number % 2 == 0, model=None)
        for start in range(0, len(events), 400):
            post(client, events[start : start + 400])
        yield path, url


@pytest.mark.slow
def test_the_models_before_and_after_an_alarm(ledger: tuple[Path, str]) -> None:
    path, url = ledger
    with httpx.Client(base_url=url) as client:
        drift = get(client, "/calibration", agent="ann", include="drift")["drift"]
        call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.getCalibration"}
        asked = {**call, "params": {"agent": "ann", "include": ["drift"]}}
        camel = client.post("/cstp", json=asked).json()["result"]["drift"]["models"]
        checked = client.post("/cstp", json={**call, "method": "cstp.checkDrift", "params": {"agent": "ann"}}).json()
    change, models = drift["change"], drift["models"]
    assert drift["alarm"]
    assert 110 <= change["index"] <= 130
    for side in ("before", "after"):
        counts = {one["model"]: one["reviewed"] for one in models[side]}
        assert sum(counts.values()) == change[f"reviewed_{side}"]
        assert counts.keys() <= {"large-4", "small-2", None}
        assert models[side][0]["model"] == {"before": "large-4", "after": "small-2"}[side]
        assert counts[None] in range(7, 14)
    (one,) = models["changes"]
    assert (one["agent"], one["before"], one["after"], one["within"]) == ("ann", "large-4", "small-2", True)
    assert change["earliest"] <= one["time"] <= change["latest"]
    assert datetime.fromisoformat(one["time"]) == BEGAN + timedelta(days=60)
    assert datetime.fromisoformat(one["last_before"]) == BEGAN + timedelta(days=59, hours=12)
    assert (models["nearest"], models["changes_total"], models["named"]) == (one, 1, 180)
    assert (camel["nearest"]["lastBefore"][:19], camel["changesTotal"]) == (one["last_before"][:19], 1)
    assert checked["result"]["change"]["models"]["nearest"]["after"] == "small-2"
    with tallystick.Client(url, agent="reader") as reader:
        found = reader.calibration(agent="ann", include=["drift"]).drift
    assert found is not None
    assert found.models
    assert found.models.nearest
    assert found.models.before is not None
    assert (found.models.nearest.within, found.models.before[0].model) == (True, "large-4")
    for options in ((), ("--url", url)):
        said = done(path, *options, "calibration", "--agent", "ann", "--include", "drift").text
        (printed,) = [line for line in said.split("\n") if line.startswith("Models before: ")]
        assert printed.startswith("Models before: large-4 ")
        assert ", not named " in printed


def test_the_command_line_names_the_nearest_change(ledger: tuple[Path, str]) -> None:
    said = done(ledger[0], "calibration", "--agent", "ann", "--include", "drift").text.replace("\n", " ")
    at = f"{BEGAN + timedelta(days=60):%Y-%m-%d %H:%M}"
    assert (
        "The nearest change of a model was within the interval of the date: "
        f"ann from large-4 to small-2, first used {at}."
    ) in said


def test_without_an_alarm_changes_are_listed_and_nothing_is_added(ledger: tuple[Path, str]) -> None:
    path, url = ledger
    with httpx.Client(base_url=url) as client:
        drift = get(client, "/calibration", agent="bea", include="drift")["drift"]
    assert not drift["alarm"]
    assert drift["models"].keys() == {"named", "changes", "changes_total"}
    (one,) = drift["models"]["changes"]
    assert (one["before"], one["after"], "within" in one) == ("large-4", "small-2", False)
    said = done(path, "calibration", "--agent", "bea", "--include", "drift").text.replace("\n", " ")
    assert "1 change of models in the examined reviews: bea from large-4 to small-2, first used " in said
    assert "Models before" not in said


def test_decisions_that_name_no_model(ledger: tuple[Path, str]) -> None:
    path, url = ledger
    answer = msgspec.json.decode(done(path, "calibration", "--agent", "cy", "--include", "drift", "--json").out)
    models, change = answer["drift"]["models"], answer["drift"]["change"]
    assert models == {
        "named": 0, "before": [{"model": None, "reviewed": change["reviewed_before"]}],
        "after": [{"model": None, "reviewed": change["reviewed_after"]}], "nearest": None, "changes": [],
        "changes_total": 0,
    }  # fmt: skip
    said = done(path, "calibration", "--agent", "cy", "--include", "drift").text
    assert "Models: the decisions name none." in said
    with httpx.Client(base_url=url) as client:
        days = {"agent": "cy", "until": (BEGAN + timedelta(days=59)).date().isoformat()}
        assert "models" not in get(client, "/calibration", include="drift", **days)["drift"]


@pytest.mark.slow
def test_an_alias_of_the_past_is_used_as_of_then(ledger: tuple[Path, str]) -> None:
    """As of a position before a new alias, a name means itself."""
    path, url = ledger
    with httpx.Client(base_url=url) as client:
        before = get(client, "/calibration", agent="ann", include="drift")["as_of"]["position"]
        post(client, {"type": "model.registered.v1", "data": {"key": "other-1"}})
        post(client, {"type": "model.aliased.v1", "data": {"key": "other-1", "alias": "cursor"}})
        now = get(client, "/calibration", agent="ann", include="drift")["drift"]["models"]
        then = get(client, "/calibration", agent="ann", include="drift", as_of=before)["drift"]["models"]
    assert (now["nearest"]["after"], then["nearest"]["after"]) == ("other-1", "small-2")
    assert path.exists()

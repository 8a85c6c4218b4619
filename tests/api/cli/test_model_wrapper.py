"""`model wrapper`: a declared host ends a run, leaves the models of the inventory, and can be withdrawn."""

from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cli.discovering import Json, against, ending, events, models, outcomes
from tests.instruments.routers.simulated import in_turn
from tests.support.server import serving


def inventory(ledger: Path, *options: str) -> tuple[list[str], list[str]]:
    """The keys of the models, and of the hosts."""
    found: Json = msgspec.json.decode(done(ledger, "inventory", "--json", *options).out)
    return sorted(model["key"] for model in found["models"]), [row["key"] for row in found["wrappers"]]


@pytest.mark.slow
def test_a_declared_host_ends_a_run_and_leaves_the_models_also_of_the_past(ledger: Path) -> None:
    assert against(in_turn(*models("Aster 4", "Acme Gateway", "aster 4")), ledger, "--run", "one").code == 0
    assert inventory(ledger) == (["acme-gateway", "aster-4"], [])
    said = done(ledger, "model", "wrapper", "add", "acme-gateway", "--note", "ours")
    assert said.text.startswith("'acme-gateway' is a host's name: position ")
    position = said.text.split()[-1].rstrip(".").replace(",", "")
    assert inventory(ledger) == (["aster-4"], ["acme gateway"])
    assert inventory(ledger, "--as-of", str(int(position) - 1)) == (["acme-gateway", "aster-4"], [])
    ended = against(in_turn(*models("Aster 4", "ACME gateway")), ledger, "--run", "two")
    assert ended.code == 0
    found = events(ledger, "two")
    assert outcomes(found) == ["accepted", "wrapper"]
    assert ending(found)[0] == "wrapper"
    assert "'ACME gateway' is a host's name, not a model's" in ended.text
    listed: Json = msgspec.json.decode(done(ledger, "model", "wrapper", "list", "--json").out)
    assert listed["stated"] == [
        {"key": "acme-gateway", "wrapper": True, "name": "acme-gateway", "note": "ours", "sightings": 2}
    ]
    assert {"auto", "claude code", "openrouter"} <= set(listed["defaults"])


@pytest.mark.slow
def test_a_withdrawn_name_is_a_models(ledger: Path) -> None:
    assert "host's name already" in refused(ledger, "model", "wrapper", "add", "Cursor", code=1)
    assert "not a host's name" in refused(ledger, "model", "wrapper", "remove", "gpt-5-codex", code=1)
    assert "tallystick model wrapper remove amp" in refused(ledger, "model", "register", "amp")
    done(ledger, "model", "wrapper", "remove", "Amp")
    done(ledger, "model", "register", "amp")
    assert against(in_turn(*models("Amp", "amp")), ledger).code == 0
    assert inventory(ledger) == (["amp"], [])
    text = done(ledger, "model", "wrapper", "list").text
    assert "amp   no" in text
    assert "By default: aider, " in text


def test_a_name_without_letters_is_refused(ledger: Path) -> None:
    assert "a letter of a..z or a digit" in refused(ledger, "model", "wrapper", "add", "???")
    assert not ledger.exists()


@pytest.mark.slow
def test_an_answer_is_analysed_with_the_declared_hosts_also_through_a_server(ledger: Path, tmp_path: Path) -> None:
    answer = tmp_path / "answer.txt"
    answer.write_text('{"model_name": "Acme Gateway"}\n```go\nfunc f() {}\n```\n', "utf-8")
    with serving(ledger) as url:
        done(ledger, "model", "wrapper", "add", "Acme Gateway", "--url", url)
        listed: Json = msgspec.json.decode(done(ledger, "model", "wrapper", "list", "--json", "--url", url).out)
        assert [row["key"] for row in listed["stated"]] == ["acme-gateway"]
        ended = tally(ledger, "probe", "analyze", "--response-file", answer, "--url", url)
        assert (ended.code, msgspec.json.decode(ended.out)["verdict"]) == (1, "wrapper")

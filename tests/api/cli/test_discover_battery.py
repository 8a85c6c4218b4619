"""`discover --probes`: a battery on the command line, its table, and the profile of a model."""

from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, refused
from tests.api.cli.discovering import Json, against, events, of_type
from tests.instruments.routers.simulated import Reply, completed, in_turn, said

TEXTS = ("The pool is too small: L07 made it smaller.", "S2 measured it and outweighs S1.")


def answers(name: str, *texts: str) -> Reply:
    """A reply with a part for each text."""
    identity = said(name).partition("\n")[0]
    parts = [f"=== PART {number} ===\n{text}" for number, text in enumerate(texts, 1)]
    return completed("\n\n".join([identity, *parts]))


@pytest.mark.slow
def test_a_battery_and_its_profile(ledger: Path) -> None:
    script = in_turn(
        answers("Aster 4", *TEXTS), answers("Borage 2", TEXTS[0]), answers("Clover", *TEXTS), completed("EXCLUDED")
    )
    ended = against(script, ledger, "--probes", "debugging, weighting", "--run", "both")
    assert ended.code == 0, ended.err
    found = events(ledger)
    assert len(of_type(found, "probe.scored")) == 6
    assert "iteration 0: Aster 4 (debugging=" in ended.text
    assert ", weighting=no score)" in ended.text
    header = next(line for line in ended.text.splitlines() if line.startswith("model"))
    assert header.split() == ["model", "provider", "debugging", "weighting", "elapsed"]
    assert "The report is kept: tallystick run show both" in ended.text
    listed = done(ledger, "model", "profile").text
    assert listed.startswith("model     overall  probes  answers  declined")
    shown = done(ledger, "model", "profile", "borage-2").text
    assert "borage-2: overall " in shown
    assert "over 2 probes" in shown
    assert "100%" in shown
    answer: Json = msgspec.json.decode(done(ledger, "model", "profile", "Borage 2", "--json").out)
    (profile,) = answer["profiles"]
    rates = {probe["probe_id"]: probe["declining_rate"] for probe in profile["probes"]}
    assert rates == {"debugging": 0.0, "weighting": 1.0}
    assert done(ledger, "run", "list", "--probe", "weighting").text.count("both") == 1


@pytest.mark.slow
def test_few_models_have_no_overall_figure(ledger: Path) -> None:
    against(in_turn(answers("Aster 4", *TEXTS), completed("EXCLUDED")), ledger, "--probes", "debugging,weighting")
    assert "not enough models; a probe needs 3" in done(ledger, "model", "profile").text
    assert "no overall figure" in done(ledger, "model", "profile", "aster-4").text
    assert "nobody" in refused(ledger, "model", "profile", "nobody", code=1)


def test_a_probe_that_is_not_there_is_refused_before_anything_is_asked(ledger: Path) -> None:
    said = refused(ledger, "discover", "--router", "command:true", "--probes", "debugging,juggling")
    assert "juggling" in said

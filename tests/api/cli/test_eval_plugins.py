"""A package that adds a match type and a component, installed into a folder that real processes import from."""

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.api.cli.command import Ended, command, environment
from tests.api.cli.evaluating import Json, of_type, scenario, scores
from tests.api.cli.evaluating import events as recorded
from tests.support.paths import ROOT
from tests.support.plugin_package import install

pytestmark = pytest.mark.slow

CODE = """
class Initials:
    'Matches words with these initials, in order.'

    def check(self, pattern):
        return None if pattern.isalpha() else 'is not made of letters'

    def find(self, pattern, text):
        if pattern == 'crash':
            raise RuntimeError('no such initials')
        if pattern == 'wide':
            return (0, len(text) + 1)
        words, at = text.split(), 0
        for first in range(len(words) - len(pattern) + 1):
            chosen = words[first : first + len(pattern)]
            if [word[0].lower() for word in chosen] == list(pattern.lower()):
                start = text.index(' '.join(chosen))
                return start, start + len(' '.join(chosen))
        return None


class Tone:
    'Half the points for each of two things: no exclamation mark, and few words.'

    def check(self, expected):
        return None if isinstance(expected, dict) and set(expected) == {'words_max'} else 'must be {words_max: NUMBER}'

    def score(self, analysis, expected):
        text = analysis['rca']['root_cause']
        if text == 'raise':
            raise KeyError('tone')
        if text == 'much':
            return 200, []
        if text == 'odd':
            return 50, [{'matched': 'perhaps'}]
        calm, short = '!' not in text, len(text.split()) <= expected['words_max']
        found = [{'pattern': 'calm', 'matched': calm, 'where': 'rca.root_cause', 'note': 'no exclamation mark'}]
        return 50 * calm + 50 * short, [*found, {'pattern': 'short', 'matched': short}]
"""
POINTS = {
    "tallystick.match_types": {"initials": "tone_pack:Initials"},
    "tallystick.components": {"tone": "tone_pack:Tone"},
}
WEIGHTS = {
    "root_cause_weight": 0.8, "fix_accuracy_weight": 0, "hypothesis_quality_weight": 0, "next_steps_weight": 0,
    "weights": {"tone": 0.2},
}  # fmt: skip


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with the package."""
    folder = tmp_path / "packages"
    install(folder, "tone_pack", "1.2", CODE, POINTS)
    return folder


def expecting(pattern: str = "oom", **more: Any) -> Json:  # noqa: ANN401 - YAML
    matcher = {"patterns": [pattern], "match_type": "initials"}
    return {"root_cause": matcher, "tone": {"words_max": 6}, **more}


def run(ledger: Path, fixtures: Path, packages: Path, *arguments: str) -> Ended:
    """Evaluate in a process of its own, which can import the packages."""
    words = command(ledger, "eval", "run", fixtures, *arguments)
    variables = environment(PYTHONPATH=str(packages))
    ended = subprocess.run(words, cwd=ROOT, env=variables, capture_output=True, check=False)
    return Ended(ended.returncode, ended.stdout, ended.stderr.decode())


def test_a_package_adds_a_match_type_and_a_component(ledger: Path, tmp_path: Path, packages: Path) -> None:
    fixtures = tmp_path / "suite"
    good, loud = "Out of memory, says the kernel", "Out of memory! Really! It is so very sad"
    for name, text in (("calm", good), ("loud", loud), ("denied", "It is not Out of memory")):
        captured = {"rca": {"root_cause": text}}
        scenario(fixtures, name, expected_outcomes=expecting(), scoring=WEIGHTS, captured=captured)
    ended = run(ledger, fixtures, packages, "--run", "one")
    assert ended.code == 1, "a scenario fails"
    (started,) = of_type(recorded(ledger, "one"), "started")
    assert started["scorer_version"] == "3 initials@tone_pack-1.2 tone@tone_pack-1.2"
    found = {score["scenario_id"]: score for score in scores(ledger, "one")}
    assert {name: score["total_score"] for name, score in found.items()} == {
        "calm": 100.0,
        "loud": 80.0,
        "denied": 20.0,
    }
    assert all(score["scorer_version"] == started["scorer_version"] for score in found.values())
    cause, *_, tone = found["calm"]["components"]
    assert (tone["name"], tone["score"], tone["weight"], tone["mark"]) == ("tone", 100.0, 0.2, 50.0)
    assert tone["findings"][0] == {
        "expectation": "tone", "pattern": "calm", "match_type": "tone", "matched": True, "where": "rca.root_cause",
        "note": "no exclamation mark",
    }  # fmt: skip
    assert (cause["findings"][0]["match_type"], cause["findings"][0]["text"]) == ("initials", "Out of memory,")
    baselines = [score for score in scores(ledger) if score.get("agent") == "baseline"]
    assert len(baselines) == 6


def test_another_version_of_the_package_is_another_scorer(ledger: Path, tmp_path: Path, packages: Path) -> None:
    fixtures = tmp_path / "suite"
    captured = {"rca": {"root_cause": "Out of memory"}}
    scenario(fixtures, "calm", expected_outcomes=expecting(), scoring=WEIGHTS, captured=captured)
    assert run(ledger, fixtures, packages, "--run", "one").code == 0
    newer = tmp_path / "newer"
    install(newer, "tone_pack", "1.3", CODE, POINTS)
    assert run(ledger, fixtures, newer, "--run", "two").code == 0
    words = command(ledger, "eval", "compare", "one", "two", "--json")
    compared = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, check=True)
    assert b"scorer changed: rca@3 initials@tone_pack-1.2 tone@tone_pack-1.2" in compared.stdout
    assert b"now rca@3 initials@tone_pack-1.3 tone@tone_pack-1.3" in compared.stdout


@pytest.mark.parametrize(
    ("pattern", "text", "detail"),
    [
        ("crash", "Out of memory", "the match type initials@tone_pack-1.2 failed: RuntimeError: no such initials"),
        ("wide", "Out of memory", "the match type initials@tone_pack-1.2 found 0 to 14, which is not in the text"),
        ("oom", "raise", "the component tone@tone_pack-1.2 failed: KeyError: 'tone'"),
        ("oom", "much", "the component tone@tone_pack-1.2 gave 200.0 points, which is not from 0 to 100"),
        ("oom", "odd", "the component tone@tone_pack-1.2 gave a finding that cannot be recorded"),
    ],
)
def test_a_plugin_that_fails_is_an_error_and_never_a_score(
    ledger: Path, tmp_path: Path, packages: Path, pattern: str, text: str, detail: str
) -> None:
    fixtures = tmp_path / "suite"
    captured = {"rca": {"root_cause": text}}
    scenario(fixtures, "one", expected_outcomes=expecting(pattern), scoring=WEIGHTS, captured=captured)
    ended = run(ledger, fixtures, packages, "--no-baselines")
    assert "Traceback" not in ended.err
    (score,) = scores(ledger)
    assert (score["state"], score["failure"]) == ("error", "component")
    assert "total_score" not in score
    assert score["detail"].startswith(detail)


BAD: dict[str, tuple[Json, Json, tuple[str, ...]]] = {
    "unknown match type": (
        {"root_cause": {"patterns": ["a"], "match_type": "initial"}}, {},
        ("expected_outcomes.root_cause.match_type", "Did you mean initials?", "regex, semantic, initials"),
    ),
    "unknown component": (
        expecting(smell="good"), WEIGHTS,
        ("expected_outcomes.smell", "is not a key here", "next_steps, tools, tone"),
    ),
    "refused pattern": (expecting("o-o"), WEIGHTS, ("root_cause.patterns[0]", "'o-o' is not made of letters")),
    "refused expectation": (expecting(tone="nice"), WEIGHTS, ("expected_outcomes.tone", "must be {words_max: NUMBER}")),
    "no weight": (expecting(), {}, ("scoring.weights.tone", "is missing", "Weigh tone")),
    "a weight of nothing": (
        {"root_cause": {"patterns": ["oom"], "match_type": "initials"}}, WEIGHTS,
        ("scoring.weights.tone", "weighs a component that nothing is expected of"),
    ),
    "weights that do not sum to 1": (
        expecting(), {"weights": {"tone": 0.2}}, ("scoring", "sum to 1.2, not to 1", "+ tone 0.2"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("expected", "scoring", "said"), BAD.values(), ids=BAD)
def test_what_a_plugin_cannot_score_is_refused_at_load(
    ledger: Path, tmp_path: Path, packages: Path, expected: Json, scoring: Json, said: tuple[str, ...]
) -> None:
    fixtures = tmp_path / "suite"
    scenario(fixtures, "one", expected_outcomes=expected, scoring=scoring)
    ended = run(ledger, fixtures, packages, "--no-baselines")
    assert ended.code == 2
    assert "Traceback" not in ended.err
    words = " ".join(ended.err.split())
    assert all(part in words for part in said), ended.err
    assert not ledger.exists() or not recorded(ledger)


def test_a_package_that_cannot_be_loaded_is_named(ledger: Path, tmp_path: Path, packages: Path) -> None:
    fixtures = tmp_path / "suite"
    scenario(fixtures, "one", expected_outcomes=expecting(), scoring=WEIGHTS)
    cases = (
        ("broken", "raise OSError('no disk')", "cannot be loaded from broken 1: OSError: no disk"),
        ("broken", "class Tone: score = None", "has no function check and no score (broken:Tone)"),
    )
    for number, (name, code, said) in enumerate(cases):
        folder = tmp_path / f"other-{number}"
        install(folder, name, "1", code, {"tallystick.components": {"tone": f"{name}:Tone"}})
        ended = run(ledger, fixtures, folder, "--no-baselines")
        assert ended.code == 2
        assert said in " ".join(ended.err.split())
    scenario(tmp_path / "named", "one", expected_outcomes={**expecting(), "fix_accuracy": 3}, scoring=WEIGHTS)
    install(tmp_path / "named-too", "other", "1", CODE, {"tallystick.components": {"fix_accuracy": "other:Tone"}})
    ended = run(ledger, tmp_path / "named", tmp_path / "named-too", "--no-baselines")
    assert "expected_outcomes.fix_accuracy has the name of another component" in " ".join(ended.err.split())
    install(packages, "second", "3", CODE, {"tallystick.components": {"tone": "second:Tone"}})
    ended = run(ledger, fixtures, packages, "--no-baselines")
    assert ended.code == 2
    assert "is added by several packages: second 3, tone_pack 1.2" in " ".join(ended.err.split())


def test_no_package_is_imported_before_a_scenario_uses_it(ledger: Path, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    install(packages, "loud", "1", "raise SystemExit(9)", {"tallystick.components": {"loud": "loud:Loud"}})
    fixtures = tmp_path / "suite"
    cause = {"root_cause": {"patterns": ["memory"], "match_type": "substring"}}
    scenario(fixtures, "one", expected_outcomes=cause, captured={"rca": {"root_cause": "Out of memory"}})
    ended = run(ledger, fixtures, packages, "--json", "--no-baselines")
    assert ended.code == 0, ended.err
    assert msgspec.json.decode(ended.out)["results"][0]["scenario_id"] == "one"
    assert json.loads(ended.out)

"""Everything that could not be scored is refused when it is loaded: with its file, its key, and what to do."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from instruments.errors import BadFixtures, FixtureFault
from instruments.evals.suite.loader import load
from tests.instruments.evals.suites import (
    DESCRIPTION,
    INVESTIGATION,
    expecting,
    scenario,
)

SUBSTRING = {"patterns": ["a"], "match_type": "substring"}
UNEDITED = f"{'todo'.upper()}: Add expected root cause patterns"


def faults(
    tmp_path: Path, description: object = None, investigation: object = None, name: str = "scenario.json"
) -> tuple[FixtureFault, ...]:
    scenario(tmp_path / "suite" / "case", description, investigation, name=name)
    with pytest.raises(BadFixtures) as refused:
        load(tmp_path / "suite")
    assert all(fault.advice.endswith((".", "?")) for fault in refused.value.faults)
    assert all(str(fault) in refused.value.detail for fault in refused.value.faults)
    return refused.value.faults


def cause(**given: object) -> dict[str, Any]:
    return expecting(root_cause=given)


EXPECTATIONS: list[tuple[object, str, str]] = [
    (cause(patterns=["a"], match_type="fuzzy"), "root_cause.match_type", "'fuzzy' is unknown"),
    (cause(patterns=["a"], match_type=["regex"]), "root_cause.match_type", "a list is unknown"),
    (cause(patterns=["a"]), "root_cause.match_type", "is missing"),
    (cause(patterns=[], match_type="regex"), "root_cause.patterns", "is empty"),
    (cause(patterns=None, match_type="regex"), "root_cause.patterns", "is empty"),
    (cause(patterns="a", match_type="regex"), "root_cause.patterns", "is 'a', but must be a list"),
    (cause(match_type="regex"), "root_cause.match_type", "has no effect without patterns"),
    (cause(patterns=[""], match_type="substring"), "root_cause.patterns[0]", "is empty"),
    (cause(patterns=["a", " \n"], match_type="substring"), "root_cause.patterns[1]", "is empty"),
    (cause(patterns=[403], match_type="substring"), "root_cause.patterns[0]", "is 403, but must be a text"),
    (cause(patterns=[None], match_type="substring"), "root_cause.patterns[0]", "is nothing, but must be a text"),
    (cause(patterns=[["a"]], match_type="substring"), "root_cause.patterns[0]", "is a list, but must be a text"),
    (cause(patterns=[".*"], match_type="regex"), "root_cause.patterns[0]", "'.*' matches the empty text"),
    (cause(patterns=["a*"], match_type="regex"), "root_cause.patterns[0]", "matches the empty text, and so every text"),
    (cause(patterns=[".+"], match_type="regex"), "root_cause.patterns[0]", "'.+' matches every text"),
    (cause(patterns=["a(b"], match_type="regex"), "root_cause.patterns[0]", "is not a regular expression: missing )"),
    (cause(patterns=["*a"], match_type="regex"), "root_cause.patterns[0]", "at character 1"),
    (cause(patterns=["(a{1000}){1000}"], match_type="regex"), "root_cause.patterns[0]", "comes to 1,002,000"),
    (cause(patterns=["(a|(?1))b"], match_type="regex"), "root_cause.patterns[0]", "calls a group again"),
    (cause(patterns=["a" * 1001], match_type="substring"), "root_cause.patterns[0]", "has 1,001 characters"),
    (cause(patterns=["a"] * 201, match_type="substring"), "", "holds 201 patterns"),
    (cause(patterns=[UNEDITED], match_type="regex"), "root_cause.patterns[0]", "as a template leaves it"),
    (cause(exact=False), "root_cause.exact", "is false, but must be a text"),
    (cause(exact=""), "root_cause.exact", "is empty"),
    (cause(exact=[]), "root_cause", "states nothing"),
    (cause(exact=["a", 1.5]), "root_cause.exact[1]", "is 1.5, but must be a text"),
    (cause(), "root_cause", "states nothing"),
    (cause(any_of=[]), "root_cause", "states nothing"),
    (cause(none_of=["a"]), "root_cause", "expects nothing to be found"),
    (cause(none_of=["a"], any_of=[]), "root_cause", "expects nothing to be found"),
    (cause(patern=["a"], match_type="regex"), "root_cause.patern", "is not a key here"),
    (cause(any_of=["a"], all_off=["b"]), "root_cause.all_off", "is not a key here"),
    (cause(all_of=[{"patterns": ["a"], "match_typ": "regex"}]), "root_cause.all_of[0].match_typ", "is not a key here"),
    (cause(all_of=[SUBSTRING, {"patterns": ["a"]}]), "root_cause.all_of[1].match_type", "is missing"),
    (cause(all_of=[{"match_type": "regex"}]), "root_cause.all_of[0].patterns", "is missing"),
    (cause(any_of=SUBSTRING), "root_cause.any_of", "is a mapping, but must be a list"),
    (cause(any_of=["a", 5]), "root_cause.any_of[1]", "is 5, but must be a text"),
    (
        cause(any_of=["a"], none_of=[{"patterns": ["b("], "match_type": "regex"}]),
        "root_cause.none_of[0].patterns[0]",
        "no",
    ),
    (expecting(root_cause="the disk"), "root_cause", "is 'the disk', but must be a mapping"),
    (expecting(root_cause=None), "root_cause", "states nothing"),
    (expecting(root_cause=SUBSTRING, propsed_fix=SUBSTRING), "propsed_fix", "is not a key here"),
    (expecting(failure_mode="image_pull"), "failure_mode", "is 'image_pull', but must be a mapping"),
    (expecting(failure_mode={"exact": None}), "failure_mode.exact", "states nothing"),
    (expecting(failure_mode={"exact": "--"}), "failure_mode.exact", "'--' holds no word"),
    (expecting(failure_mode={"exact": []}), "failure_mode.exact", "is empty"),
    (expecting(next_steps={"command_types": ["kubectl", "!"]}), "next_steps.command_types[1]", "holds no word"),
    (expecting(next_steps={"command_types": "kubectl"}), "next_steps.command_types", "but must be a list"),
    (expecting(next_steps={"none_of": ["delete"]}), "next_steps", "expects nothing to be found"),
    (expecting(next_steps={"command_types": []}), "next_steps", "states nothing"),
    (expecting(next_steps={"must_includes": ["a"]}), "next_steps.must_includes", "is not a key here"),
    (expecting(), "", "expects nothing"),
    (DESCRIPTION | {"expected_outcomes": None}, "", "expects nothing"),
    (DESCRIPTION | {"expected_outcomes": []}, "", "is a list, but must be a mapping"),
]


@pytest.mark.parametrize(("description", "key", "what"), EXPECTATIONS)
def test_an_expectation_that_could_not_be_scored(tmp_path: Path, description: object, key: str, what: str) -> None:
    found = faults(tmp_path, description)
    wanted = f"expected_outcomes.{key}".rstrip(".")
    assert [fault.key for fault in found] == [wanted]
    assert what in found[0].problem
    assert found[0].file == str(tmp_path / "suite" / "case" / "scenario.json")


def scoring(**given: object) -> dict[str, Any]:
    return DESCRIPTION | {"scoring": given}


NAN, INFINITY = float("nan"), float("inf")

DESCRIPTIONS: list[tuple[object, str | None, str]] = [
    (
        scoring(root_cause_weight=0.9, fix_accuracy_weight=0.9, hypothesis_quality_weight=0.9, next_steps_weight=0.9),
        "scoring",
        "has weights that sum to 3.6, not to 1: root_cause_weight 0.9 + ",
    ),
    (scoring(root_cause_weight=0.5), "scoring", "sum to 1.1"),
    (scoring(root_cause_weight=0.40001), "scoring", "sum to 1.00001"),
    (scoring(root_cause_weight=-0.4), "scoring.root_cause_weight", "is -0.4, and must be from 0 to 1e+06"),
    (scoring(root_cause_weight="0.4"), "scoring.root_cause_weight", "is '0.4', but must be a number"),
    (scoring(root_cause_weight=True), "scoring.root_cause_weight", "is true, but must be a number"),
    (scoring(root_cause_weigth=0.4), "scoring.root_cause_weigth", "is not a key here"),
    (scoring(pass_threshold=0), "scoring.pass_threshold", "is 0, and must be above 0 and at most 100"),
    (scoring(pass_threshold=100.5), "scoring.pass_threshold", "is 100.5, and must be"),
    (DESCRIPTION | {"scoring": [70]}, "scoring", "is a list, but must be a mapping"),
    (
        scoring(root_cause_weight=0, fix_accuracy_weight=0.7),
        "scoring",
        "gives no weight to anything that is expected",
    ),
    ({key: value for key, value in DESCRIPTION.items() if key != "name"}, "name", "is missing"),
    (DESCRIPTION | {"name": ""}, "name", "is empty"),
    (DESCRIPTION | {"name": 403}, "name", "is 403, but must be a text"),
    (DESCRIPTION | {"name": "a" * 257}, "name", "has 257 characters"),
    (DESCRIPTION | {"family": True}, "family", "is true, but must be a text"),
    (DESCRIPTION | {"weight": 0}, "weight", "is 0, and must be above 0"),
    (DESCRIPTION | {"weight": "2"}, "weight", "is '2', but must be a number"),
    (DESCRIPTION | {"test_config": "llm"}, "test_config", "is 'llm', but must be a mapping"),
    (DESCRIPTION | {"scorings": {}}, "scorings", "is not a key that is read"),
    ([DESCRIPTION], None, "is a list, but must be a mapping"),
    (None.__class__.__name__.encode(), None, "is not JSON"),
]


@pytest.mark.parametrize(("description", "key", "what"), DESCRIPTIONS)
def test_a_description_that_could_not_be_scored(tmp_path: Path, description: object, key: str, what: str) -> None:
    found = faults(tmp_path, description)
    assert [fault.key for fault in found] == [key]
    assert what in found[0].problem
    assert found[0].file == str(tmp_path / "suite" / "case" / "scenario.json")


def test_a_misspelt_key_is_reported_what_was_meant(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, expecting(root_cause=SUBSTRING, propsed_fix=SUBSTRING))
    assert fault.advice == "Did you mean proposed_fix?"
    (fault,) = faults(tmp_path, cause(patterns=["a"], match_type="regexp"))
    assert fault.advice.startswith("Did you mean regex?")


YAMLS: list[tuple[str, str | None, str, str]] = [
    ("root_cause: {patterns: [403], match_type: substring}", "root_cause.patterns[0]", "is 403", "Put it in quotes"),
    ("root_cause: {exact: no}", "root_cause.exact", "is false", "Put it in quotes"),
    ("root_cause: {exact: 1.5}", "root_cause.exact", "is 1.5", "Put it in quotes"),
    ("root_cause: {exact: a, exact: b}", None, "has the key 'exact' twice, again in line 3", "Keep one"),
    ("root_cause: !!python/object/apply:os.system [ls]", None, "line 3: the tag tag:yaml.org,2002:python", "tag out"),
    ("root_cause: !include other.yaml", None, "line 3: the tag !include", "Leave the tag out"),
    ("root_cause: {exact: *missing}", None, "line 3: the alias *missing names nothing before it", "Name an anchor"),
    ("root_cause: {? [a, b] : c}", None, "line 3: a key is not text", "Write a key"),
    ("root_cause: {<<: [a]}", None, "line 3: << adds what has no keys", "mapping"),
    ("root_cause: [", None, "is not YAML: line", "Correct it"),
    ("root_cause: {exact: a}\n---\nmore", None, "holds 2 documents", "Keep one"),
]


@pytest.mark.parametrize(("expected", "key", "what", "advice"), YAMLS)
def test_yaml_that_says_something_else_than_is_meant(
    tmp_path: Path, expected: str, key: str | None, what: str, advice: str
) -> None:
    found = faults(tmp_path, f"name: Case\nexpected_outcomes:\n  {expected}\n", name="scenario.yaml")
    assert [fault.key for fault in found] == [key and f"expected_outcomes.{key}"]
    assert what in found[0].problem
    assert advice in found[0].advice


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf"])
def test_weights_of_yaml_that_are_no_numbers(tmp_path: Path, value: str) -> None:
    text = f"{json.dumps(DESCRIPTION)[:-1]}, 'scoring': {{'root_cause_weight': {value}}}}}"
    (fault,) = faults(tmp_path, text, name="scenario.yaml")
    assert fault.key == "scoring.root_cause_weight"
    text = f"{json.dumps(DESCRIPTION)[:-1]}, 'test_config': {{'limits': [1, {value}]}}}}"
    (fault,) = faults(tmp_path, text, name="scenario.yaml")
    assert fault.key == "test_config.limits[1]"


def test_a_billion_laughs_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [laugh, laugh]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30))]
    (fault,) = faults(tmp_path, "\n".join(lines), name="scenario.yaml")
    assert "has more than 50,000 values" in fault.problem


@pytest.mark.parametrize("deep", ["[" * 100_000, "- " * 100_000, "{a: " * 1_000])
def test_yaml_that_nests_for_ever_is_refused(tmp_path: Path, deep: str) -> None:
    (fault,) = faults(tmp_path, deep, name="scenario.yaml")
    assert "nests" in fault.problem or "YAML" in fault.problem


INVESTIGATIONS: list[tuple[object, str | None, str]] = [
    ([INVESTIGATION], None, "is not a JSON object"),
    (b"", None, "is empty"),
    (b'{\n "a": 1,\n "a": 2}', None, "has the key 'a' twice, again in line 3"),
    (b'{"a": [{"b": ":", "c\\"": {"\\u0062": 1, "b": 2}}]}', None, "has the key 'b' twice, again in line 1"),
    (b'{\n"a": NaN}', None, "line 2 has NaN, which is not a number"),
    (b'{"a": -Infinity}', None, "is not JSON"),
    (b'{"a": 1e999}', None, "is not JSON: number out of range"),
    (b'{"a": "\xff"}', None, "is not JSON"),
    (b'{"a": 1', None, "is not JSON: input data was truncated"),
    (b'{"a": 1} 2', None, "is not JSON"),
    (b'{"a":' + b"[" * 100_000, None, "nests more than 200 deep"),
    (b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", None, "nests more than 200 deep"),
    ({"analysis": "rca"}, "analysis", "is 'rca', but must be an object"),
    ({"analysis": {"rca": "text"}}, "analysis.rca", "has a wrong type: expected `object"),
    (
        {"analysis": {"hypotheses": [{"why": "text"}]}},
        "analysis.hypotheses[0].why",
        "expected `array | null`, got `string`",
    ),
]


@pytest.mark.parametrize(("investigation", "key", "what"), INVESTIGATIONS)
def test_an_investigation_that_is_none(tmp_path: Path, investigation: object, key: str | None, what: str) -> None:
    found = faults(tmp_path, None, investigation)
    assert [fault.key for fault in found] == [key]
    assert what in found[0].problem
    assert found[0].file == str(tmp_path / "suite" / "case" / "investigation.json")


def test_every_fault_of_a_suite_is_reported_at_once(tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    fix = {"all_of": [SUBSTRING, {"patterns": ["("], "match_type": "regexp"}]}
    scenario(suite / "a", expecting(root_cause={}, proposed_fix=fix) | {"scoring": {"pass_threshold": 0}}, b"[]")
    scenario(suite / "b" / "llm", b"{")
    scenario(suite / "c")
    (suite / "d").mkdir()
    (suite / "d" / "scenario.yaml").write_text("name: alone")
    (suite / "e" / "llm").mkdir(parents=True)
    (suite / "e" / "llm" / "investigation.json").write_text("{}")
    scenario(suite / "f" / "g" / "h")
    scenario(suite / "i", name="scenario.yaml")
    scenario(suite / "i", name="scenario.json")
    with pytest.raises(BadFixtures) as refused:
        load(suite)
    reported = [(fault.file.removeprefix(f"{suite}/"), fault.key) for fault in refused.value.faults]
    assert sorted(reported, key=str) == sorted(
        [
            ("a/scenario.json", "expected_outcomes.root_cause"),
            ("a/scenario.json", "expected_outcomes.proposed_fix.all_of[1].match_type"),
            ("a/scenario.json", "scoring.pass_threshold"),
            ("a/investigation.json", None),
            ("b/llm/scenario.json", None),
            ("d", None),
            ("d/scenario.yaml", "expected_outcomes"),
            ("e/llm", None),
            ("f/g/h", None),
            ("i", None),
        ],
        key=str,
    )
    assert refused.value.detail.startswith("10 faults in the scenarios:\n  ")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    scenario(suite / "a")
    (suite / "a" / "investigation.json").unlink()
    (suite / "a" / "investigation.json").symlink_to("investigation.json")
    scenario(suite / "b")
    (suite / "b" / "investigation.json").unlink()
    os.mkfifo(suite / "b" / "investigation.json")
    scenario(suite / "c", b"name: \xff\xfe", name="scenario.yaml")
    scenario(suite / "d", b"name: x\n" + b"#" * (1024 * 1024), name="scenario.yaml")
    with pytest.raises(BadFixtures) as refused:
        load(suite)
    assert [fault.problem for fault in refused.value.faults] == [
        "cannot be read: Too many levels of symbolic links",
        "is not a file, but a folder, a pipe or a device",
        "is not UTF-8: line 1 has the byte 0xff",
        "is larger than 1,048,576 bytes",
    ]


def test_a_link_back_to_the_suite_is_not_followed_for_ever(tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    scenario(suite / "job" / "llm")
    (suite / "job" / "back").symlink_to(suite)
    (suite / "self").symlink_to("self")
    assert [each.title for each in load(suite).scenarios] == ["job/llm"]

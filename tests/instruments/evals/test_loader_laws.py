"""Laws of loading: files with equal content load alike, and any file either loads or is refused."""

import json
import math
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from instruments.errors import BadFixtures
from instruments.evals.regex_patterns import BadPattern, compile_pattern, compile_selective
from instruments.evals.scenario import Scenario
from instruments.evals.suite.json_yaml_reader import json_value, yaml_value
from instruments.evals.suite.loader import load
from instruments.yaml_reader import UnreadableFile
from tests.instruments.evals.suites import DESCRIPTION, INVESTIGATION, scenario

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=15,
)
objects = st.dictionaries(texts.filter(lambda name: name != "analysis"), values, max_size=5)


def loaded(description: object, investigation: object, name: str = "scenario.json") -> Scenario:
    """The scenario of these files. Errors: BadFixtures."""
    with tempfile.TemporaryDirectory() as folder:
        scenario(Path(folder) / "suite" / "case", description, investigation, name=name)
        return load(Path(folder) / "suite").scenarios[0]


def reversed_keys(value: object) -> object:
    """The same value with every mapping's keys the other way round."""
    if isinstance(value, dict):
        return {name: reversed_keys(value[name]) for name in reversed(value)}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


@given(objects, st.dictionaries(texts, values, max_size=3))
@example({}, {"<<": {"a": 1}})
def test_digests_are_of_what_is_said(investigation: dict[str, Any], config: dict[str, Any]) -> None:
    described = DESCRIPTION | {"test_config": config}
    one = loaded(described, investigation)
    spaced = json.dumps(reversed_keys(investigation), indent="\t", ensure_ascii=False).replace("\n", "\r\n")
    dumped = yaml.safe_dump(reversed_keys(described))
    other = loaded(dumped.replace("\n", "\r\n"), spaced, name="scenario.yaml")
    assert other.fixture_digest == one.fixture_digest
    assert other.expectation_digest == one.expectation_digest
    assert other.investigation == investigation


@given(objects, objects)
def test_digests_differ_where_something_else_is_said(one: dict[str, Any], other: dict[str, Any]) -> None:
    first, second = loaded(DESCRIPTION, one), loaded(DESCRIPTION, other)
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (first.fixture_digest == second.fixture_digest) is same
    assert first.expectation_digest == second.expectation_digest


@given(values.filter(lambda value: value is None or isinstance(value, dict)))
def test_a_captured_analysis_is_part_of_no_digest(analysis: object) -> None:
    plain = {name: value for name, value in INVESTIGATION.items() if name != "analysis"}
    try:
        with_it = loaded(DESCRIPTION, plain | {"analysis": analysis})
    except BadFixtures:
        return
    assert with_it.fixture_digest == loaded(DESCRIPTION, plain).fixture_digest
    assert with_it.captured == (analysis or None)


@pytest.mark.parametrize(
    ("change", "fixture", "expectation"),
    [
        ({"name": "Other", "cluster": "c", "description": "d", "family": "f", "captured_by": "me"}, False, False),
        ({"scoring": {}}, False, False),
        ({"scoring": {"root_cause_weight": 0.4, "pass_threshold": 70}}, False, False),
        ({"weight": 1}, False, False),
        ({"test_config": None}, False, False),
        ({"scoring": {"pass_threshold": 71}}, True, True),
        ({"weight": 2}, True, False),
        ({"test_config": {"enable_llm": True}}, True, False),
        ({"expected_outcomes": {"root_cause": {"any_of": ["image"]}}}, True, True),
    ],
)
def test_what_is_part_of_which_digest(change: dict[str, Any], fixture: bool, expectation: bool) -> None:
    one, other = loaded(DESCRIPTION, INVESTIGATION), loaded(DESCRIPTION | change, INVESTIGATION)
    assert (one.fixture_digest != other.fixture_digest) is fixture
    assert (one.expectation_digest != other.expectation_digest) is expectation


@given(st.binary(max_size=60) | texts.map(str.encode), st.sampled_from(["scenario.yaml", "scenario.json"]))
@example(b"? ", "scenario.yaml")
@example(b"&a [*a]", "scenario.yaml")
@example(b"{<<: {a: 1}, a: 2}", "scenario.yaml")
@example(b'"\\ud800"', "scenario.yaml")
@example(b'{"\\ud800": 1}', "scenario.json")
@example(b"name: " + b"1" * 5_000, "scenario.yaml")
@example(b"name: 0b", "scenario.yaml")
@example(b"!!int 'x'", "scenario.yaml")
@example(b"!!bool x", "scenario.yaml")
@example(b"!!float ''", "scenario.yaml")
@example(b"%YAML 3.0\n--- a", "scenario.yaml")
def test_any_bytes_load_or_are_refused(body: bytes, name: str) -> None:
    for description, investigation in ((body, INVESTIGATION), (DESCRIPTION, body)):
        with suppress(BadFixtures):
            assert isinstance(loaded(description, investigation, name=name), Scenario)


wanted = st.sampled_from(["a", "b+", "", ".*", "(", 403, None, True, "x" * 1001]) | values
keys = st.sampled_from(["patterns", "match_type", "exact", "all_of", "any_of", "none_of", "command_types", "patern"])
matchers = st.dictionaries(
    keys, wanted | st.lists(wanted, max_size=3) | st.sampled_from(["regex", "exact"]), max_size=4
)
nearly = st.fixed_dictionaries(
    {"name": st.just("Case") | values},
    optional={
        "expected_outcomes": st.dictionaries(
            st.sampled_from(["root_cause", "failure_mode", "proposed_fix", "hypotheses", "next_steps", "other"]),
            matchers | st.dictionaries(keys, st.lists(matchers, max_size=2), max_size=2) | values,
        ),
        "scoring": st.dictionaries(st.sampled_from(["root_cause_weight", "pass_threshold"]), values) | values,
        "test_config": values,
        "weight": values,
    },
)


@given(nearly)
def test_descriptions_that_are_nearly_right_load_or_are_refused(description: dict[str, Any]) -> None:
    try:
        found = loaded(description, INVESTIGATION)
    except BadFixtures:
        return
    scoring = found.about.scoring
    weights = (
        scoring.root_cause_weight,
        scoring.fix_accuracy_weight,
        scoring.hypothesis_quality_weight,
        scoring.next_steps_weight,
    )
    assert math.isclose(math.fsum(weights), 1, abs_tol=1e-6)


@given(values)
def test_json_is_read_as_it_was_written(value: object) -> None:
    assert json_value(json.dumps(value).encode()) == value
    assert json_value(json.dumps(value, ensure_ascii=False, indent=1).encode()) == value


@given(objects.filter(bool), st.data())
def test_a_key_that_stands_twice_is_found_at_any_depth(value: dict[str, Any], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(value)))
    double = f"{json.dumps(value)[:-1]}, {json.dumps(name)}: 1}}"
    for text in (double, f'[{{"a": "\\\\", "b": [{double}]}}]'):
        with pytest.raises(UnreadableFile, match="twice, again in line 1"):
            json_value(text.encode())
        with pytest.raises(UnreadableFile, match=r"twice, again in line 1|is not YAML"):
            yaml_value(text.encode())


@given(values)
def test_yaml_is_read_as_it_was_written(value: object) -> None:
    assert yaml_value(yaml.safe_dump(value).encode()) == value


@given(st.text(st.sampled_from("ab: -[]{},\n'\"#&*|>?<017_.e+x~"), max_size=30))
def test_yaml_says_what_it_says_to_pyyaml(text: str) -> None:
    try:
        ours = yaml_value(text.encode())
    except UnreadableFile:
        return
    try:
        theirs = yaml.load(text, Loader=_Plain)
    except yaml.YAMLError:  # `<<` where it merges nothing
        return
    assume(_has_texts_as_keys(theirs))
    assert repr(ours) == repr(theirs)


class _Plain(yaml.CSafeLoader):
    """PyYAML without times."""


def _text(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> object:
    return loader.construct_scalar(node)


_Plain.add_constructor("tag:yaml.org,2002:timestamp", _text)


def _has_texts_as_keys(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(name, str) and _has_texts_as_keys(each) for name, each in value.items())
    return not isinstance(value, list) or all(map(_has_texts_as_keys, value))


@given(st.text(st.sampled_from("ab(|)[]{}1023,*+?.\\^$dwbBpLR<>=!:PRx#-&i~"), max_size=25))
@example("(?R)")
@example("(?P<n>a(?&n)?)")
@example("(?:" * 400 + "a" + ")" * 400)
@example("a{99999999999999999999}")
@example("(?:(?:[[:alpha:](]a{100}){100}){100}")
@example("(?x)(?:a{100} # (\n){1000}")
@example("\\")
@example("[")
@example("(?<=a|b+)c")
@example("\\N{nothing}")
@example("(?P<")
def test_any_pattern_is_compiled_or_refused(pattern: str) -> None:
    with suppress(BadPattern):
        assert compile_selective(pattern).search("", timeout=1) is None


@pytest.mark.parametrize(
    "pattern",
    [
        r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
        r"[0-9a-f]{64}",
        r"image.*not found",
        r"S3.*(?:access denied|403|forbidden)",
        r"[\w.-]{1,253}/[\w.-]{1,128}(?::[\w.-]{1,128})?",
        r"exit code (?!0)\d+",
        r"[]a(]{1000}b",
        r"\({2000}",
        r"(?i)oom-?kill(?:ed)?",
        r"sha256[:=][0-9a-f]{64}.*[[:xdigit:]]{64}",
        r"[[({]{100}.{100}[\]]",
        r"a{0,9999999}b",
        r"(?:(?:a?){1,90}){1,90}b",
    ],
)
def test_sound_patterns_are_taken(pattern: str) -> None:
    compile_selective(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a{1000}){1000}",
        "(?:(?:a?){1000}){1000}$",
        "((((a{1000}){1000}){1000}){1000})",
        "(?:a{100}[[:alpha:](]){1000}",
        "(?:a{100}[[:L:](]){1000}",
        "(?:a{100}[[(]){1000}",
        "(?:a{100}(?#()b){1000}",
        r"(?:\(a{101}\)){101}",
        "a{10001}",
    ],
)
def test_counts_that_would_take_all_memory_are_refused(pattern: str) -> None:
    with pytest.raises(BadPattern, match="repeats so much that it comes to"):
        compile_pattern(pattern)

"""`judge:` in a scenario: read strictly, and a part of its digests."""

from pathlib import Path

import pytest

from instruments.errors import BadFixtures
from instruments.evals.judging.label_ids import label_id_of
from instruments.evals.scenario import UNEDITED, Criterion, Scenario
from instruments.evals.suite.loader import load
from tests.instruments.evals.suites import DESCRIPTION, scenario

EXPECTATIONS = "7a9302b6c1f083e60cb9b37c97df386b80f743ca6d793a3b8b3bb6e9174ab187"
FIXTURE = "05edb480852fc11eff19a1e450308eee9a03c9c17611972f899b4a467646aecf"
"""The digests of the plain scenario before scenarios could have a rubric."""

ONE = {"name": "cause", "question": "Is the cause right?"}


def loaded(folder: Path, judge: object) -> Scenario:
    scenario(folder / "one", DESCRIPTION | {"judge": judge})
    (found,) = load(folder).scenarios
    return found


def test_a_rubric_is_read(tmp_path: Path) -> None:
    found = loaded(tmp_path, {"criteria": [ONE, {**ONE, "name": "fix", "weight": 3, "reference": "Push the tag."}]})
    assert found.about.judge is not None
    assert found.about.judge.criteria == (
        Criterion(name="cause", question="Is the cause right?"),
        Criterion(name="fix", question="Is the cause right?", weight=3.0, reference="Push the tag."),
    )


def test_a_scenario_without_a_rubric_keeps_its_digests(tmp_path: Path) -> None:
    scenario(tmp_path / "one")
    (plain,) = load(tmp_path).scenarios
    assert plain.expectation_digest == EXPECTATIONS
    assert plain.fixture_digest == FIXTURE


def test_another_rubric_gives_other_digests(tmp_path: Path) -> None:
    rubrics: list[object] = [
        None,
        {"criteria": [ONE]},
        {"criteria": [{**ONE, "question": "Is it?"}]},
        {"criteria": [{**ONE, "weight": 2}]},
        {"criteria": [{**ONE, "reference": "tag"}]},
        {"criteria": [ONE, {**ONE, "name": "fix"}]},
    ]
    found = [loaded(tmp_path / str(at), rubric) for at, rubric in enumerate(rubrics)]
    assert len({each.expectation_digest for each in found}) == len(rubrics)
    assert len({each.fixture_digest for each in found}) == len(rubrics)
    stated = loaded(tmp_path / "stated", {"criteria": [{**ONE, "weight": 1}]})
    assert stated.expectation_digest == found[1].expectation_digest


@pytest.mark.parametrize(
    ("judge", "key", "problem"),
    [
        ("strict", "judge", "must be a mapping"),
        ([ONE], "judge", "must be a mapping"),
        ({}, "judge.criteria", "is empty"),
        ({"criteria": []}, "judge.criteria", "is empty"),
        ({"criteria": "cause"}, "judge.criteria", "must be a list"),
        ({"criterion": [ONE]}, "judge.criterion", "is not a key here"),
        ({"criteria": ["cause"]}, "judge.criteria[0]", "must be a mapping"),
        ({"criteria": [{"name": "cause"}]}, "judge.criteria[0].question", "is missing"),
        ({"criteria": [{"question": "Why?"}]}, "judge.criteria[0].name", "is missing"),
        ({"criteria": [{**ONE, "name": ""}]}, "judge.criteria[0].name", "is empty"),
        ({"criteria": [{**ONE, "name": "root cause"}]}, "judge.criteria[0].name", "cannot name a criterion"),
        ({"criteria": [{**ONE, "name": "x" * 65}]}, "judge.criteria[0].name", "cannot name a criterion"),
        ({"criteria": [{**ONE, "name": 3}]}, "judge.criteria[0].name", "must be a text"),
        ({"criteria": [{**ONE, "question": f"{UNEDITED}: ask"}]}, "judge.criteria[0].question", "as a template leaves"),
        ({"criteria": [{**ONE, "question": "x" * 4_001}]}, "judge.criteria[0].question", "4,001 characters"),
        ({"criteria": [{**ONE, "reference": 7}]}, "judge.criteria[0].reference", "must be a text"),
        ({"criteria": [{**ONE, "weigth": 2}]}, "judge.criteria[0].weigth", "is not a key here"),
        ({"criteria": [{**ONE, "weight": -1}]}, "judge.criteria[0].weight", "from 0 to"),
        ({"criteria": [{**ONE, "weight": "2"}]}, "judge.criteria[0].weight", "must be a number"),
        ({"criteria": [{**ONE, "weight": 0}]}, "judge.criteria", "gives no weight"),
        ({"criteria": [ONE, ONE]}, "judge.criteria[1].name", "names an earlier criterion"),
        ({"criteria": [{**ONE, "name": f"c{n}"} for n in range(21)]}, "judge.criteria", "at most 20"),
    ],
)
def test_a_faulty_rubric_is_refused_with_its_key(judge: object, key: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(BadFixtures) as refused:
        loaded(tmp_path, judge)
    (fault, *_) = (fault for fault in refused.value.faults if fault.key == key)
    assert problem in fault.problem
    assert fault.advice


def test_a_misspelt_key_is_refused(tmp_path: Path) -> None:
    scenario(tmp_path / "one", DESCRIPTION | {"judges": {"criteria": [ONE]}})
    with pytest.raises(BadFixtures, match="Did you mean judge"):
        load(tmp_path)


def test_a_label_is_named_by_scenario_answer_and_criterion() -> None:
    names = {label_id_of(*given) for given in (("a", "d", "c"), ("a", "d", None), ("b", "d", "c"), ("a", "e", "c"))}
    assert len(names) == 4
    assert label_id_of("a", "d", "c") == "0910bd309abef2bde6589e76506b78e6"

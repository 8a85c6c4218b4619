"""How far inputs tell truths apart: against every answer that equal inputs can get."""

from itertools import product
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruments.evals.scenario import Expectations, Expected, FailureMode, Scenario
from instruments.evals.suite.answerable_inputs import InputCeiling, measure_ceiling
from tests.instruments.evals.scenarios import scenario


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    return scenario(tmp_path_factory.mktemp("plain"), "a")


def case(plain: Scenario, symptom: object, expected: Expectations, **settings: object) -> Scenario:
    """A scenario with an input and expectations."""
    about = msgspec.structs.replace(plain.about, expected_outcomes=expected, test_config=settings)
    return msgspec.structs.replace(plain, about=about, investigation={"alert": {"labels": symptom}})


def root_cause(*patterns: str, mode: str | None = None) -> Expectations:
    return Expectations(
        root_cause=Expected(patterns=patterns, match_type="substring"),
        failure_mode=None if mode is None else FailureMode(exact=mode),
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=12))
def test_no_answers_are_right_more_often(plain: Scenario, pairs: list[tuple[int, int]]) -> None:
    """Every way to answer three inputs with one of four truths each, tried."""
    ceiling = measure_ceiling(case(plain, symptom, root_cause(str(truth))) for symptom, truth in pairs)
    right = max(sum(answers[symptom] == truth for symptom, truth in pairs) for answers in product(range(4), repeat=3))
    alone = [pair for pair in pairs if all(other[1] == pair[1] for other in pairs if other[0] == pair[0])]
    assert ceiling == InputCeiling(
        scenarios=len(pairs),
        inputs=len({symptom for symptom, _ in pairs}),
        truths=len({truth for _, truth in pairs}),
        ambiguous=len(pairs) - len(alone),
        answerable=right,
    )
    assert ceiling.share == right / len(pairs)
    assert (ceiling.answerable == len(pairs)) == (ceiling.ambiguous == 0)


def test_an_input_is_its_values_and_the_settings_for_the_agent(plain: Scenario) -> None:
    same = [case(plain, labels, root_cause("x")) for labels in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    other = case(plain, {"a": 1, "b": 2}, root_cause("x"), enable_llm=True)
    assert measure_ceiling(same).inputs == 1
    assert measure_ceiling([*same, other]).inputs == 2


def test_a_truth_is_the_root_cause_and_without_one_all_that_is_expected(plain: Scenario) -> None:
    one_cause = [case(plain, "x", root_cause("tag", mode=mode)) for mode in ("A", "B")]
    modes = [case(plain, "x", Expectations(failure_mode=FailureMode(exact=mode))) for mode in ("A", "B", "B")]
    assert (measure_ceiling(one_cause).truths, measure_ceiling(one_cause).ambiguous) == (1, 0)
    assert (measure_ceiling(modes).truths, measure_ceiling(modes).answerable) == (2, 2)


def test_the_captured_analysis_is_not_a_part_of_the_input(tmp_path: Path) -> None:
    first = scenario(tmp_path, "a")
    second = msgspec.structs.replace(scenario(tmp_path, "b"), captured={"rca": {"root_cause": "another"}})
    assert measure_ceiling([first, second]).inputs == 1

"""Ids of scenarios: valid, the same each time, and different for different samples of any suites."""

import re

from hypothesis import given
from hypothesis import strategies as st

from api.importers.results.run_events import keeps_sample, scenario_id_of
from events.limits import STREAM_ID_CHARS_MAX
from events.payload import STREAM_ID_PATTERN

NAMES = st.one_of(
    st.text(max_size=80),
    st.text(alphabet="a.-x0", max_size=70),
    st.sampled_from(["a", "a.b", "b", "b.c", "a b", "a-b", "a/b", "", ".", "é"]),
)
PAIRS = st.tuples(NAMES, NAMES)


def scenario_id(pair: tuple[str, str]) -> str:
    return scenario_id_of(*pair)


@given(PAIRS, PAIRS)
def test_different_samples_have_different_ids(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (scenario_id(one) == scenario_id(other)) == (one == other)


@given(PAIRS)
def test_an_id_is_the_id_of_a_stream(pair: tuple[str, str]) -> None:
    made = scenario_id(pair)
    assert re.fullmatch(STREAM_ID_PATTERN, made)
    assert len(made) <= STREAM_ID_CHARS_MAX


@given(PAIRS)
def test_a_cleaned_id_is_no_name_that_is_kept(pair: tuple[str, str]) -> None:
    """The id that a name is cleaned to is itself cleaned, when a sample has that name."""
    made = scenario_id(pair).rpartition(".")[2]
    if not keeps_sample(scenario_id(pair), pair[1]):
        assert scenario_id(("suite", f"a.{made}")) != f"suite.a.{made}"


def test_names_that_can_be_kept_are() -> None:
    assert scenario_id_of("quiz", "1") == "quiz.1"
    assert scenario_id_of("quiz.v2", "case_7-a") == "quiz.v2.case_7-a"
    assert scenario_id_of("quiz", "a b/c") == "quiz.a-b-c.x539138d518391ec4"
    assert scenario_id_of("quiz", "x" * 60).startswith("quiz.xxxx")

"""Scenarios are selected as pytest's `-k` selects tests."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from instruments.errors import BadExpression
from instruments.evals.scenario import Scenario
from instruments.evals.suite.filter_expression import select
from instruments.evals.suite.loader import load
from tests.instruments.evals.suites import DESCRIPTION, scenario


@pytest.fixture
def scenarios(tmp_path: Path) -> Sequence[Scenario]:
    scenario(tmp_path / "image" / "llm", DESCRIPTION | {"name": "Image pull", "family": "job_failed"})
    scenario(tmp_path / "image" / "no-llm", DESCRIPTION | {"name": "Image pull, alone", "family": "job_failed"})
    scenario(tmp_path / "oom", DESCRIPTION | {"name": "Größe", "family": "memory", "failure_type": "oom_killed"})
    return load(tmp_path).scenarios


@pytest.mark.parametrize(
    ("expression", "titles"),
    [
        ("", ["image/llm", "image/no-llm", "oom"]),
        ("  ", ["image/llm", "image/no-llm", "oom"]),
        ("image", ["image/llm", "image/no-llm"]),
        ("IMAGE", ["image/llm", "image/no-llm"]),
        ("image/llm", ["image/llm"]),
        ("no-llm", ["image/no-llm"]),
        ("oom_killed", ["oom"]),
        ("memory", ["oom"]),
        ("grösse", ["oom"]),
        ("not image", ["oom"]),
        ("image and not no-llm", ["image/llm"]),
        ("oom or no-llm", ["image/no-llm", "oom"]),
        ("not (oom or no-llm)", ["image/llm"]),
        ("NOT oom AND image", ["image/llm", "image/no-llm"]),
        ("image and alone or oom", ["image/no-llm", "oom"]),
        ("image and (alone or oom)", ["image/no-llm"]),
        ('"image pull, alone"', ["image/no-llm"]),
        ("'image pull' and not 'alone'", ["image/llm"]),
        ("not not oom", ["oom"]),
        ("nothing", []),
    ],
)
def test_an_expression_selects(scenarios: Sequence[Scenario], expression: str, titles: list[str]) -> None:
    assert [each.title for each in select(scenarios, expression)] == titles


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("image and", "a word, not, or ( belongs where its end is"),
        ("or image", "a word, not, or ( belongs where 'or' at character 1 is"),
        ("image oom", "and, or, or the end belongs where 'oom' at character 7 is"),
        ("(image", r"and, or, or ) belongs where its end is"),
        ("image)", "and, or, or the end belongs where ')' at character 6 is"),
        ("()", "a word, not, or ( belongs where ')' at character 2 is"),
        ("'image", "a quote is opened at character 1 and not closed"),
        ("(" * 100 + "a" + ")" * 100, "nests more than 50 deep"),
        ("not " * 100 + "a", "nests more than 50 deep"),
    ],
)
def test_a_broken_expression_is_refused(scenarios: Sequence[Scenario], expression: str, said: str) -> None:
    with pytest.raises(BadExpression) as refused:
        select(scenarios, expression)
    assert refused.value.detail == f"-k: {said}."
    assert "image and not llm" in refused.value.advice


def test_long_expressions_are_read(scenarios: Sequence[Scenario]) -> None:
    assert len(select(scenarios, " or ".join(["nothing"] * 5_000 + ["oom"]))) == 1

"""How many pairs of hand-written analyses the scorer ranks right, and the figures that the manual states of them."""

import pytest

from tests.instruments.evals import ranking
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "reference" / "evaluation-scores.md"
ALL = (*ranking.RULES_SEEN, *ranking.HELD_OUT)


def share(names: tuple[str, ...]) -> float:
    """Return the share of pairs that are ranked right."""
    pairs = ranking.ranked(names)
    return sum(pair.right for pair in pairs) / len(pairs)


def test_the_set_has_one_analysis_of_each_kind_for_twelve_scenarios() -> None:
    assert sorted(path.stem for path in ranking.FOLDER.glob("*.yaml")) == sorted(ALL)
    analyses = [ranking.read(name)["analyses"] for name in ALL]
    assert all(tuple(one) == ranking.KINDS for one in analyses)
    assert sum(len(one) for one in analyses) == 84
    assert all(set(ranking.totals(name)) == set(ranking.KINDS) for name in ALL)


def test_nine_of_ten_pairs_are_ranked_right_also_where_the_rules_were_not_written_for() -> None:
    assert share(ALL) >= 0.9
    assert share(ranking.HELD_OUT) >= 0.9


@pytest.mark.parametrize("name", ALL)
def test_correct_and_paraphrased_analyses_pass_and_no_other_kind_but_partial_does(name: str) -> None:
    totals = ranking.totals(name)
    assert all(totals[kind] >= 70.0 for kind in ranking.GOOD)
    assert all(totals[kind] < 70.0 for kind in ranking.BAD)


def row(names: tuple[str, ...], kind: str) -> str:
    """Return the row of the manual's table for a kind: its mean total, and the right ones of the pairs with it."""
    totals = [ranking.totals(name)[kind] for name in ALL]
    cells = [kind, f"{sum(totals) / len(totals):.0f}"]
    for part in (ranking.RULES_SEEN, ranking.HELD_OUT):
        pairs = [pair for pair in ranking.ranked(part) if pair.worse == kind]
        cells.append(f"{sum(pair.right for pair in pairs)} of {len(pairs)}" if pairs else "")
    return f"|{'|'.join(cells)}|"


@pytest.mark.slow
def test_the_manual_states_the_measured_figures() -> None:
    text = PAGE.read_text()
    for kind in ranking.KINDS:
        assert row(ALL, kind) in text
    for part in (ranking.RULES_SEEN, ranking.HELD_OUT, ALL):
        pairs = ranking.ranked(part)
        assert f"{sum(pair.right for pair in pairs)} of {len(pairs)} pairs" in text

"""Tables of any columns at any width: nothing is wider than the terminal, and nothing but free text is cut."""

from io import StringIO
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from api.cli.output import figure, make_facts, make_table, truncate
from api.cli.table import FittedTable

words = st.text("abcdefgh0123456789.", min_size=1, max_size=30)


def printed(table: FittedTable, width: int) -> list[str]:
    """The lines of a table."""
    console = Console(file=StringIO(), width=width, highlight=False, markup=False)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.trial("A11")
@given(rows=st.lists(st.tuples(words, words, words, words), min_size=1, max_size=4), width=st.integers(50, 120))
def test_only_free_text_is_cut(rows: list[tuple[str, str, str, str]], width: int) -> None:
    table = make_table(
        "id", "name", "figure", "text", right=("figure",), wrap=("name", "text"), drop=("text", "figure")
    )
    for key, name, number, text in rows:
        table.add_row(key, name, number, truncate(text))
    lines = printed(table, width)
    assert all(len(line) <= width for line in lines)
    left_out = next((line for line in lines if line.startswith("Too narrow for: ")), "")
    for key, _, number, _ in rows:
        assert any(line.startswith(f"{key} ") or line.rstrip() == key for line in lines)
        assert "figure" in left_out or any(f" {number} " in f"{line} " for line in lines)
    assert "…" not in "".join(lines) or "text" not in left_out


@pytest.mark.trial("A11")
def test_columns_are_left_out_in_their_order() -> None:
    table = make_table("id", "first", "second", "third", drop=("third", "first"))
    table.add_row("1" * 10, "a" * 10, "b" * 10, "c" * 10)
    assert printed(table, 46)[0].split() == ["id", "first", "second", "third"]
    assert printed(table, 45)[0].split() == ["id", "first", "second"]
    assert printed(table, 45)[-1] == "Too narrow for: third. --json has all."
    assert printed(table, 33)[0].split() == ["id", "second"]
    assert printed(table, 80) == printed(table, 46)


@pytest.mark.trial("A11")
def test_what_may_not_be_left_out_continues_below() -> None:
    table = make_table("id", "verdict")
    table.add_row("x" * 70, "overconfident?")
    lines = printed(table, 80)
    assert "overconfident?" in lines[1]
    assert "".join(line.split()[0] for line in lines[1:]) == "x" * 70


def test_facts_wrap() -> None:
    for width, label in product((30, 80), ("a", "outcome")):
        facts = make_facts()
        facts.add_row(label, " ".join(f"word{number}" for number in range(30)))
        lines = printed(facts, width)
        assert " ".join(lines).split() == [label, *(f"word{number}" for number in range(30))]
        assert all(len(line) <= width for line in lines)


def test_a_figure_has_decimals_also_if_it_is_whole() -> None:
    assert [figure("real")(number) for number in (1, 0.5)] == ["1.000", "0.500"]
    assert figure("place.score")(FigureRow(None)) == "-"


class FigureRow(NamedTuple):
    place: object

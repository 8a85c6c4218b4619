"""The numbers of a drawing as a table of texts."""

from collections.abc import Sequence
from typing import NamedTuple


class FigureTable(NamedTuple):
    """The numbers of a drawing: the names of the columns, and rows of texts."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

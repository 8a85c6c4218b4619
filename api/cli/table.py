"""Tables that fit the width of a terminal: whole columns are left out, but no verdict, number or id is cut."""

from collections.abc import Collection, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

GAP = 2
"""Spaces between two columns."""

WRAPPED_MIN = 16
"""Width to which columns that may shrink do so before a column is left out."""

Cell = str | Text


class FittedTable:
    """A table whose columns are chosen when it is printed, since only then the width is known.

    Columns in `right` are right-aligned. Those in `wrap` may shrink: a text continues on the next line, unless
    `truncate` has made it end with an ellipsis. If that is not enough, those in `drop` are left out, the first one
    first, and their names are printed below the table. Columns in neither keep their full width. Only if these alone
    are too wide, the widest continues on the next line.
    """

    def __init__(
        self, columns: Sequence[str], *, right: Collection[str], wrap: Collection[str], drop: Sequence[str]
    ) -> None:
        self.show_header = True
        self._columns = tuple(columns)
        self._right = right
        self._wrap = wrap
        self._drop = drop
        self._rows: list[tuple[Cell, ...]] = []

    def add_row(self, *cells: Cell) -> None:
        """Add a row with a cell for each column."""
        assert len(cells) == len(self._columns), "a cell for each column"
        self._rows.append(cells)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._fit(options.max_width)
        table = Table(
            box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold", show_header=self.show_header
        )
        for place, width in widths.items():
            name = self._columns[place]
            table.add_column(name, justify="right" if name in self._right else "left", width=width, overflow="fold")
        for row in self._rows:
            table.add_row(*(row[place] for place in widths))
        yield table
        if left_out := [name for place, name in enumerate(self._columns) if name and place not in widths]:
            yield Text(f"Too narrow for: {', '.join(left_out)}. --json has all.", style="dim")

    def _fit(self, width: int) -> dict[int, int]:
        """Return the places of the columns to print, each with its width."""
        needed = [self._needed(place) for place in range(len(self._columns))]
        least = {
            place: min(columns, WRAPPED_MIN) if self._columns[place] in self._wrap else columns
            for place, columns in enumerate(needed)
        }
        for name in self._drop:
            if _total(least) > width:
                least = {place: columns for place, columns in least.items() if self._columns[place] != name}
        self._grow(least, needed, width - _total(least))
        if (excess := _total(least) - width) > 0:
            widest = max(least, key=lambda place: least[place])
            least[widest] = max(1, least[widest] - excess)
        return least

    def _needed(self, place: int) -> int:
        """Return the width at which nothing in a column wraps."""
        texts = [self._columns[place]] if self.show_header else []
        texts += [cell.plain if isinstance(cell, Text) else cell for cell in (row[place] for row in self._rows)]
        return max((cell_len(text) for text in texts), default=0)

    def _grow(self, widths: dict[int, int], needed: Sequence[int], spare: int) -> None:
        """Give spare width to the columns that have shrunk, those first that lack least."""
        lacking = sorted((needed[place] - columns, place) for place, columns in widths.items())
        shrunk = [(lack, place) for lack, place in lacking if lack > 0]
        for number, (lack, place) in enumerate(shrunk):
            given = max(0, min(lack, spare // (len(shrunk) - number)))
            widths[place] += given
            spare -= given


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1)

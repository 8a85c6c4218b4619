"""A text that some rows state: a pair of row number and number of the text for each of these rows."""

from array import array
from collections.abc import Collection, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from projections.columns import as_array


class StatedTexts:
    """The texts that rows state. A row that states none takes no memory. Rows are added in ascending order."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        """The number of each text."""
        self._rows = array("I")
        self._numbers = array("I")

    def extend(self, first: int, texts: Sequence[str | None]) -> None:
        """Add the texts of new rows, None for those that state none. `first` is the number of the first row."""
        if texts.count(None) == len(texts):
            return
        for row, text in enumerate(texts, first):
            if text is not None:
                self._rows.append(row)
                self._numbers.append(self.texts.setdefault(text, len(self.texts)))

    def rows(self, wanted: Collection[str]) -> npt.NDArray[np.uint32]:
        """Return the numbers of the rows that state one of some texts."""
        numbers = [self.texts[text] for text in wanted if text in self.texts]
        return as_array(self._rows, np.uint32)[np.isin(as_array(self._numbers, np.uint32), numbers)]

    def numbers_of(self, rows: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
        """Return the number of the text of each of some rows, -1 where there is none."""
        stating, numbers = as_array(self._rows, np.uint32), as_array(self._numbers, np.uint32)
        if not len(stating):
            return np.broadcast_to(np.int64(-1), len(rows))
        place = np.minimum(np.searchsorted(stating, rows), len(stating) - 1)
        return np.where(stating[place] == rows, numbers[place].astype(np.int64), -1)

    def column(self, size: int) -> npt.NDArray[np.int64]:
        """Return the number of the text of each of `size` rows, -1 where there is none."""
        column = np.full(size, -1, dtype=np.int64)
        column[as_array(self._rows, np.uint32)] = as_array(self._numbers, np.uint32)
        return column

    def parts(self) -> tuple[bytes, bytes, list[str]]:
        """Return what `from_parts` makes an equal object of."""
        return self._rows.tobytes(), self._numbers.tobytes(), list(self.texts)

    @classmethod
    def from_parts(cls, rows: bytes, numbers: bytes, texts: list[str]) -> Self:
        """Make the object from what `parts` returned."""
        new = cls()
        new._rows.frombytes(rows)
        new._numbers.frombytes(numbers)
        new.texts = {text: number for number, text in enumerate(texts)}
        return new

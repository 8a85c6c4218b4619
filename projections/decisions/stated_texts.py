"""The numbers of texts that rows state: a column has the number of each row's text, or 0 for none."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

NO_TEXT: Final = 0
"""The number of a row that states no text."""


class StatedTexts:
    """Different texts, numbered from 1 in the order in which they were first stated."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts: dict[str, int] = {text: number for number, text in enumerate(texts, 1)}
        """The number of each text."""

    def numbers_of(self, texts: Sequence[str | None]) -> npt.NDArray[np.uint32]:
        """Return the numbers of some texts, NO_TEXT for None. New texts are added."""
        known = self.texts
        if texts.count(None) == len(texts):
            return np.zeros(len(texts), np.uint32)
        return np.array(
            [NO_TEXT if text is None else known.setdefault(text, len(known) + 1) for text in texts], np.uint32
        )

    def known(self, texts: Collection[str]) -> list[int]:
        """Return the numbers of those of some texts that any row states."""
        return [self.texts[text] for text in texts if text in self.texts]

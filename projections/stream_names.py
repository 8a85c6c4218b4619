"""The names of streams, which only the ledger stores: a view identifies a stream by the position of its first event."""

from collections.abc import Sequence
from itertools import islice

from ledger.log import LogReader
from projections.faulty_lines import FaultyLines


class StreamNames:
    """Looks up names by positions, and positions by names, many at once.

    If some lines are left out of the views, a stream begins with its first event that is not.
    """

    def __init__(self, log: LogReader, faulty: FaultyLines) -> None:
        self._log = log
        self._faulty = faulty

    async def subjects(self, positions: Sequence[int]) -> list[str]:
        """Return the streams of the events at some positions, in their order. Errors: LedgerUnavailable."""
        return await self._log.subjects(positions) if positions else []

    async def grouped(self, groups: Sequence[Sequence[int]]) -> list[list[str]]:
        """Return the streams of the events of several groups of positions. Errors: LedgerUnavailable."""
        subjects = iter(await self.subjects([position for group in groups for position in group]))
        return [list(islice(subjects, len(group))) for group in groups]

    async def first_positions(self, subjects: Sequence[str], upto: int) -> dict[str, int]:
        """Return the first position of each of some streams, without those that did not exist as of a position.

        Errors: LedgerUnavailable.
        """
        if self._faulty.found:
            found = {subject: self._faulty.firsts.get(subject, upto + 1) for subject in subjects}
        else:
            found = await self._log.first_positions(subjects) if subjects else {}
        return {subject: position for subject, position in found.items() if position <= upto}

    async def starting_with(self, beginning: str, upto: int, limit: int = 2) -> list[str]:
        """Return up to `limit` streams that existed as of a position and whose names start with a text.

        Errors: LedgerUnavailable.
        """
        if self._faulty.found:
            firsts = self._faulty.firsts.items()
            return list(islice((name for name, first in firsts if first <= upto and name.startswith(beginning)), limit))
        return await self._log.streams_starting_with(beginning, upto, limit)

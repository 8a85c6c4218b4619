"""Stream versions of any number of streams in bounded memory.

Streams are known by the hash of their subject, which is another in every process, so that nobody can choose two that
collide. What each has come to is in memory. Once there are too many, it goes to a temporary file as a run sorted by
hash: the version that a stream began with since the run before, the one it came to, and the position where it began. At
the end the runs are put together, a range of hashes at a time: within a stream each begins where the one before ended.
"""

from collections.abc import Sequence
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Protocol

from ledger.verify.findings import Check

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STREAMS_MAX = 1_000_000
"""Streams in memory, some 100 MB of them."""

RECORD = [("key", "<i8"), ("began", "<i8"), ("ended", "<i8"), ("position", "<i8")]
"""A stream in a run."""


class StreamPosition(Protocol):
    """An event in its stream."""

    @property
    def subject(self) -> str:
        """The stream."""
        ...

    @property
    def streamversion(self) -> int:
        """From 1, in the stream."""
        ...


class StreamVersionCheck:
    """The versions of the streams of a run of events: 1, 2, 3 ... where streams are `whole`, otherwise rising."""

    def __init__(self, check: Check, *, whole: bool) -> None:
        self._check = check
        self._whole = whole
        self._heads: dict[int, int] = {}
        self._began: dict[int, tuple[int, int]] = {}
        self._runs: list[int] = []
        self._file: IO[bytes] | None = None

    def take(self, events: Sequence[StreamPosition], places: Sequence[int]) -> None:
        """Check the events that follow, each at the position where it stands."""
        heads, later = self._heads, bool(self._runs)
        for event, place in zip(events, places, strict=True):
            key, version = hash(event.subject), event.streamversion
            held = heads.get(key)
            if held is None:
                if later:
                    self._began[key] = version, place
                elif version != 1:
                    self._doubt(event, place, 0)
            elif version != held + 1:
                self._doubt(event, place, held)
            heads[key] = version
        if len(heads) > STREAMS_MAX:
            self._write_run()

    def end(self) -> None:
        """All events were taken."""
        if not self._runs:
            self._check.count = len(self._heads)
            return
        self._write_run()
        assert self._file is not None
        with self._file:
            self._join()

    def _doubt(self, event: StreamPosition, place: int, held: int) -> None:
        """An event that is not the next of its stream; fine where only some of the stream are there."""
        version = event.streamversion
        if self._whole or version <= held:
            must = f"{held + 1:,} must stand" if self._whole else f"{held:,} stood before it"
            self._check.fault(f"{event.subject} has version {version:,} where {must}.", place)

    def _write_run(self) -> None:
        import numpy as np  # noqa: PLC0415 - only a history of very many streams needs it

        run = np.empty(len(self._heads), dtype=RECORD)
        run["key"] = np.fromiter(self._heads.keys(), np.int64, len(run))
        run["ended"] = np.fromiter(self._heads.values(), np.int64, len(run))
        first = (1, 0)
        began = [self._began.get(key, first) for key in self._heads]
        run["began"] = [version for version, _ in began]
        run["position"] = [position for _, position in began]
        run.sort(order="key")
        self._file = self._file or TemporaryFile()  # noqa: SIM115 - `end` closes it
        self._file.write(run.tobytes())
        self._runs.append(len(run))
        self._heads, self._began = {}, {}

    def _join(self) -> None:
        """Put the runs together, as many streams at a time as may be in memory."""
        import numpy as np  # noqa: PLC0415 - as above

        assert self._file is not None
        self._file.flush()
        records = np.memmap(self._file, dtype=RECORD, mode="r")
        runs = np.split(records, np.cumsum(self._runs)[:-1])
        parts = -(-len(records) // STREAMS_MAX)
        bounds = [-(2**63) + (2**64 // parts) * part for part in range(parts)]
        cuts = [[*np.searchsorted(run["key"], bounds).tolist(), len(run)] for run in runs]
        for part in range(parts):
            slices = [run[cut[part] : cut[part + 1]] for run, cut in zip(runs, cuts, strict=True)]
            self._check_part(np.concatenate(slices))

    def _check_part(self, part: "NDArray[np.void]") -> None:
        """Check streams whose runs are side by side, in the order in which they were written."""
        import numpy as np  # noqa: PLC0415 - as above

        part = part[np.argsort(part["key"], kind="stable")]
        again = part["key"][1:] == part["key"][:-1]
        self._check.count += len(part) - int(again.sum())
        began, before = part["began"], np.concatenate(([0], np.where(again, part["ended"][:-1], 0)))[: len(part)]
        wrong = began != before + 1 if self._whole else began <= before
        for one in np.sort(part[wrong], order="position"):
            must = f"where {before[part['key'] == one['key']].max() + 1:,} must stand" if self._whole else "again"
            self._check.fault(f"its stream has version {one['began']:,} {must}.", int(one["position"]))

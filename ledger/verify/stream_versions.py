"""Check the stream versions of any number of streams in bounded memory, and that closed streams only reopen.

A stream is identified by the hash of its subject. Python's hashes differ in each process, so that an attacker cannot
choose colliding subjects. The latest version of each stream is in memory. When there are too many streams, they are
written to a temporary file as a run sorted by hash: a stream's first version since the last run, its latest version,
and the position of the first. At the end the runs are merged, one range of hashes at a time: each run must continue
the versions of the run before.
"""

from collections.abc import Collection, Sequence
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Protocol

from ledger.verify.findings import Check

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STREAMS_MAX = 1_000_000
"""Streams in memory, about 100 MB."""

CLOSED = 2**62
"""Added to the version of an event that closes its stream, and to that of one that reopens it.

So only an event that reopens a stream can be the next of a closed one, and only there.
"""

RECORD = [("key", "<i8"), ("began", "<i8"), ("ended", "<i8"), ("position", "<i8")]
"""A stream in a run."""


class StreamPosition(Protocol):
    """An event's stream, and its version in it."""

    @property
    def subject(self) -> str:
        """The stream."""
        ...

    @property
    def type(self) -> str:
        """The event's type."""
        ...

    @property
    def streamversion(self) -> int:
        """The version in the stream, from 1."""
        ...


class StreamVersionCheck:
    """Checks the versions in each stream: 1, 2, 3 ... if streams are `complete`, otherwise increasing.

    After an event of a type in `closing`, a stream has only an event of a type in `reopening`.
    """

    def __init__(
        self, check: Check, closing: Collection[str], reopening: Collection[str] = (), *, complete: bool
    ) -> None:
        self._check = check
        self._closing = closing
        self._reopening = reopening
        self._complete = complete
        self._latest: dict[int, int] = {}
        self._first_versions: dict[int, tuple[int, int]] = {}
        self._runs: list[int] = []
        self._file: IO[bytes] | None = None

    def add(self, events: Sequence[StreamPosition], positions: Sequence[int]) -> None:
        """Check the next events, at the given positions."""
        latest, has_runs, closing, reopening = self._latest, bool(self._runs), self._closing, self._reopening
        for event, position in zip(events, positions, strict=True):
            key, version = hash(event.subject), event.streamversion
            begins_at = version + CLOSED if event.type in reopening else version
            last = latest.get(key)
            if last is None:
                if has_runs:
                    self._first_versions[key] = begins_at, position
                elif begins_at != 1:
                    self._check_gap(event, position, 0)
            elif begins_at != last + 1:
                self._check_gap(event, position, last)
            latest[key] = version + CLOSED if event.type in closing else version
        if len(latest) > STREAMS_MAX:
            self._write_run()

    def end(self) -> None:
        """Finish the check after the last event."""
        if not self._runs:
            self._check.count = len(self._latest)
            return
        self._write_run()
        assert self._file is not None
        with self._file:
            self._merge_runs()

    def _check_gap(self, event: StreamPosition, position: int, last: int) -> None:
        """Check an event that is not the next of its stream: gaps are allowed if streams are not complete."""
        version = event.streamversion
        reopens = event.type in self._reopening
        if last >= CLOSED and not reopens:
            self._check.fault(f"{event.subject} was closed before; {event.type} cannot follow.", position)
        elif last < CLOSED and reopens:
            self._check.fault(f"{event.subject} was open before; {event.type} cannot follow.", position)
        elif self._complete or version <= last:
            last %= CLOSED
            rule = f"it must be {last + 1:,}" if self._complete else f"the one before is {last:,}"
            self._check.fault(f"{event.subject} has version {version:,}; {rule}.", position)

    def _write_run(self) -> None:
        import numpy as np  # noqa: PLC0415 - only a history of very many streams needs it

        run = np.empty(len(self._latest), dtype=RECORD)
        run["key"] = np.fromiter(self._latest.keys(), np.int64, len(run))
        run["ended"] = np.fromiter(self._latest.values(), np.int64, len(run))
        first = (1, 0)
        began = [self._first_versions.get(key, first) for key in self._latest]
        run["began"] = [version for version, _ in began]
        run["position"] = [position for _, position in began]
        run.sort(order="key")
        self._file = self._file or TemporaryFile()  # noqa: SIM115 - `end` closes it
        self._file.write(run.tobytes())
        self._runs.append(len(run))
        self._latest, self._first_versions = {}, {}

    def _merge_runs(self) -> None:
        """Merge the runs, STREAMS_MAX streams at a time."""
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
        """Check one range of streams; the runs of each stream are in the order in which they were written."""
        import numpy as np  # noqa: PLC0415 - as above

        part = part[np.argsort(part["key"], kind="stable")]
        again = part["key"][1:] == part["key"][:-1]
        self._check.count += len(part) - int(again.sum())
        began, before = part["began"], np.concatenate(([0], np.where(again, part["ended"][:-1], 0)))[: len(part)]
        wrong = began != before + 1 if self._complete else began <= before
        for record in np.sort(part[wrong], order="position"):
            last = before[part["key"] == record["key"]].max()
            rule = f"it must be {last % CLOSED + 1:,}" if self._complete else "the one before is not lower"
            if last >= CLOSED > record["began"]:
                rule = "it was closed before"
            elif record["began"] >= CLOSED > last:
                rule = "it was open before"
            self._check.fault(f"its stream has version {record['began'] % CLOSED:,}; {rule}.", int(record["position"]))

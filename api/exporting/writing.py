"""A file of an export while it is written: its bytes to the target, and their sum."""

from collections.abc import Callable, Iterable
from hashlib import sha256

from api.exporting.manifest import FileSum
from api.exporting.targets import Target


class Writing:
    """One file, from its beginning to its end. It blocks: call it on a thread."""

    def __init__(self, target: Target, name: str) -> None:
        self._target = target
        self._name = name
        self._sum = sha256()
        self._size_bytes = 0

    def begin(self) -> None:
        """Begin it."""
        self._target.begin(self._name)

    def put(self, piece: Callable[[], Iterable[bytes]]) -> None:
        """Make a piece, and write it, part by part."""
        for part in piece():
            self._sum.update(part)
            self._size_bytes += len(part)
            self._target.write(part)

    def end(self) -> FileSum:
        """End it; what it came to."""
        self._target.end()
        return FileSum(self._size_bytes, self._sum.hexdigest())

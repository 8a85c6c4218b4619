"""Progress of long work: a use case calls a callback, and an interface shows the progress."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

ReportProgress = Callable[[int, int], None]
"""Reports progress. Takes the amount done and the total."""

OpenProgress = Callable[[str, str], AbstractContextManager[ReportProgress]]
"""Opens a `with` block during which progress is shown. Takes a label and a unit ("events")."""


@contextmanager
def no_progress(label: str, unit: str) -> Iterator[ReportProgress]:
    """Show nothing."""
    yield lambda done, total: None

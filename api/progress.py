"""Progress of long work: use cases report to a callback, and an interface shows it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Report = Callable[[int, int], None]
"""Takes how much is done, and how much there is to do."""

OpenProgress = Callable[[str, str], AbstractContextManager[Report]]
"""Opens a progress display for the time of a `with` block, from a label and a unit ("events")."""


@contextmanager
def no_progress(label: str, unit: str) -> Iterator[Report]:
    """Show nothing."""
    yield lambda done, total: None

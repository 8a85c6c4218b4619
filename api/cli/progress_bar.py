"""The progress bar that long work shows on a terminal."""

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from api.text_format import format_rate

LABEL_WIDTH_MAX = 26
"""Width of the label of a progress bar, in columns."""


def make_bar(unit: str) -> Progress:
    """Return a bar that keeps to one line: in a narrow terminal its label is cut and the bar shrinks."""
    label = Column(no_wrap=True, overflow="ellipsis", max_width=LABEL_WIDTH_MAX)
    return Progress(
        TextColumn("{task.description}", markup=False, table_column=label),
        BarColumn(bar_width=None, table_column=Column(ratio=1)),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}", table_column=Column(no_wrap=True)),
        _Rate(unit),
        TimeRemainingColumn(table_column=Column(no_wrap=True)),
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )


class _Rate(ProgressColumn):
    """The rate per second, or per minute if it is below one per second."""

    def __init__(self, unit: str) -> None:
        super().__init__(Column(no_wrap=True))
        self._unit = unit

    def render(self, task: Task) -> Text:
        return Text(format_rate(task.finished_speed or task.speed, self._unit))

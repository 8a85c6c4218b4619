"""What a figure of calibration is: its drawing and its numbers, what they are made from, and the error without it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from api.reports.plots.svg import Chart, draw_figure
from projections.calibration.words import HistoryPart
from tallystick.shapes.calibration import CalibrationAnswer, CalibrationScores

MORE_REVIEWS = "Review more decisions, or ask for figures of fewer (min_decisions)."
"""What helps if there are too few reviews for a figure."""


class FigureMissing(Exception):
    """A figure does not exist for these decisions: why, and what would help."""

    def __init__(self, cause: str, advice: str) -> None:
        super().__init__(f"{cause} {advice}")
        self.cause, self.advice = cause, advice


class FigureSource(NamedTuple):
    """An answer, the name of its decisions, and the field that its groups differ in."""

    answer: CalibrationAnswer
    subject: str
    group_by: str

    @property
    def position(self) -> int:
        """The position of the newest event in the answer."""
        return self.answer.as_of.position

    def scores(self, of_what: str = "figure") -> CalibrationScores:
        """Return the scores of all decisions. Errors: FigureMissing, if too few are reviewed."""
        if self.answer.overall is None:
            raise self.too_few(of_what)
        return self.answer.overall

    @property
    def small_gap(self) -> bool:
        """Whether the gap is surely not 0, though its verdict would be that the agent is well calibrated."""
        return any(one.type == "small_gap" for one in self.answer.recommendations)

    def verdict(self, scores: CalibrationScores) -> str:
        """Return the verdict on all decisions in words, with a question mark if it is not supported."""
        if self.small_gap:
            return f"surely {'over' if scores.gap < 0 else 'under'}confident, by little"
        return scores.interpretation.replace("_", " ") + ("" if scores.supported else "?")

    def too_few(self, of_what: str) -> FigureMissing:
        """Return the error if there are too few reviews."""
        reviewed = self.answer.coverage.reviewed
        return FigureMissing(
            f"{reviewed:,} reviewed decisions with a stated confidence are too few for a {of_what}.",
            MORE_REVIEWS,
        )


class FigureTable(NamedTuple):
    """The numbers of a drawing: the names of the columns, and rows of texts."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class Figure(NamedTuple):
    """A figure: its title, how to read it, its chart, its numbers, and the parts of an answer that it needs.

    Its chart raises FigureMissing if the answer has no such figure.
    """

    title: str
    reading: str
    chart: Callable[[FigureSource], Chart]
    tabulate: Callable[[FigureSource], FigureTable]
    curves: bool = False
    include: tuple[HistoryPart, ...] = ()

    def draw(self, source: FigureSource) -> str:
        """Return the drawing. Errors: FigureMissing."""
        return draw_figure(self.chart(source), self.reading, source.position)

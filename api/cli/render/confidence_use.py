"""Print the calibration curve, and what stated confidences are good for: thresholds and ranking."""

from rich.console import Console

from api.cli.output import make_table
from api.reports.plots.tables import curve_rows
from api.reports.use_text import describe_auc, describe_threshold
from tallystick.shapes.calibration import CalibrationAnswer, Corp


def print_curve(console: Console, corp: Corp) -> None:
    """Print the curve, with the bands of a calibrated agent at the middle of each row."""
    numbers = ("stated", "reviewed", "success", "recalibrated", "if calibrated", "on the whole curve")
    table = make_table(*numbers, right=numbers)
    for row in curve_rows(corp):
        table.add_row(*row)
    console.print()
    console.print(table)
    console.print(
        "Of calibrated agents, 95% are within the first range at that confidence, 95% within the second at every one."
    )


def print_use(console: Console, answer: CalibrationAnswer) -> None:
    """Print how well confidences rank decisions, and what acting above a threshold would have come to."""
    if answer.auc:
        console.print()
        console.print(describe_auc(answer.auc))
    if answer.threshold is not None:
        console.print()
        for line in describe_threshold(answer.threshold):
            console.print(line)

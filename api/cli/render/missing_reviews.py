"""Print what missing reviews leave open: below the verdict, and by age."""

from rich.console import Console

from api.text_format import format_figure, format_interval, one_line
from tallystick.shapes.calibration import CalibrationAnswer


def print_missing_reviews(console: Console, answer: CalibrationAnswer) -> None:
    """Print below the verdict that it holds for the reviewed decisions only, if so, and the outcomes by day."""
    missing = answer.missing_reviews
    if missing and missing.message is not None:
        console.print(f"! {one_line(missing.message)}", style="yellow", markup=False)
        console.print("tallystick review --sample 20 names decisions at random whose reviews show the gap of all.")
    if answer.by_day:
        console.print(answer.by_day.message)


def print_reviews_by_age(console: Console, answer: CalibrationAnswer) -> None:
    """Print how old reviewed and unreviewed decisions are, and the gap weighted by age, if the answer has them."""
    ages = answer.reviews_by_age
    if not ages:
        return
    console.print()
    difference, weighted = ages.difference, ages.weighted_gap
    if difference is None:
        console.print("Age: there are no reviewed and unreviewed decisions to compare.")
        return
    shares = (
        f"{difference.reviewed_share:.0%} of the reviewed and {difference.unreviewed_share:.0%} of the unreviewed "
        f"decisions are in the {difference.most}"
    )
    console.print(f"Age: {shares}.{' They differ by more than chance.' if difference.differs else ''}")
    if weighted is not None:
        console.print(
            f"Weighted by {', '.join(weighted.by)}, the gap is {format_figure(weighted.gap, '+')} "
            f"({format_interval(weighted.interval, '+')}), for {weighted.represented:.0%} of the decisions."
        )

"""Print the recalibration maps: what each stated confidence has meant, and which to state instead."""

from collections.abc import Sequence

from rich.console import Console

from api.text_format import format_count, format_figure, one_line
from projections.calibration.recalibration import GAIN_MIN
from tallystick.shapes.recalibration import CategoryRecalibration, MapFamily, Recalibration

_family_names: dict[MapFamily, str] = {
    "logit_shift": "logit shift", "beta": "beta calibration", "isotonic": "isotonic regression",
}  # fmt: skip


def print_recalibration(
    console: Console,
    recalibration: Recalibration | None,
    by_category: Sequence[CategoryRecalibration],
) -> None:
    """Print the map of all decisions and those of categories."""
    console.print()
    if recalibration is None:
        console.print(f"No recalibration map: none would surely lower the Brier score by {GAIN_MIN} or more.")
    else:
        _print_map(console, recalibration, recalibration.stated_brier_score)
    for own in by_category:
        against = "this map" if recalibration is not None else "the stated confidences"
        console.print()
        if own.family == "as_stated":
            console.print(f"In {one_line(own.category)} the stated confidences are better than this map:")
        else:
            console.print(f"{one_line(own.category)} needs a map of its own, which improves on {against}:")
        _print_map(console, own, own.shared_brier_score)


def _print_map(console: Console, found: Recalibration, before: float) -> None:
    for row in found.meanings:
        low, high = _share(row.low), _share(row.high)
        stated = low if low == high else f"{low} to {high}"
        console.print(
            f"Stated {stated} has meant {_share(row.meant)} ({_share(row.interval.low)} to "
            f"{_share(row.interval.high)}), n={format_count(row.reviewed)}: state {_share(row.mapped)}."
        )
    least = f"{found.gain_lower_bound:.4f}" if found.gain_lower_bound >= 0.00005 else "above 0"
    console.print(
        f"{_how(found)} the Brier score "
        f"would have fallen from {format_figure(before)} to {format_figure(found.mapped_brier_score)}: by "
        f"{found.gain:.4f} (cross-validated; 95% lower bound {least})."
    )


def _how(found: Recalibration) -> str:
    reviewed = f"n={format_count(found.reviewed)}"
    if found.family == "as_stated":
        return f"As stated ({reviewed})"
    return f"With this map ({_family_names[found.family]}, {reviewed})"


def _share(value: float) -> str:
    """Return a share with two decimals, or with as many as keep it from looking like 0 or 1."""
    for places in (2, 3, 4):
        text = f"{value:.{places}f}"
        if float(text) not in {0.0, 1.0} or value in {0.0, 1.0}:
            return text
    return "0.0001" if value < 0.5 else "0.9999"

"""calibration and advice: compare stated confidence with outcomes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import structs

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, show
from api.cli.options import AsOf, choice, option
from api.cli.output import open_console, print_json
from api.service.calibration_params import AdviceParams, CalibrationParams
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from tallystick.shapes.calibration import CalibrationAnswer

FIGURES = (
    "curve", "murphy", "evidence", "drift", "recalibration", "missing", "groups", "comparison", "threshold",
    "trend",
)  # fmt: skip


@verb(server=True, reads=True)
def calibration(
    target: LedgerTarget,
    params: CalibrationParams,
    *,
    plot: Annotated[
        Path | None, option("Draw the calibration curve, or another --figure, into this SVG file.", "FILE.svg")
    ] = None,
    figure: Annotated[str | None, choice("What --plot draws.  \\[default: curve]", FIGURES)] = None,
    murphy: Annotated[Path | None, option("Draw the Murphy diagram into this SVG file.", "FILE.svg")] = None,
    as_of: AsOf = None,
) -> None:
    """Compare stated confidence with outcomes.

    A question mark after a verdict means that the data cannot confirm it yet.

    Example: tallystick calibration --agent claude --group-by category --detail curves

    Example: tallystick calibration --agent claude --plot drift.svg --figure drift

    Example: tallystick calibration --agent claude --threshold 0.8 --murphy loss.svg
    """
    from api.service.calibration import get_calibration

    drawings = _name_drawings(plot, figure, murphy)
    params = _check_drawings(target, drawings, params)
    _show(target, ask(target, get_calibration, params, as_of), params, drawings)


def _check_drawings(
    target: LedgerTarget, drawings: dict[str, tuple[str, Path]], params: CalibrationParams
) -> CalibrationParams:
    """Check the files of drawings; return the parameters with the detail and the inclusions that they need.

    Errors: InvalidQuery, naming the option.
    """
    if not drawings:
        return params
    from api.reports.plots.figures import FIGURES as DRAWN

    included = list(params.include)
    for typed, (name, path) in drawings.items():
        _check_plot(target, typed, path)
        included += [part for part in DRAWN[name].include if part not in included]
    curves = any(DRAWN[name].curves for name, _ in drawings.values())
    return structs.replace(params, detail="curves" if curves else params.detail, include=tuple(included))


def _name_drawings(plot: Path | None, figure: str | None, murphy: Path | None) -> dict[str, tuple[str, Path]]:
    """Return the figure and the file of each option that draws. Errors: InvalidQuery."""
    if figure is not None and plot is None:
        raise InvalidQuery("figure", "no file to draw it into.", "Add --plot FILE.svg.")
    if plot is not None and murphy is not None and plot.resolve() == murphy.resolve():
        raise InvalidQuery("murphy", f"{murphy} is the file of --plot too.", "Name another file.")
    named = {"plot": (figure or "curve", plot), "murphy": ("murphy", murphy)}
    return {typed: (name, path) for typed, (name, path) in named.items() if path is not None}


def _show(
    target: LedgerTarget,
    answer: "CalibrationAnswer",
    params: CalibrationParams,
    drawings: dict[str, tuple[str, Path]],
) -> None:
    """Draw the figures of an answer, and print it. Errors: InvalidQuery, if it has not all figures."""
    from api.cli.render.calibration import print_calibration

    _draw_all(drawings, answer, params)
    if target.json:
        print_json(answer)
    else:
        print_calibration(answer, params.agent, params.group_by, window=params.window not in (None, "all"))


def _draw_all(drawings: dict[str, tuple[str, Path]], answer: "CalibrationAnswer", params: CalibrationParams) -> None:
    """Draw figures of an answer into their files; all or none. Errors: InvalidQuery, if the answer has not all."""
    if not drawings:
        return
    from api.parameters import texts_of
    from api.reports.plots.figure_source import FigureMissing
    from api.reports.plots.figures import FIGURES as DRAWN
    from api.reports.report_files import write_file
    from api.service.calibration_figures import figure_source

    source = figure_source(answer, texts_of(params))
    drawn = {}
    for typed, (name, _) in drawings.items():
        try:
            drawn[typed] = DRAWN[name].draw(source)
        except FigureMissing as missing:
            raise InvalidQuery(typed, missing.cause, f"{missing.advice} Nothing was drawn.") from None
    for typed, (_, path) in drawings.items():
        write_file(typed, path, drawn[typed])


def _check_plot(target: LedgerTarget, option: str, path: Path) -> None:
    """Check that the drawing can be written, before anything is computed. Errors: InvalidQuery, naming the option."""
    from api.reports.report_files import check_file

    if path.resolve() == target.place.path.resolve():
        raise InvalidQuery(option, f"{path} is the ledger.", "Name another file.")
    check_file(option, path)


@verb(server=True, reads=True)
def advice(target: LedgerTarget, params: AdviceParams, as_of: AsOf = None) -> None:
    """Show how earlier decisions like a planned one turned out.

    Example: tallystick advice --agent claude --category architecture --stakes high --confidence 0.9
    """
    from api.service.advice import get_advice

    if params.agent is None:
        raise InvalidQuery("agent", "Missing option '--agent'.", "Name the agent that is about to decide.")
    answer = ask(target, get_advice, params, as_of, may_be_new=("category",))
    show(target, answer, lambda advice: open_console().print(advice.message))

"""calibration and advice: compare stated confidence with outcomes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import (
    Agent,
    AsOf,
    Category,
    Feature,
    Model,
    Project,
    Since,
    Stakes,
    Until,
    Window,
    choice,
    given,
)

if TYPE_CHECKING:
    from tallystick.shapes.calibration import CalibrationAnswer

GROUPINGS = ("confidence_bucket", "category", "stakes", "agent", "project", "feature", "model")
DETAILS = ("figures", "curves")
FIGURES = (
    "curve", "murphy", "evidence", "drift", "recalibration", "missing", "groups", "comparison", "threshold",
    "trend",
)  # fmt: skip
INCLUSIONS = ("trend", "drift", "comparison", "reviews_by_age", "plots")


@verb(server=True, reads=True)
def calibration(
    target: LedgerTarget,
    *,
    agent: Agent = None,
    category: Category = None,
    stakes: Stakes = None,
    project: Project = None,
    feature: Feature = None,
    model: Model = None,
    since: Since = None,
    until: Until = None,
    window: Window = None,
    group_by: Annotated[
        str | None, choice("One row of figures for each of these.", GROUPINGS, also=("confidenceBucket",))
    ] = None,
    min_decisions: Annotated[
        str | None, typer.Option(help="Reviewed decisions needed for figures.  \\[default: 5]")
    ] = None,
    detail: Annotated[
        str | None, choice("curves adds the curve, its bands, the AUC, and what each confidence has meant.", DETAILS)
    ] = None,
    threshold: Annotated[
        str | None, typer.Option(help="Add what acting only at this confidence or above would have come to.")
    ] = None,
    include: Annotated[
        str | None, choice("Add these, separated by commas; plots is what drawings show.", INCLUSIONS, separator=",")
    ] = None,
    trend_days: Annotated[str | None, typer.Option(help="Days in a window of the trend.  \\[default: 30]")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the calibration curve, or another --figure, into this SVG file.", metavar="FILE.svg"),
    ] = None,
    figure: Annotated[str | None, choice("What --plot draws.  \\[default: curve]", FIGURES)] = None,
    murphy: Annotated[
        Path | None, typer.Option(help="Draw the Murphy diagram into this SVG file.", metavar="FILE.svg")
    ] = None,
    limit: Annotated[str | None, typer.Option(help="Show at most this many groups.  \\[default: 1000]")] = None,
    offset: Annotated[str | None, typer.Option(help="Skip this many groups first.")] = None,
    as_of: AsOf = None,
) -> None:
    """Compare stated confidence with outcomes.

    A question mark after a verdict means that the data cannot confirm it yet.

    Example: tallystick calibration --agent claude --group-by category --detail curves

    Example: tallystick calibration --agent claude --plot drift.svg --figure drift

    Example: tallystick calibration --agent claude --threshold 0.8 --murphy loss.svg
    """
    from api.cli.open_ledger import answer_as_of
    from api.service.calibration import compute_calibration
    from api.service.calibration_params import parse_calibration_query
    from ledger import system_clock

    drawings = _name_drawings(plot, figure, murphy)
    detail, include = _check_drawings(target, drawings, detail, include)
    parameters = given(
        agent=agent, category=category, stakes=stakes, project=project, feature=feature, model=model, since=since,
        until=until, window=window, group_by=group_by, min_decisions=min_decisions, detail=detail, threshold=threshold,
        include=include, trend_days=trend_days, limit=limit, offset=offset,
    )  # fmt: skip
    query = parse_calibration_query(parameters, system_clock())
    answer = answer_as_of(
        target,
        as_of,
        lambda service, position: compute_calibration(service, query, position),
        lambda server: server.calibration(parameters),
    )
    _show(target, answer, parameters, drawings)


def _check_drawings(
    target: LedgerTarget, drawings: dict[str, tuple[str, Path]], detail: str | None, include: str | None
) -> tuple[str | None, str | None]:
    """Check the files of drawings; return the detail and the inclusions that they need.

    Errors: InvalidQuery, naming the option.
    """
    if not drawings:
        return detail, include
    from api.reports.plots.figures import FIGURES as DRAWN

    included = include.split(",") if include else []
    for option, (name, path) in drawings.items():
        if DRAWN[name].curves:
            detail = detail or "curves"
        _check_plot(target, option, path, detail if DRAWN[name].curves else None)
        included += [part for part in DRAWN[name].include if part not in included]
    return detail, ",".join(included) or None


def _name_drawings(plot: Path | None, figure: str | None, murphy: Path | None) -> dict[str, tuple[str, Path]]:
    """Return the figure and the file of each option that draws. Errors: InvalidQuery."""
    from ledger.errors import InvalidQuery

    if figure is not None and plot is None:
        raise InvalidQuery("figure", "no file to draw it into.", "Add --plot FILE.svg.")
    if plot is not None and murphy is not None and plot.resolve() == murphy.resolve():
        raise InvalidQuery("murphy", f"{murphy} is the file of --plot too.", "Name another file.")
    named = {"plot": (figure or "curve", plot), "murphy": ("murphy", murphy)}
    return {option: (name, path) for option, (name, path) in named.items() if path is not None}


def _show(
    target: LedgerTarget,
    answer: "CalibrationAnswer",
    parameters: dict[str, str],
    drawings: dict[str, tuple[str, Path]],
) -> None:
    """Draw the figures of an answer, and print it. Errors: InvalidQuery, if it has not all figures."""
    from api.cli.output import print_json
    from api.cli.render.calibration import print_calibration

    _draw_all(drawings, answer, parameters)
    if target.json:
        print_json(answer)
    else:
        by = parameters.get("group_by", "confidence_bucket")
        print_calibration(answer, parameters.get("agent"), by, window=parameters.get("window", "all") != "all")


def _draw_all(drawings: dict[str, tuple[str, Path]], answer: "CalibrationAnswer", parameters: dict[str, str]) -> None:
    """Draw figures of an answer into their files; all or none. Errors: InvalidQuery, if the answer has not all."""
    if not drawings:
        return
    from api.reports.plots.figure_source import FigureMissing
    from api.reports.plots.figures import FIGURES as DRAWN
    from api.reports.report_files import write_file
    from api.service.calibration_figures import figure_source
    from ledger.errors import InvalidQuery

    source = figure_source(answer, parameters)
    drawn = {}
    for option, (name, _) in drawings.items():
        try:
            drawn[option] = DRAWN[name].draw(source)
        except FigureMissing as missing:
            raise InvalidQuery(option, missing.cause, f"{missing.advice} Nothing was drawn.") from None
    for option, (_, path) in drawings.items():
        write_file(option, path, drawn[option])


def _check_plot(target: LedgerTarget, option: str, path: Path, detail: str | None) -> None:
    """Check that the drawing can be written, before anything is computed. Errors: InvalidQuery, naming the option."""
    from api.reports.report_files import check_file
    from ledger.errors import InvalidQuery

    if detail == "figures":
        raise InvalidQuery(option, "it needs the curve.", f"Leave out --detail figures, or --{option}.")
    if path.resolve() == target.place.path.resolve():
        raise InvalidQuery(option, f"{path} is the ledger.", "Name another file.")
    check_file(option, path)


@verb(server=True, reads=True)
def advice(
    target: LedgerTarget,
    *,
    agent: Annotated[str, typer.Option(help="The agent that is about to decide.")],
    category: Category = None,
    stakes: Stakes = None,
    confidence: Annotated[
        str | None, typer.Option(help="How confident the agent is, 0 to 1. Without it, decisions of any confidence.")
    ] = None,
    as_of: AsOf = None,
) -> None:
    """Show how earlier decisions like a planned one turned out.

    Example: tallystick advice --agent claude --category architecture --stakes high --confidence 0.9
    """
    from api.cli.open_ledger import answer_as_of
    from api.cli.output import open_console, print_json
    from api.service.advice import advise
    from api.service.calibration_params import parse_planned_decision

    parameters = given(agent=agent, category=category, stakes=stakes, confidence=confidence)
    planned = parse_planned_decision(parameters, agent)
    answer = answer_as_of(
        target,
        as_of,
        lambda service, position: advise(service, planned, position),
        lambda server: server.advice(parameters),
        may_be_new=("category",),
    )
    if target.json:
        print_json(answer)
    else:
        open_console().print(answer.message)

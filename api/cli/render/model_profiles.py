"""Print the profiles of models."""

from rich.console import Console

from api.cli.output import make_table, open_console
from api.cli.render.calibration import format_as_of
from api.service.model_profiles import ProfilesAnswer
from api.text_format import format_count, format_figure, one_line, pluralize
from projections.discovery.model_profiles import ModelProfile


def print_profiles(answer: ProfilesAnswer, *, whole: bool) -> None:
    """Print one line for each model; with `whole`, a table of its probes each."""
    console = open_console()
    if not answer.profiles:
        console.print("No model has a probe score.")
    elif whole:
        for profile in answer.profiles:
            _print_profile(console, profile, answer.models_min)
    else:
        table = make_table("model", "overall", "probes", "answers", "declined", right=("overall", "probes", "answers",
                           "declined"), wrap=("model",), drop=("declined", "answers"))  # fmt: skip
        for profile in answer.profiles:
            answers = sum(probe.answers for probe in profile.probes)
            declined = sum(probe.declined for probe in profile.probes)
            table.add_row(
                one_line(profile.model),
                _place(profile.overall),
                f"{profile.rests_on} of {len(profile.probes)}",
                format_count(answers),
                f"{declined / answers:.0%}",
            )
        console.print(table)
        if any(profile.overall is None for profile in answer.profiles):
            console.print(f"Without an overall figure: not enough models; a probe needs {answer.models_min}.")
    console.print()
    console.print(format_as_of(answer.as_of), style="dim")


def _print_profile(console: Console, profile: ModelProfile, models_min: int) -> None:
    if profile.overall is None:
        overall = f"no overall figure: not enough models, a probe needs {models_min}"
    else:
        overall = f"overall {_place(profile.overall)} of 100, over {pluralize(profile.rests_on, 'probe')}"
    console.print(f"{one_line(profile.model)}: {overall}.")
    console.print()
    numbers = ("answers", "declined", "mean", "score", "percentile", "models")
    table = make_table("probe", "scorer", *numbers, right=numbers, wrap=("probe", "scorer"), drop=("scorer", "mean"))
    for probe in profile.probes:
        table.add_row(
            _versioned(probe.probe_id, probe.probe_version),
            _versioned(probe.scorer_id, probe.scorer_version),
            format_count(probe.answers),
            f"{probe.declining_rate:.0%}",
            format_figure(probe.mean),
            format_figure(probe.score),
            _place(probe.percentile),
            format_count(probe.models),
        )
    console.print(table)


def _place(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _versioned(name: str, version: str | None) -> str:
    return one_line(name if version is None else f"{name}@{version}")

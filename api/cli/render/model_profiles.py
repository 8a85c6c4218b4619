"""Print the profiles of models."""

from rich.console import Console

from api.cli.output import figure, open_console, table_of
from api.cli.render.calibration import format_as_of
from api.cli.render.model_inventory import format_place, format_versioned
from api.service.model_profiles import ProfilesAnswer
from api.text_format import one_line, pluralize
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
        table = table_of(
            answer.profiles,
            {"model": "model", "overall": lambda profile: format_place(profile.overall),
             "probes": lambda profile: f"{profile.rests_on} of {len(profile.probes)}", "answers": _answers,
             "declined": lambda profile: f"{_declined(profile) / _answers(profile):.0%}"},
            right=("overall", "probes", "answers", "declined"), wrap=("model",), drop=("declined", "answers"),
        )  # fmt: skip
        console.print(table)
        if any(profile.overall is None for profile in answer.profiles):
            console.print(f"Without an overall figure: not enough models; a probe needs {answer.models_min}.")
    console.print()
    console.print(format_as_of(answer.as_of), style="dim")


def _print_profile(console: Console, profile: ModelProfile, models_min: int) -> None:
    if profile.overall is None:
        overall = f"no overall figure: not enough models, a probe needs {models_min}"
    else:
        overall = f"overall {format_place(profile.overall)} of 100, over {pluralize(profile.rests_on, 'probe')}"
    console.print(f"{one_line(profile.model)}: {overall}.")
    console.print()
    table = table_of(
        profile.probes,
        {"probe": lambda probe: format_versioned(probe.probe_id, probe.probe_version),
         "scorer": lambda probe: format_versioned(probe.scorer_id, probe.scorer_version), "answers": "answers",
         "declined": lambda probe: f"{probe.declining_rate:.0%}", "mean": figure("mean"), "score": figure("score"),
         "percentile": lambda probe: format_place(probe.percentile), "models": "models"},
        right=("answers", "declined", "mean", "score", "percentile", "models"), wrap=("probe", "scorer"),
        drop=("scorer", "mean"),
    )  # fmt: skip
    console.print(table)


def _answers(profile: ModelProfile) -> int:
    return sum(probe.answers for probe in profile.probes)


def _declined(profile: ModelProfile) -> int:
    return sum(probe.declined for probe in profile.probes)

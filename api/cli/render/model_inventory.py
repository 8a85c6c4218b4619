"""Print the inventory, the registered models, and probe scores."""

from collections.abc import Iterable, Sequence

import typer
from rich.console import Console

from api.cli.ledger_target import LedgerTarget
from api.cli.open_ledger import show
from api.cli.output import figure, open_console, table_of
from api.cli.render.calibration import format_as_of
from api.cli.render.sessions import model_table
from api.service.model_figures import ModelFigures
from api.service.model_queries import InventoryAnswer, ModelList, ProbesAnswer
from api.service.model_registry import registration_command
from api.text_format import (
    format_count,
    format_figure,
    format_interval,
    one_line,
    pluralize,
)
from events.model import ModelIdentity
from projections.discovery.identity_conflicts import AttemptPlace, IdenticalOutputs, IdentityConflictRow
from projections.discovery.model_inventory import InventoryModel, RouterSightings, UnnamedClaims
from projections.discovery.probe_score_tables import ModelScores, ProbeScores
from tallystick.shapes.appended import AppendResult
from tallystick.shapes.parts import Interval

COMMANDS_MAX = 10
"""Unknown models whose registration command is printed; those seen most often come first."""

CONFLICTS_MAX = 10


def print_appended(target: LedgerTarget, result: AppendResult, message: str) -> None:
    """Print a message with the position of the appended event."""
    text = f"{one_line(message)}: position {format_count(result.first)}."
    show(target, {"position": result.first}, lambda _: typer.echo(text))


def print_inventory(answer: InventoryAnswer) -> None:
    """Print the models, answers that name none, conflicts, and commands that register unknown models."""
    console = open_console()
    sighted = [model for model in answer.models if model.sightings]
    console.print(
        f"{pluralize(len(sighted), 'model')} claimed in {pluralize(answer.runs, 'run')} "
        f"with {pluralize(answer.attempts, 'attempt')}."
    )
    if answer.models:
        console.print()
        _print_models(console, answer.models)
    for noun, rows in (("Hosts that named themselves", answer.wrappers), ("Names of no model", answer.unresolved)):
        if rows:
            console.print(f"\n{noun}: {'; '.join(map(_unnamed, rows))}.")
    if answer.figures:
        print_figures(console, answer.figures)
    for program in answer.sessions or ():
        console.print(f"\nIn recorded sessions of {program.program}:")
        console.print(model_table(program.models))
    _print_routers(console, answer.routers)
    _print_conflicts(console, answer.contradictions, answer.identical)
    unknown = [model for model in sighted if not model.known]
    if unknown:
        console.print(f"\n{pluralize(len(unknown), 'model')} not known. Register those you know:")
        for model in unknown[:COMMANDS_MAX]:
            console.print(f"  {_command(model)}", soft_wrap=True)
    console.print()
    console.print(format_as_of(answer.as_of), style="dim")


def _print_models(console: Console, models: Sequence[InventoryModel]) -> None:
    table = table_of(
        models,
        {"model": "key", "known": "known", "sightings": "sightings", "runs": "runs",
         "claimed as": lambda model: _listed(model.claims),
         "provider": lambda model: _listed([model.provider] if model.provider else model.providers),
         "routers": lambda model: _listed(each.router or "(unnamed)" for each in model.by_router),
         "first seen (UTC)": "first_seen", "last seen (UTC)": "last_seen"},
        right=("sightings", "runs"), wrap=("model", "claimed as", "provider", "routers"),
        drop=("first seen (UTC)", "routers", "provider", "claimed as", "last seen (UTC)", "runs"),
    )  # fmt: skip
    console.print(table)


def _unnamed(row: UnnamedClaims) -> str:
    name = one_line(row.key) if row.key else "(empty)"
    reported = f", while the endpoint reported {_listed(row.reported)}" if row.reported else ""
    return f"{name}, {pluralize(row.sightings, 'time')} in {pluralize(row.runs, 'run')}{reported}"


def _print_routers(console: Console, routers: Sequence[RouterSightings]) -> None:
    if [router.router for router in routers] in ([], [None]):
        return
    console.print()
    for router in routers:
        outcomes = ", ".join(f"{format_count(n)} {outcome}" for outcome, n in router.outcomes.items())
        name = one_line(router.router) if router.router else "A router without a name"
        console.print(
            f"{name}: {pluralize(router.models, 'model')} in {pluralize(router.runs, 'run')}; "
            f"{pluralize(router.attempts, 'attempt')}{f': {outcomes}' if outcomes else ''}."
        )


def _print_conflicts(
    console: Console, contradictions: Sequence[IdentityConflictRow], identical: Sequence[IdenticalOutputs]
) -> None:
    if contradictions or identical:
        console.print()
    for conflict in contradictions[:CONFLICTS_MAX]:
        console.print(
            f"! Answers claim {one_line(conflict.claimed)} while the endpoint reports {one_line(conflict.reported)}: "
            f"{pluralize(conflict.sightings, 'time')}, last in {_place(conflict.where[0])}.",
            style="yellow",
        )
    for output in identical[:CONFLICTS_MAX]:
        names = "; ".join(
            f"{one_line(answer.key) or '(empty)'} ({_place(answer.where[0])})" for answer in output.answers
        )
        console.print(f"! Identical output under several names: {names}.", style="yellow")
    if unlisted := max(0, len(contradictions) - CONFLICTS_MAX) + max(0, len(identical) - CONFLICTS_MAX):
        console.print(f"{format_count(unlisted)} more of these: --json prints all.")


def _place(place: AttemptPlace) -> str:
    return f"run {place.run_id}, attempt {format_count(place.attempt)}"


def _command(model: InventoryModel) -> str:
    """Return the command that registers a model under the name, provider and version it claims most often."""
    name, provider, version = (next(iter(stated), None) for stated in (model.claims, model.providers, model.versions))
    assert name is not None, "a sighting claims a name"
    claimed = ModelIdentity(model_name=name, provider=provider, version=version)
    command = registration_command(claimed, lambda name: False)
    assert command is not None, "the claimed name names a model"
    return command


def print_models(registered: ModelList) -> None:
    """Print one line for each registered model."""
    console = open_console()
    if not registered.models:
        console.print("No model is registered: tallystick model register KEY --provider PROVIDER --name NAME")
        return
    table = table_of(
        registered.models,
        {"key": "key", "name": "name", "version": lambda model: one_line(model.version or None), "provider": "provider",
         "other names": "aliases", "sightings": lambda model: model.sightings or "never",
         "last seen (UTC)": "last_seen", "note": "note"},
        right=("sightings",), wrap=("name", "version", "provider", "other names"), cut=("note",),
        drop=("note", "other names", "provider", "last seen (UTC)", "version", "name"),
    )  # fmt: skip
    console.print(table)


def print_scores(answer: ProbesAnswer) -> None:
    """Print a table for each probe and scorer, and whether the probe distinguishes models."""
    console = open_console()
    if not answer.probes:
        console.print("No scores found.")
    for number, scores in enumerate(answer.probes):
        if number:
            console.print()
        _print_table(console, scores)
    console.print()
    console.print(format_as_of(answer.as_of), style="dim")


def _print_table(console: Console, scores: ProbeScores) -> None:
    probe = format_versioned(scores.probe_id, scores.probe_version)
    scorer = format_versioned(scores.scorer_id, scores.scorer_version)
    console.print(f"{probe}, scored by {scorer}: {pluralize(scores.scores, 'score')}", style="bold")
    text = scores.discrimination.says
    console.print(f"{text[0].upper()}{text[1:]}.")
    table = table_of(
        scores.models,
        {"model": _model_name, "scores": "scores",
         "answered": lambda row: f"{format_count(row.answered)} of {format_count(row.counted)}",
         "mean": figure("counted_mean"), "its interval": lambda row: format_interval(row.counted_interval),
         "min": figure("min"), "max": figure("max"),
         "percentile": lambda row: format_place(row.counted_percentile), "first": figure("first.total"),
         "last": lambda row: format_figure(row.last.total if row.last is not None and row.totals > 1 else None),
         "counts and dimensions": _means},
        right=("scores", "answered", "mean", "its interval", "min", "max", "percentile", "first", "last"),
        wrap=("model", "counts and dimensions"),
        drop=("counts and dimensions", "first", "last", "min", "max", "percentile", "scores", "its interval"),
    )  # fmt: skip
    console.print()
    console.print(table)


def format_place(percentile: float | None) -> str:
    """Return a place among 100, or a dash for None."""
    return "-" if percentile is None else f"{percentile:.0f}"


def format_versioned(name: str, version: str | None) -> str:
    """Return the name of a probe or scorer with its version, if it has one: `refactor@1`."""
    return one_line(name if version is None else f"{name}@{version}")


def _model_name(row: ModelScores) -> str:
    if row.kind == "model":
        return one_line(row.model)
    name = one_line(row.model) if row.model else "(empty)"
    return {"wrapper": f"{name} (host)", "unresolved": f"{name} (no model)", "unnamed": "(unnamed)"}[row.kind]


def _means(row: ModelScores) -> str:
    means = (*row.counts.items(), *row.dimensions.items())
    return ", ".join(f"{one_line(name)} {mean:.2f}" for name, mean in means) or "-"


def _listed(names: Iterable[str]) -> str:
    return one_line(", ".join(names))


def print_figures(console: Console, figures: ModelFigures) -> None:
    """Print a line for the decisions of a model, for each suite and for each probe, with the number of each."""
    decided = figures.decisions
    console.print()
    if decided.gap is None or decided.brier_score is None:
        console.print(f"Decisions: {pluralize(decided.decisions, 'decision')}, none reviewed with a confidence.")
    else:
        console.print(
            f"Decisions: {pluralize(decided.reviewed, 'review')}, gap {decided.gap:+.3f}"
            f"{_bracketed(decided.gap_interval, '+')}, Brier score {decided.brier_score:.3f}."
        )
    for suite in figures.evaluations:
        console.print(
            f"Evaluation {one_line(suite.suite)}: {pluralize(suite.answers, 'answer')}, mean "
            f"{format_figure(suite.mean)}{_bracketed(suite.mean_interval)} of 100 points."
        )
        if (stated := suite.stated) is not None:
            console.print(
                f"  Stated {stated.mean_confidence:.0%} in {pluralize(stated.n, 'answer')}, right in "
                f"{stated.pass_rate:.0%}, Brier score {stated.brier_score:.3f}."
            )
    for probe in figures.probes:
        console.print(
            f"Probe {one_line(probe.probe_id)} by {format_versioned(probe.scorer_id, probe.scorer_version)}: "
            f"answered {format_count(probe.answered)} of "
            f"{format_count(probe.counted)}, mean {format_figure(probe.counted_mean)}"
            f"{_bracketed(probe.counted_interval)}."
        )


def _bracketed(interval: Interval | None, sign: str = "") -> str:
    return "" if interval is None else f" ({format_interval(interval, sign)})"

"""Models, hosts and scores as people read them."""

from collections.abc import Iterable, Sequence

import typer
from rich.console import Console

from api.cli.output import cut, figure, out, print_json, span, table
from api.cli.render.calibration import dated
from api.service.model_registry import registration
from api.service.models import InventoryAnswer, ModelList, ProbesAnswer
from api.service.store import AppendResult
from api.text import count, many, moment, one_line
from events import ModelIdentity
from projections.discovery.identity_conflicts import AttemptPlace, IdenticalOutputs, IdentityConflictRow
from projections.discovery.model_inventory import InventoryModel, RouterSightings, UnnamedClaims
from projections.discovery.probe_score_tables import ModelScores, ProbeScores

COMMANDS_MAX = 10
"""So many unknown models are told the command for, those sighted most."""

CONFLICTS_MAX = 10


def print_placed(placed: AppendResult, done: str, *, as_json: bool) -> None:
    """What was written, and where."""
    if as_json:
        print_json({"position": placed.first})
    else:
        typer.echo(f"{one_line(done)}: position {count(placed.first)}.")


def print_inventory(found: InventoryAnswer) -> None:
    """Models, one a line; what names none; what does not fit together; what would register the unknown."""
    console = out()
    sighted = [model for model in found.models if model.sightings]
    console.print(
        f"{many(len(sighted), 'model')} in {many(found.runs, 'run')} of {many(found.attempts, 'attempt')}, as claimed."
    )
    if found.models:
        console.print()
        _print_models(console, found.models)
    for noun, rows in (("Hosts that named themselves", found.wrappers), ("Names of nothing", found.unresolved)):
        if rows:
            console.print(f"\n{noun}: {'; '.join(map(_unnamed, rows))}.")
    _print_routers(console, found.routers)
    _print_conflicts(console, found.contradictions, found.identical)
    unknown = [model for model in sighted if not model.known]
    if unknown:
        console.print(f"\n{many(len(unknown), 'model')} not known. What you know, register:")
        for model in unknown[:COMMANDS_MAX]:
            console.print(f"  {_command(model)}", soft_wrap=True)
    console.print()
    console.print(dated(found.as_of), style="dim")


def _print_models(console: Console, models: Sequence[InventoryModel]) -> None:
    shown = table(
        "model", "known", "sightings", "runs", "claimed as", "provider", "routers", "first seen (UTC)",
        "last seen (UTC)", right=("sightings", "runs"), wrap=("claimed as", "provider", "routers"),
    )  # fmt: skip
    for model in models:
        shown.add_row(
            one_line(model.key),
            "yes" if model.known else "no",
            count(model.sightings),
            count(model.runs),
            cut(_listed(model.claims)),
            cut(_listed([model.provider] if model.provider else model.providers)),
            cut(_listed(by.router or "(not said)" for by in model.by_router)),
            moment(model.first_seen),
            moment(model.last_seen),
        )
    console.print(shown)


def _unnamed(row: UnnamedClaims) -> str:
    name = one_line(row.key) if row.key else "(empty)"
    reported = f", while the endpoint reported {_listed(row.reported)}" if row.reported else ""
    return f"{name}, {many(row.sightings, 'time')} in {many(row.runs, 'run')}{reported}"


def _print_routers(console: Console, routers: Sequence[RouterSightings]) -> None:
    if [router.router for router in routers] in ([], [None]):
        return
    console.print()
    for router in routers:
        outcomes = ", ".join(f"{count(n)} {outcome}" for outcome, n in router.outcomes.items())
        name = one_line(router.router) if router.router else "A router that is not said"
        console.print(
            f"{name}: {many(router.models, 'model')} in {many(router.runs, 'run')}; "
            f"{many(router.attempts, 'attempt')}{f': {outcomes}' if outcomes else ''}."
        )


def _print_conflicts(
    console: Console, contradictions: Sequence[IdentityConflictRow], identical: Sequence[IdenticalOutputs]
) -> None:
    if contradictions or identical:
        console.print()
    for one in contradictions[:CONFLICTS_MAX]:
        console.print(
            f"! {one_line(one.claimed)} is claimed where the endpoint reports {one_line(one.reported)}: "
            f"{many(one.sightings, 'time')}, last in {_place(one.where[0])}.",
            style="yellow",
        )
    for same in identical[:CONFLICTS_MAX]:
        names = "; ".join(f"{one_line(by.key) or '(empty)'} ({_place(by.where[0])})" for by in same.answers)
        console.print(f"! The same output, byte for byte, under several names: {names}.", style="yellow")
    if left := max(0, len(contradictions) - CONFLICTS_MAX) + max(0, len(identical) - CONFLICTS_MAX):
        console.print(f"{count(left)} more of these: --json tells all.")


def _place(where: AttemptPlace) -> str:
    return f"run {where.run_id}, attempt {count(where.attempt)}"


def _command(model: InventoryModel) -> str:
    """The command that registers a sighted model, as it claims itself most often."""
    claimed = ModelIdentity(model_name=next(iter(model.claims)), provider=next(iter(model.providers), None))
    command = registration(claimed)
    assert command is not None, "a model's name names a model"
    return command


def print_models(found: ModelList) -> None:
    """The registered models, one a line."""
    console = out()
    if not found.models:
        console.print("No model is registered: tallystick model register KEY --provider PROVIDER --name NAME")
        return
    shown = table(
        "key", "name", "provider", "other names", "sightings", "last seen (UTC)", "note",
        right=("sightings",), wrap=("name", "provider", "other names", "note"),
    )  # fmt: skip
    for model in found.models:
        shown.add_row(
            model.key,
            cut(one_line(model.name)),
            cut(one_line(model.provider)),
            cut(_listed(model.aliases)),
            count(model.sightings) if model.sightings else "never",
            moment(model.last_seen),
            cut(one_line(model.note)),
        )
    console.print(shown)


def print_scores(found: ProbesAnswer) -> None:
    """A table for each probe and scorer, and whether it tells models apart."""
    console = out()
    if not found.probes:
        console.print("There are no scores of that.")
    for number, one in enumerate(found.probes):
        if number:
            console.print()
        _print_table(console, one)
    console.print()
    console.print(dated(found.as_of), style="dim")


def _print_table(console: Console, one: ProbeScores) -> None:
    probe = one_line(one.probe_id if one.probe_version is None else f"{one.probe_id}@{one.probe_version}")
    scorer = one_line(one.scorer_id if one.scorer_version is None else f"{one.scorer_id}@{one.scorer_version}")
    console.print(f"{probe}, scored by {scorer}: {many(one.scores, 'score')}", style="bold")
    said = one.discrimination.says
    console.print(f"{said[0].upper()}{said[1:]}.")
    numbers = ("scores", "valid", "mean", "its interval", "min", "max", "percentile", "first", "last")
    shown = table("model", *numbers, "counts and dimensions", right=numbers, wrap=("counts and dimensions",))
    for row in one.models:
        shown.add_row(
            _whose(row),
            count(row.scores),
            "-" if row.valid_share is None else f"{row.valid_share:.0%}",
            figure(row.mean),
            span(row.interval),
            figure(row.min),
            figure(row.max),
            "-" if row.percentile is None else f"{row.percentile:.0f}",
            figure(row.first.total if row.first is not None else None),
            figure(row.last.total if row.last is not None and row.totals > 1 else None),
            cut(_means(row)),
        )
    console.print()
    console.print(shown)


def _whose(row: ModelScores) -> str:
    if row.kind == "model":
        return one_line(row.model)
    name = one_line(row.model) if row.model else "(empty)"
    return {"wrapper": f"{name} (host)", "unresolved": f"{name} (nothing)", "unnamed": "(unnamed)"}[row.kind]


def _means(row: ModelScores) -> str:
    means = (*row.counts.items(), *row.dimensions.items())
    return ", ".join(f"{one_line(name)} {mean:.2f}" for name, mean in means) or "-"


def _listed(names: Iterable[str]) -> str:
    return one_line(", ".join(names))

"""Runs, models and scores said in few words; and the real runs, where they lie beside this checkout."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256

from events.discovery import DiscoveryAttempted, DiscoveryStarted
from events.envelope import Draft
from events.model import ModelAliased, ModelIdentity, ModelRegistered
from events.probe import ProbeScored
from projections.discovery.attempt_index import AttemptIndex
from projections.discovery.model_inventory import InventoryView, build_inventory
from projections.discovery.probe_score_index import ProbeScoreIndex
from projections.discovery.probe_score_tables import ProbeScores, build_score_tables
from projections.discovery.query_params import InventoryQuery, ProbeScoreQuery
from tests.projections.drafts import post
from tests.projections.random_histories import events_of
from tests.support.paths import SHARED

RUNS = SHARED / "metacal" / "runs"


def start(run: str, router: str | None = None, asked: str | None = None) -> Draft:
    """A run of a router, asked for a model."""
    return post(DiscoveryStarted(run_id=run, router=router, requested_model=asked))


def attempt(
    run: str,
    number: int,
    name: str | None,
    outcome: str = "accepted",
    *,
    reported: str | None = None,
    output: str | None = None,
    time: datetime | None = None,
    **identity: str,
) -> Draft:
    """An attempt whose answer claims a name."""
    claimed = None if name is None else ModelIdentity(model_name=name, **identity)
    digest = None if output is None else sha256(output.encode()).hexdigest()
    payload = DiscoveryAttempted(
        run_id=run,
        attempt=number,
        outcome=outcome,  # type: ignore[arg-type]
        claimed=claimed,
        reported_model=reported,
        output=output,
        output_digest=digest,
    )
    return post(payload, time=time)


def register(key: str, **more: str) -> Draft:
    """A registered model."""
    return post(ModelRegistered(key=key, **more))


def alias(key: str, name: str) -> Draft:
    """Another name of it."""
    return post(ModelAliased(key=key, alias=name))


def score(
    name: str, model: str | None, total: float | None, *, probe: str = "p", time: datetime | None = None, **more: object
) -> Draft:
    """A score of an answer."""
    fields = {"scorer_id": "s", **more}
    payload = ProbeScored(score_id=name, probe_id=probe, model_name=model, total_score=total, **fields)  # type: ignore[arg-type]
    return post(payload, time=time)


def scores(**of: Sequence[float]) -> list[Draft]:
    """The scores of some models, in turn."""
    return [score(f"{name}-{n}", name, total) for name, totals in of.items() for n, total in enumerate(totals)]


def inventory_of(drafts: Sequence[Draft]) -> AttemptIndex:
    """The projection that folded these drafts' events."""
    made = AttemptIndex()
    made.fold(events_of(drafts))
    return made


def surveyed(*drafts: Draft, **part: object) -> InventoryView:
    """The inventory of these drafts, or a part of it."""
    return build_inventory(inventory_of(drafts).attempts(), InventoryQuery(**part))  # type: ignore[arg-type]


def tables(drafts: Sequence[Draft], **wanted: object) -> list[ProbeScores]:
    """The score tables of these drafts."""
    probes = ProbeScoreIndex()
    probes.fold(events_of(drafts))
    return build_score_tables(probes.scores(), inventory_of(drafts).names, ProbeScoreQuery(**wanted))  # type: ignore[arg-type]


def real() -> Iterator[Draft]:
    """The events of the real runs, as their files tell them."""
    for path in sorted(RUNS.glob("*.json")):
        report = json.loads(path.read_bytes())
        run = report["run_id"]
        yield post(DiscoveryStarted(run_id=run))
        for number, result in enumerate(report["results"], 1):
            model, probe = dict(result["model"]), result["probe"]
            name = model.pop("model_name")
            time = datetime.fromisoformat(result["timestamp"])
            yield attempt(run, number, name, output=probe["raw_output"], time=time, **model)
            counts = dict(probe["score"])
            yield score(
                f"{run}.{number}",
                name,
                counts.pop("total_score"),
                probe=probe["probe_id"],
                time=time,
                scorer_id="reported",
                counts=counts,
                dimension_scores=probe.get("dimension_scores"),
            )

"""Find stated scores that the outputs do not support. The stated score is imported all the same.

The counts and the total in a report come from another scorer, which may count differently. So there are three separate
checks: whether our scorer can score the output, whether the total matches the counts, and whether it matches the total
of our scorer. Ours is the first version of the probe's scorer: it counts what reports count, and runs no code.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal

import msgspec

from api.importers.runs.to_events import RunEvents
from instruments.probes import FORMER_PROBE_IDS, Probe, ProbeScore, Unscored, find_probe, scorer_name
from instruments.probes.refactor.scorer import WEIGHTS
from projections.discovery.run_report import TOTAL_KEY

TOLERANCE = 0.005
"""The largest accepted difference of two totals: half of the second decimal that run reports show."""

SCORES_KEPT = 10_000
"""Outputs whose scores are cached: many outputs repeat."""

Why = Literal["invalid", "counts", "rescored"]


class UnsupportedScore(msgspec.Struct, frozen=True, kw_only=True):
    """A stated score that its own report does not support, and `why`.

    `invalid`: our scorer finds nothing in the output to score. `counts`: `stated` differs from `by_counts`, the total
    of the stated counts. `rescored`: it differs from `by_scorer`, the total by our scorer. Each by more than TOLERANCE.
    """

    file: str
    run_id: str
    attempt: int
    model_name: str
    probe_id: str
    scorer: str
    stated: float | None
    by_counts: float | None
    by_scorer: float | None
    why: list[Why]


def unsupported_scores(run: RunEvents) -> Iterator[UnsupportedScore]:
    """Yield the unsupported scores of a run, for probes that are known here."""
    for number, result in enumerate(run.report.results or (), 1):
        probe = probe_of(result.probe.probe_id or "")
        stated = result.probe.score
        if probe is None or not stated:
            continue
        score = _score(probe.id, result.probe.raw_output or "")
        total, by_counts = stated.get(TOTAL_KEY), _by_counts(probe, stated)
        by_scorer = None if isinstance(score, Unscored) else score.total
        why: list[Why] = [] if isinstance(score, Unscored) or score.valid else ["invalid"]
        why += ["counts"] if _differ(total, by_counts) else []
        why += ["rescored"] if _differ(total, by_scorer) else []
        if why:
            yield UnsupportedScore(
                file=run.file,
                run_id=run.run_id,
                attempt=number,
                model_name=result.model.model_name,
                probe_id=result.probe.probe_id or "",
                scorer=scorer_name(probe.scorers[-1]),
                stated=total,
                by_counts=by_counts,
                by_scorer=by_scorer,
                why=why,
            )


def probe_of(probe_id: str) -> Probe | None:
    """Return our probe with an id, which may be the probe's earlier id."""
    return find_probe(FORMER_PROBE_IDS.get(probe_id, probe_id))


@lru_cache(SCORES_KEPT)
def _score(probe_id: str, output: str) -> ProbeScore | Unscored:
    probe = find_probe(probe_id)
    assert probe is not None
    return probe.scorers[-1].score(output)


def _by_counts(probe: Probe, stated: Mapping[str, float]) -> float | None:
    """Return the total of stated counts by the formula of the refactor probes; None for others or missing counts."""
    if probe.kind != "code" or not WEIGHTS.keys() <= stated.keys():
        return None
    return sum(weight * min(1.0, stated[label] / enough) for label, (weight, enough) in WEIGHTS.items())


def _differ(stated: float | None, computed: float | None) -> bool:
    return stated is not None and computed is not None and abs(stated - computed) > TOLERANCE

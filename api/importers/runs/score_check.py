"""Whether outputs bear out the scores that reports state: a stated score is a fact and kept; what denies it is told.

The counts and the total that a report states are those of its own scorer, which may have counted otherwise: so each is
looked at by itself, whether the output can be scored at all, whether the total is what the counts come to, and what our
scorer of the same probe makes of the output.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal

import msgspec

from api.importers.runs.to_events import RunEvents
from instruments.probes import (
    FORMER_PROBE_IDS,
    Probe,
    ProbeScore,
    find_probe,
    scorer_name,
)
from instruments.probes.refactor.scorer import WEIGHTS
from projections.discovery.run_report import TOTAL_KEY

TOLERANCE = 0.005
"""How far two totals may lie apart: half of the second decimal that run reports show."""

SCORES_KEPT = 10_000
"""Outputs whose scores are remembered: the same output comes again and again."""

Why = Literal["invalid", "counts", "rescored"]


class UnsupportedScore(msgspec.Struct, frozen=True, kw_only=True):
    """A stated score that its own report does not bear out, and in what: `why`.

    `invalid`: our scorer finds nothing in the output that could be scored. `counts`: `stated` is not `by_counts`, what
    the stated counts come to. `rescored`: it is not `by_scorer`, what our scorer gives. Each beyond TOLERANCE.
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


def unborne(told: RunEvents) -> Iterator[UnsupportedScore]:
    """The stated scores of a run that are not borne out, of probes that are known here."""
    for number, result in enumerate(told.report.results or (), 1):
        probe = known(result.probe.probe_id or "")
        stated = result.probe.score
        if probe is None or not stated:
            continue
        score = _scored(probe.id, result.probe.raw_output or "")
        total, by_counts = stated.get(TOTAL_KEY), _by_counts(probe, stated)
        why: list[Why] = [] if score.valid else ["invalid"]
        why += ["counts"] if _apart(total, by_counts) else []
        why += ["rescored"] if _apart(total, score.total) else []
        if why:
            yield UnsupportedScore(
                file=told.file,
                run_id=told.run_id,
                attempt=number,
                model_name=result.model.model_name,
                probe_id=result.probe.probe_id or "",
                scorer=scorer_name(probe.scorer),
                stated=total,
                by_counts=by_counts,
                by_scorer=score.total,
                why=why,
            )


def known(probe_id: str) -> Probe | None:
    """The probe that a report means: ours of that id, or the one that an earlier id names."""
    return find_probe(FORMER_PROBE_IDS.get(probe_id, probe_id))


@lru_cache(SCORES_KEPT)
def _scored(probe_id: str, output: str) -> ProbeScore:
    probe = find_probe(probe_id)
    assert probe is not None
    return probe.scorer.score(output)


def _by_counts(probe: Probe, stated: Mapping[str, float]) -> float | None:
    """What stated counts come to by the formula of the refactor probes; None where it is another's or they lack one."""
    if probe.kind != "code" or not WEIGHTS.keys() <= stated.keys():
        return None
    return sum(most * min(1.0, stated[label] / enough) for label, (most, enough) in WEIGHTS.items())


def _apart(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) > TOLERANCE

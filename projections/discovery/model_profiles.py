"""Profiles: for each model its results on every probe, placed among the models of the ledger, and one figure over all.

Scores are comparable only within one version of a probe and of a scorer. So of each probe one table is used: its newest
version with scores, by the newest scorer. A declined answer (invalid: it does not parse, is missing, or does not answer
the probe) counts as 0, because otherwise a model could rise by declining what is hard.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from projections.arrays import row_numbers_by_group
from projections.discovery.model_names import ModelNames
from projections.discovery.probe_score_index import ProbeScoreColumns, Table
from projections.discovery.probe_score_tables import percentiles
from projections.discovery.run_report import REPORTED_SCORER_ID

MODELS_MIN = 3
"""Models that a probe needs for percentiles: among fewer, a place says nothing."""

_digits = re.compile(r"(\d+)")


class ProfileProbe(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answers to one probe.

    `answers` counts those that were scored or declined, `declining_rate` is the share declined. `mean` is over the
    scored answers, 0..1; `score` counts declined ones as 0. `percentile` is the midrank 0..100 of `score` among
    `models` models; None below MODELS_MIN.
    """

    probe_id: str
    probe_version: str | None
    scorer_id: str
    scorer_version: str | None
    answers: int
    declined: int
    declining_rate: float
    mean: float | None
    score: float
    percentile: float | None
    models: int


class ModelProfile(msgspec.Struct, frozen=True, kw_only=True):
    """A model's results on every probe that it answered.

    `overall` is the mean of its percentiles, 0..100, over `rests_on` probes; None if it has no percentile.
    """

    model: str
    known: bool
    overall: float | None
    rests_on: int
    probes: list[ProfileProbe]


class _Answers(msgspec.Struct, frozen=True):
    """The answers of a model to a probe: the number scored, the sum of their totals, and the number declined."""

    scored: int
    total: float
    declined: int

    @property
    def number(self) -> int:
        return self.scored + self.declined

    @property
    def score(self) -> float:
        return self.total / self.number


def build_profiles(scores: ProbeScoreColumns, names: ModelNames, model: str | None = None) -> list[ModelProfile]:
    """Build the profiles of all models, the best overall first; or of the one that a name means.

    Claims that name a host or no model have no profile.
    """
    counted = _count_answers(scores, names)
    probes: dict[str, list[ProfileProbe]] = {}
    for table in sorted(_choose_tables(counted), key=lambda table: table[0]):
        answers = counted[table]
        compared = len(answers) >= MODELS_MIN
        places = percentiles({key: one.score for key, one in answers.items()}) if compared else {}
        for key, one in answers.items():
            probes.setdefault(key, []).append(_probe(table, one, places.get(key), len(answers)))
    wanted = None if model is None else names.resolve(model).key
    profiles = [_profile(key, names, found) for key, found in probes.items() if wanted in (None, key)]
    return sorted(profiles, key=lambda one: (one.overall is None, -(one.overall or 0.0), one.model))


def _count_answers(scores: ProbeScoreColumns, names: ModelNames) -> dict[Table, dict[str, _Answers]]:
    """Count the answers of each model, by table."""
    counted: dict[Table, dict[str, _Answers]] = {}
    groups = row_numbers_by_group(scores.facts, len(scores.facts_table))
    for facts, rows in zip(scores.facts_table, groups, strict=True):
        table, name, valid = facts[:4], facts[4], facts[5]
        resolved = None if name is None else names.resolve(name)
        if resolved is None or resolved.kind != "model":
            continue
        totals = scores.total[rows]
        stated = totals[~np.isnan(totals)] if valid is not False else totals[:0]
        declined = len(rows) if valid is False else 0
        if not len(stated) and not declined:
            continue
        before = counted.setdefault(table, {}).get(resolved.key, _Answers(0, 0.0, 0))
        counted[table][resolved.key] = _Answers(
            before.scored + len(stated), before.total + float(stated.sum()), before.declined + declined
        )
    return counted


def _choose_tables(tables: Mapping[Table, object]) -> Sequence[Table]:
    """Return one table for each probe: the newest version, by the newest scorer; stated scores only without others."""
    chosen: dict[str, Table] = {}
    for table in tables:
        other = chosen.get(table[0])
        if other is None or _age(table) > _age(other):
            chosen[table[0]] = table
    return list(chosen.values())


def _age(table: Table) -> tuple[object, ...]:
    _, version, scorer, scorer_version = table
    return _version(version), scorer != REPORTED_SCORER_ID, _version(scorer_version), scorer


def _version(text: str | None) -> list[tuple[bool, int, str]]:
    """Return a version as something to compare: 10 is newer than 9."""
    parts = _digits.split(text or "")
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts if part]


def _probe(table: Table, answers: _Answers, percentile: float | None, models: int) -> ProfileProbe:
    return ProfileProbe(
        probe_id=table[0],
        probe_version=table[1],
        scorer_id=table[2],
        scorer_version=table[3],
        answers=answers.number,
        declined=answers.declined,
        declining_rate=answers.declined / answers.number,
        mean=answers.total / answers.scored if answers.scored else None,
        score=answers.score,
        percentile=percentile,
        models=models,
    )


def _profile(key: str, names: ModelNames, probes: list[ProfileProbe]) -> ModelProfile:
    places = [probe.percentile for probe in probes if probe.percentile is not None]
    return ModelProfile(
        model=key,
        known=key in names.models,
        overall=sum(places) / len(places) if places else None,
        rests_on=len(places),
        probes=probes,
    )

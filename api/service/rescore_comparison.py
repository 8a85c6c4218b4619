"""Compare the scores of a new scorer with those that the same outputs had: by model, by answer and in total."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from events.model_names import canonical_name
from projections.stats.discrimination import Discrimination, measure_discrimination

UNNAMED = "(unnamed)"

OutputKey = tuple[str, int]
"""Run and attempt."""


class OutputScore(msgspec.Struct, frozen=True):
    """The score that one scorer gave an output."""

    valid: bool
    total: float | None

    @property
    def counted(self) -> float | None:
        """The total as it counts: 0 for an invalid output; None for a valid one without a total."""
        return self.total if self.valid else 0.0


ScoresByOutput = Mapping[OutputKey, Mapping[str, OutputScore]]


class ScoreSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one scorer: their number, how many are invalid, their mean, and the number of distinct values.

    `mean` is over the totals; in `counted_mean` each invalid output is 0.
    """

    scores: int
    invalid: int
    mean: float | None
    distinct: int
    counted_mean: float | None


class ModelRow(msgspec.Struct, frozen=True, kw_only=True):
    """The outputs of one canonical model name, and the summary of each scorer.

    `change` is the mean difference of the new scores and those before, over the outputs that have both, each invalid
    one as 0; None without any.
    """

    model: str
    outputs: int
    scorers: dict[str, ScoreSummary]
    change: float | None


class AnswerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One output with the scores before and after, each invalid one as 0, or the reason why it has no new one."""

    run_id: str
    attempt: int
    model: str
    before: float | None
    after: float | None
    change: float | None
    unscored: str | None


class RescoreResult(msgspec.Struct, kw_only=True):
    """The result of a rescoring. `scorers` has the names of the earlier scorers, sorted, and then the new one.

    The names are the keys of the summaries. Of `outputs`, `appended` were scored now and `known` before; `erased` is
    the number of outputs whose evidence was erased, `lost` of those whose evidence is missing or damaged, `unscored` of
    those that the scorer could not score here, by the reason that it gave. In a `dry_run`, `appended` were scored and
    not written. `before` is the scorer that the new one is compared with in `change` and in `answers`.
    """

    scorer: str
    probes: list[str]
    dry_run: bool
    outputs: int = 0
    appended: int = 0
    known: int = 0
    erased: int = 0
    lost: int = 0
    unscored: dict[str, int] = {}
    elapsed_ms: int = 0
    scorers: list[str] = []
    before: str | None = None
    models: list[ModelRow] = []
    total: dict[str, ScoreSummary] = {}
    change: float | None = None
    discrimination: dict[str, Discrimination] = {}
    answers: list[AnswerRow] = []


def compare_scores(
    result: RescoreResult,
    models: Mapping[OutputKey, str | None],
    scores: ScoresByOutput,
    unscored: Mapping[OutputKey, str],
) -> None:
    """Set the figures of a result that compare the scorers.

    Args:
        result: what was scored, with the new scorer.
        models: the claimed model name of each output.
        scores: the scores of each output by scorer.
        unscored: why outputs have no new score.
    """
    new = result.scorer
    names = {name for row in scores.values() for name in row} - {new}
    scorers, before = [*sorted(names), new], _scorer_before(new, names)
    keys_by_model: dict[str, list[OutputKey]] = {}
    for key, name in models.items():
        keys_by_model.setdefault(canonical_name(name or "") or UNNAMED, []).append(key)
    rows = {model: [scores[key] for key in keys] for model, keys in sorted(keys_by_model.items())}
    found_in_all = list(scores.values())
    result.scorers, result.before = scorers, before
    result.models = [
        ModelRow(
            model=model,
            outputs=len(found),
            scorers={name: _summarize(name, found) for name in scorers},
            change=_mean_change(before, new, found),
        )
        for model, found in rows.items()
    ]
    result.total = {name: _summarize(name, found_in_all) for name in scorers}
    result.change = _mean_change(before, new, found_in_all)
    result.discrimination = {
        name: measure_discrimination(
            [row[name].total or 0.0 for row in found if name in row and row[name].total is not None]
            for found in rows.values()
        )
        for name in scorers
    }
    result.answers = [
        _answer(key, model, before, new, scores[key], unscored.get(key))
        for model, keys in sorted(keys_by_model.items())
        for key in sorted(keys)
    ]


def _scorer_before(new: str, others: set[str]) -> str | None:
    """Return the scorer to compare with: the newest other version of the same scorer, or else the only other one."""
    same = [name for name in others if name.partition("@")[0] == new.partition("@")[0]]
    if same:
        return max(same, key=_version_order)
    return next(iter(others)) if len(others) == 1 else None


def _version_order(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts version 10 after version 9."""
    return [(int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", name.partition("@")[2])]


def _answer(
    key: OutputKey, model: str, before: str | None, new: str, row: Mapping[str, OutputScore], unscored: str | None
) -> AnswerRow:
    old = row[before].counted if before is not None and before in row else None
    now = row[new].counted if new in row else None
    return AnswerRow(
        run_id=key[0],
        attempt=key[1],
        model=model,
        before=old,
        after=now,
        change=None if old is None or now is None else round(now - old, 6),
        unscored=unscored,
    )


def _mean_change(before: str | None, new: str, rows: Sequence[Mapping[str, OutputScore]]) -> float | None:
    if before is None:
        return None
    pairs = [(row[before].counted, row[new].counted) for row in rows if before in row and new in row]
    changes = [now - old for old, now in pairs if old is not None and now is not None]
    return round(sum(changes) / len(changes), 6) if changes else None


def _summarize(name: str, rows: Sequence[Mapping[str, OutputScore]]) -> ScoreSummary:
    given = [row[name] for row in rows if name in row]
    totals = [score.total for score in given if score.total is not None]
    counted = [score.counted for score in given if score.counted is not None]
    return ScoreSummary(
        scores=len(given),
        invalid=sum(not score.valid for score in given),
        mean=sum(totals) / len(totals) if totals else None,
        distinct=len(set(totals)),
        counted_mean=sum(counted) / len(counted) if counted else None,
    )

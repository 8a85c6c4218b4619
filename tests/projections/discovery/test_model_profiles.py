"""Profiles: declined answers count as 0, places need enough models, and one table of each probe is used."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.envelope import Draft
from projections.discovery.model_profiles import MODELS_MIN, ModelProfile, build_profiles
from projections.discovery.probe_score_index import ProbeScoreIndex
from tests.projections.random_histories import events_of
from tests.projections.short_runs import alias, inventory_of, register, score

THREE = {"a": [0.2, 0.4], "b": [0.5], "c": [0.9, 0.7]}


def profiles(drafts: list[Draft], model: str | None = None) -> dict[str, ModelProfile]:
    index = ProbeScoreIndex()
    index.fold(events_of(drafts))
    found = build_profiles(index.scores(), inventory_of(drafts).names, model)
    return {profile.model: profile for profile in found}


def on(probe: str, scores: Mapping[str, Sequence[float | None]], **more: str) -> list[Draft]:
    """Scores of models on a probe; None is a declined answer."""
    tag = "-".join([probe, *map(str, more.values())])
    return [
        score(f"{tag}-{n}-{model.replace(' ', '')}", model, total, probe=probe, valid=total is not None, **more)  # type: ignore[arg-type]
        for model, totals in scores.items()
        for n, total in enumerate(totals)
    ]


def test_each_probe_is_placed_and_the_overall_figure_is_the_mean_of_the_places() -> None:
    reverse = {"a": [0.9], "b": [0.5], "c": [0.1]}
    found = profiles([*on("p", THREE), *on("q", THREE), *on("r", reverse)])
    assert list(found) == ["c", "b", "a"]
    assert [probe.probe_id for probe in found["c"].probes] == ["p", "q", "r"]
    assert [probe.percentile for probe in found["c"].probes] == pytest.approx([500 / 6, 500 / 6, 100 / 6])
    assert found["c"].overall == pytest.approx((500 / 6 * 2 + 100 / 6) / 3)
    assert found["c"].rests_on == 3
    (probe, *_) = found["a"].probes
    assert (probe.answers, probe.declined, probe.models) == (2, 0, 3)
    assert (probe.mean, probe.score) == pytest.approx((0.3, 0.3))


def test_one_good_answer_and_four_refusals_are_below_an_honest_middling_one() -> None:
    found = profiles(on("p", {"picky": [1.0, None, None, None, None], "honest": [0.703] * 5, "weak": [0.1] * 5}))
    (probe,) = found["picky"].probes
    assert (probe.mean, probe.score, probe.declining_rate) == pytest.approx((1.0, 0.2, 0.8))
    assert list(found) == ["honest", "picky", "weak"]


def test_a_model_that_always_declines_is_last() -> None:
    found = profiles(on("p", {"silent": [None, None], "weak": [0.1], "good": [0.9]}))
    assert list(found)[-1] == "silent"
    (probe,) = found["silent"].probes
    assert (probe.mean, probe.score, probe.declining_rate) == (None, 0.0, 1.0)


def test_few_models_have_no_places() -> None:
    found = profiles(on("p", {"a": [0.2], "b": [0.8]}))
    assert [(one.overall, one.rests_on) for one in found.values()] == [(None, 0), (None, 0)]
    assert [probe.models for one in found.values() for probe in one.probes] == [2, 2]
    mixed = profiles([*on("p", {"a": [0.2], "b": [0.8]}), *on("q", THREE)])
    assert (mixed["a"].rests_on, len(mixed["a"].probes)) == (1, 2)


def test_the_newest_version_and_scorer_are_used() -> None:
    old = on("p", {"a": [1.0], "b": [1.0], "c": [1.0]}, scorer_id="s", scorer_version="9")
    new = on("p", {"a": [0.1], "b": [0.2], "c": [0.3]}, scorer_id="s", scorer_version="10")
    stated = on("p", {"a": [0.9], "b": [0.8], "c": [0.7]}, scorer_id="reported", scorer_version="99")
    for drafts in ([*old, *new, *stated], [*stated, *new, *old]):
        found = profiles(drafts)
        assert [(probe.scorer_id, probe.scorer_version) for probe in found["a"].probes] == [("s", "10")]
    assert [probe.scorer_id for probe in profiles(stated)["a"].probes] == ["reported"]


def test_names_are_resolved_and_hosts_have_no_profile() -> None:
    drafts = [register("a"), alias("a", "Big A"), *on("p", {"Big A": [0.4], "a-20250101": [0.6], "auto": [1.0]})]
    found = profiles(drafts)
    assert list(found) == ["a"]
    assert (found["a"].known, found["a"].probes[0].answers) == (True, 2)
    assert list(profiles(drafts, "Big A")) == ["a"]
    assert profiles(drafts, "other") == {}


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=4)))
def test_places_follow_scores_and_average_fifty(scores: dict[str, list[float | None]]) -> None:
    found = profiles(on("p", scores))
    assert set(found) == set(scores)
    probes = [one.probes[0] for one in found.values()]
    for probe in probes:
        assert (probe.percentile is None) == (len(scores) < MODELS_MIN)
        assert 0 <= probe.score <= 1
    if len(scores) >= MODELS_MIN:
        assert sum(probe.percentile or 0.0 for probe in probes) / len(probes) == pytest.approx(50)
        ranked = [probe.score for probe in probes]
        assert all(first >= second - 1e-9 for first, second in pairwise(ranked))

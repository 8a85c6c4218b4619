"""The inventory: what speaks for a model, what names none, what does not fit together; and it is the plain count."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, structs

from events.discovery import DiscoveryAttempted, DiscoveryStarted
from events.envelope import Draft
from projections.discovery import model_inventory
from projections.discovery.model_inventory import InventoryView, Sightings, build_inventory
from tests.projections.random_histories import KEYS, NAMES, discoveries, events_of
from tests.projections.short_runs import (
    RUNS,
    alias,
    attempt,
    inventory_of,
    real,
    register,
    start,
    surveyed,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
real_runs = pytest.mark.skipif(not RUNS.is_dir(), reason="the real runs are not beside this checkout")


def keys(view: InventoryView) -> list[str]:
    return [model.key for model in view.models]


def test_a_model_with_what_speaks_for_it() -> None:
    view = surveyed(
        start("one", "command:ide"),
        attempt("one", 1, "Model-A-20250101", provider="Lab", version="1", wrapper="Cursor", time=NOON),
        attempt("one", 2, "model-a", "repeat", provider="lab", time=NOON + timedelta(hours=1)),
        start("two", "openai:local"),
        attempt("two", 1, "lab/model-a", reported="model-a-20250101", time=NOON - timedelta(hours=1)),
        attempt("two", 2, "model-b"),
        attempt("two", 3, None, "refused"),
    )
    assert (view.runs, view.attempts) == (2, 5)
    first, second = view.models
    assert (first.key, first.sightings, first.known) == ("model-a", 3, False)
    assert first.claims == {"Model-A-20250101": 1, "lab/model-a": 1, "model-a": 1}
    assert (first.providers, first.versions, first.hosts) == ({"Lab": 1, "lab": 1}, {"1": 1}, {"Cursor": 1})
    assert first.reported == {"model-a-20250101": 1}
    assert [(run.run_id, run.sightings) for run in first.by_run] == [("one", 2), ("two", 1)]
    assert [(one.router, one.sightings, one.runs) for one in first.by_router] == [
        ("command:ide", 2, 1),
        ("openai:local", 1, 1),
    ]
    assert (first.first_seen, first.last_seen) == (NOON - timedelta(hours=1), NOON + timedelta(hours=1))
    assert (second.key, second.sightings) == ("model-b", 1)
    assert (view.contradictions, view.identical, view.wrappers, view.unresolved) == ([], [], [], [])


def test_an_answer_that_was_not_accepted_is_no_sighting() -> None:
    view = surveyed(start("r"), *(attempt("r", n, "model-a", how) for n, how in enumerate(("refused", "failed"), 1)))
    assert keys(view) == []
    assert view.routers[0].outcomes == {"failed": 1, "refused": 1}


def test_wrappers_and_unresolved_names_are_listed_separately_whatever_the_outcome() -> None:
    view = surveyed(
        start("r"),
        attempt("r", 1, "Auto", "wrapper"),
        attempt("r", 2, "auto"),
        attempt("r", 3, "Unknown", "unparsable"),
    )
    assert keys(view) == []
    assert [(one.key, one.claims) for one in view.wrappers] == [("auto", {"Auto": 1, "auto": 1})]
    assert [(one.key, one.sightings) for one in view.unresolved] == [("unknown", 1)]


@pytest.mark.parametrize("before", [True, False])
def test_owners_name_models_before_or_after_they_are_sighted(before: bool) -> None:
    said = (register("model-a", name="Model A", provider="Lab", version="2", note="ours"), alias("model-a", "Zed"))
    sighted = (start("r"), attempt("r", 1, "zed"), attempt("r", 2, "other"))
    view = surveyed(*said, *sighted) if before else surveyed(*sighted, *said)
    (known,) = [model for model in view.models if model.known]
    assert (known.key, known.name, known.provider, known.note) == ("model-a", "Model A", "Lab", "ours")
    assert known.version == "2"
    assert (known.aliases, known.claims) == (["Zed"], {"zed": 1})
    assert keys(view) == ["model-a", "other"]


def test_a_registered_model_that_was_never_sighted_is_there() -> None:
    (model,) = surveyed(register("model-a")).models
    assert (model.known, model.sightings, model.runs, model.first_seen) == (True, 0, 0, None)


def test_what_was_asked_for_and_refused() -> None:
    view = surveyed(
        start("r", "gate", "lab/model-a"), attempt("r", 1, None, "refused"), attempt("r", 2, "model-b"),
        start("s", "gate", "auto"), attempt("s", 1, "model-b"),
    )  # fmt: skip
    assert [(model.key, model.sightings, model.requested, model.refused) for model in view.models] == [
        ("model-b", 2, 0, 0),
        ("model-a", 0, 2, 1),
    ]
    (router,) = view.routers
    assert (router.router, router.runs, router.attempts, router.models) == ("gate", 2, 3, 1)
    assert router.outcomes == {"accepted": 2, "refused": 1}


def test_claim_against_endpoint() -> None:
    view = surveyed(
        start("r"),
        attempt("r", 1, "model-a", reported="lab/model-a-20250101"),
        attempt("r", 2, "model-a", reported="model-b-20250101"),
        attempt("r", 3, "Model-A", "repeat", reported="model-b"),
        attempt("r", 4, "model-a", "refused", reported="model-b"),
        attempt("r", 5, "model-a", reported="auto"),
        attempt("r", 6, "unknown", reported="model-b"),
    )
    (found,) = view.contradictions
    assert (found.claimed, found.reported, found.sightings) == ("model-a", "model-b", 2)
    assert found.claims == {"Model-A": 1, "model-a": 1}
    assert found.reports == {"model-b": 1, "model-b-20250101": 1}
    assert [(one.run_id, one.attempt) for one in found.where] == [("r", 3), ("r", 2)]
    (unresolved,) = view.unresolved
    assert unresolved.reported == {"model-b": 1}


def test_an_alias_settles_a_contradiction() -> None:
    drafts = [start("r"), attempt("r", 1, "model-a", reported="deployment-7")]
    assert len(surveyed(*drafts).contradictions) == 1
    assert surveyed(*drafts, register("model-a"), alias("model-a", "Deployment-7")).contradictions == []


def test_one_output_under_several_names() -> None:
    view = surveyed(
        start("r"),
        attempt("r", 1, "model-a", output="same"),
        attempt("r", 2, "model-b", output="same"),
        attempt("r", 3, "Auto", "wrapper", output="same"),
        attempt("r", 4, "model-a", "repeat", output="other"),
        attempt("r", 5, "Model-A-20250101", output="other"),
        attempt("r", 6, "model-c", output=""),
        attempt("r", 7, "model-d", output=""),
        start("s"),
        attempt("s", 1, "model-b", output="same"),
    )
    (found,) = view.identical
    assert found.output_digest == "0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5"
    reported_text = [(one.kind, one.key, [(at.run_id, at.attempt) for at in one.where]) for one in found.answers]
    assert reported_text == [
        ("model", "model-b", [("s", 1), ("r", 2)]),
        ("model", "model-a", [("r", 1)]),
        ("wrapper", "auto", [("r", 3)]),
    ]


def test_one_model_with_all_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_inventory, "RUNS_SHOWN", 2)
    drafts = [draft for n in range(4) for draft in (start(f"r{n}"), attempt(f"r{n}", 1, "model-a"))]
    drafts += [attempt("r0", 2, "model-b", reported="model-c"), attempt("r0", 3, "Auto")]
    (model, _) = surveyed(*drafts).models
    assert (model.runs, [run.run_id for run in model.by_run]) == (4, ["r3", "r2"])
    view = surveyed(*drafts, model="lab/model-a")
    assert (keys(view), view.wrappers, view.contradictions) == (["model-a"], [], [])
    assert [run.run_id for run in view.models[0].by_run] == ["r3", "r2", "r1", "r0"]
    assert [one.key for one in surveyed(*drafts, model="AUTO").wrappers] == ["auto"]
    assert len(surveyed(*drafts, model="model-c").contradictions) == 1


def test_the_columns_of_a_survey_stay_as_they_were() -> None:
    drafts = [start("r"), attempt("r", 1, "model-a"), attempt("r", 2, "model-b")]
    events = events_of([*drafts, register("model-a")])
    inventory = inventory_of([])
    inventory.fold(events[:2])
    before = inventory.attempts()
    inventory.fold(events[2:])
    assert keys(build_inventory(before)) == ["model-a"]
    assert not build_inventory(before).models[0].known
    assert keys(build_inventory(inventory.attempts())) == ["model-a", "model-b"]


@pytest.mark.slow
@given(drafts=discoveries(60))
@settings(max_examples=200, deadline=None)
def test_it_is_the_plain_count(drafts: list[Draft]) -> None:
    names = inventory_of(drafts).names
    routers: dict[str, str | None] = {}
    seen: dict[tuple[str, str], list[tuple[str, datetime, DiscoveryAttempted]]] = {}
    disputed: Counter[tuple[str, str]] = Counter()
    authors: dict[str, set[tuple[str, str]]] = {}
    for event in events_of(drafts):
        data = event.data
        if isinstance(data, DiscoveryStarted):
            routers[event.subject] = data.router
        if not isinstance(data, DiscoveryAttempted) or data.claimed is None:
            continue
        name = names.resolve(data.claimed.model_name)
        sighted = data.outcome in ("accepted", "repeat")
        if sighted or name.kind != "model":
            seen.setdefault(name, []).append((event.subject, event.moment, data))
        if data.reported_model is not None and sighted:
            other = names.resolve(data.reported_model)
            disputed[name.key, other.key] += name.kind == other.kind == "model" and name != other
        if data.output is None and data.output_digest is not None:
            authors.setdefault(data.output_digest, set()).add(name)
    view = surveyed(*drafts)
    reported_text: list[Sightings] = [*view.models, *view.wrappers, *view.unresolved]
    assert {one.key: one.sightings for one in reported_text if one.sightings} == {
        key: len(own) for (_, key), own in seen.items()
    }
    kinds = {**dict.fromkeys(keys(view), "model"), **dict.fromkeys((one.key for one in view.wrappers), "wrapper")}
    for one in reported_text:
        own = seen.get((kinds.get(one.key, "unresolved"), one.key), [])
        assert one.claims == Counter(data.claimed.model_name for *_, data in own if data.claimed is not None)
        runs = Counter(subject.removeprefix("discovery/") for subject, *_ in own)
        assert {run.run_id: run.sightings for run in one.by_run} == runs
        assert {by.router: by.sightings for by in one.by_router} == Counter(routers[subject] for subject, *_ in own)
        moments = [moment for _, moment, _ in own]
        assert (one.first_seen, one.last_seen) == ((min(moments), max(moments)) if moments else (None, None))
    assert {(one.claimed, one.reported): one.sightings for one in view.contradictions} == +disputed
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert {one.output_digest: {(by.kind, by.key) for by in one.answers} for one in view.identical} == {
        digest: by for digest, by in authors.items() if len(by) > 1 and digest != empty
    }


@given(drafts=discoveries(40), name=st.sampled_from([*NAMES, *KEYS]))
@settings(max_examples=100, deadline=None)
def test_one_model_is_its_row_of_all(drafts: list[Draft], name: str) -> None:
    whole, part = surveyed(*drafts), surveyed(*drafts, model=name)
    found = inventory_of(drafts).names.resolve(name)
    assert part.models == [row for row in whole.models if ("model", row.key) == found]
    assert part.wrappers == [row for row in whole.wrappers if ("wrapper", row.key) == found]
    assert part.unresolved == [row for row in whole.unresolved if ("unresolved", row.key) == found]


@given(drafts=discoveries(40), limit=st.integers(1, 4), offset=st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_pages_are_parts_of_the_whole(drafts: list[Draft], limit: int, offset: int) -> None:
    whole, page = surveyed(*drafts), surveyed(*drafts, limit=limit, offset=offset)
    assert whole.totals is UNSET
    assert page.totals is not UNSET
    for name in page.totals.__struct_fields__:
        rows = getattr(whole, name)
        assert getattr(page.totals, name) == len(rows)
        shown = getattr(page, name)
        if name == "models":
            assert all(model.contradicted is not UNSET for model in shown)
            shown = [structs.replace(model, contradicted=UNSET) for model in shown]
        assert shown == rows[offset : offset + limit]
    assert (page.routers, page.runs, page.attempts) == (whole.routers, whole.runs, whole.attempts)


@given(drafts=discoveries(40))
@settings(max_examples=60, deadline=None)
def test_the_inventory_of_a_router_has_its_attempts_alone(drafts: list[Draft]) -> None:
    whole = surveyed(*drafts)
    for router in whole.routers:
        if router.router is not None:
            part = surveyed(*drafts, router=router.router)
            assert (part.runs, part.attempts) == (router.runs, router.attempts)
            assert sum(model.sightings > 0 for model in part.models) == router.models
            assert {model.key: model.sightings for model in part.models if model.sightings} == {
                model.key: by.sightings
                for model in whole.models
                for by in model.by_router
                if by.router == router.router
            }


def test_models_by_a_part_of_a_name_by_registration_and_in_order() -> None:
    drafts = (
        start("r"), attempt("r", 1, "model-a", time=NOON), attempt("r", 2, "model-a", time=NOON),
        attempt("r", 3, "other-b", reported="model-c", time=NOON + timedelta(hours=1)), attempt("r", 4, "Auto"),
        register("model-d", name="Zed"), alias("model-d", "Nickname"),
    )  # fmt: skip
    assert keys(surveyed(*drafts, search="MODEL")) == ["model-a", "model-d"]
    assert keys(surveyed(*drafts, search="zed")) == keys(surveyed(*drafts, search="NICK")) == ["model-d"]
    assert [one.key for one in surveyed(*drafts, search="aut").wrappers] == ["auto"]
    assert len(surveyed(*drafts, search="other").contradictions) == 1
    assert surveyed(*drafts, search="model-d").contradictions == []
    assert keys(surveyed(*drafts, known=True)) == ["model-d"]
    assert keys(surveyed(*drafts, known=False)) == ["model-a", "other-b"]
    assert keys(surveyed(*drafts, sort="last_seen"))[0] == "other-b"
    assert keys(surveyed(*drafts, sort="name")) == ["model-a", "model-d", "other-b"]


@real_runs
def test_the_real_runs() -> None:
    view = surveyed(*real(), register("gpt-4o"))
    assert {model.key: model.sightings for model in view.models} == {
        "claude-sonnet-4": 7, "gpt-4o": 2, "gpt-4o-mini": 1, "claude-3.5-sonnet": 1, "gemini-2.0-flash": 1,
        "deepseek-v3": 1,
    }  # fmt: skip
    assert view.models[0].claims == {"claude-sonnet-4-20250514": 6, "claude-sonnet-4": 1}
    assert view.models[0].providers == {"Anthropic": 6, "anthropic": 1}
    assert [(one.key, one.claims, one.runs) for one in view.wrappers] == [("auto", {"Auto": 2, "auto": 1}, 3)]
    assert [(one.key, one.sightings) for one in view.unresolved] == [("unknown", 1)]
    assert [model.key for model in view.models if model.known] == ["gpt-4o"]
    assert {one.router for one in view.models[0].by_router} == {None}

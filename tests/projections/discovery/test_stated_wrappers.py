"""What owners say about hosts: it applies to past attempts, the later event wins, and the real runs are unchanged."""

import pytest

from events.envelope import Draft
from events.host_names import host_key
from events.model import WrapperDeclared, WrapperWithdrawn
from projections.discovery.attempt_index import AttemptIndex
from projections.discovery.model_inventory import build_inventory
from projections.discovery.model_names import ResolvedName
from tests.projections.drafts import post
from tests.projections.short_runs import RUNS, alias, attempt, inventory_of, real, register, start


def declared(name: str) -> Draft:
    return post(WrapperDeclared(key=host_key(name), name=name))


def withdrawn(name: str) -> Draft:
    return post(WrapperWithdrawn(key=host_key(name)))


def named(name: str, *drafts: Draft) -> tuple[str, str]:
    found: ResolvedName = inventory_of(drafts).names.resolve(name)
    return found.kind, found.key


@pytest.mark.parametrize("claim", ["Acme Gateway", "acme-gateway", "ACME/gateway", "lab/acme-gateway-20250101"])
def test_a_declared_name_is_a_hosts_in_every_spelling(claim: str) -> None:
    assert named(claim)[0] == "model"
    assert named(claim, declared("Acme Gateway"))[0] == "wrapper"


@pytest.mark.parametrize("claim", ["gpt-4o", "gateway", "acme", "acme-gateway-2", "azure/gpt-4o"])
def test_no_other_name_is(claim: str) -> None:
    assert named(claim, declared("Acme Gateway"), declared("gpt")) == named(claim)
    assert named(claim)[0] == "model"


def test_a_name_of_the_default_list_can_be_a_models() -> None:
    assert named("Amp") == ("wrapper", "amp")
    assert named("Amp", withdrawn("amp")) == ("model", "amp")
    assert named("Sourcegraph Amp", withdrawn("amp")) == ("wrapper", "sourcegraph amp")


def test_the_later_event_wins() -> None:
    said = (register("model-a"), alias("model-a", "Acme Gateway"))
    assert named("acme gateway", *said) == ("model", "model-a")
    assert named("acme gateway", *said, declared("acme-gateway")) == ("wrapper", "acme gateway")
    assert named("acme gateway", declared("acme-gateway"), *said) == ("model", "model-a")
    assert named("acme gateway", declared("acme-gateway"), withdrawn("acme-gateway")) == ("model", "acme-gateway")
    assert named("acme gateway", withdrawn("acme-gateway"), declared("acme-gateway")) == ("wrapper", "acme gateway")


def test_earlier_attempts_are_moved_out_of_the_models_with_their_evidence() -> None:
    runs = [
        start("r1", "openai:gateway"),
        attempt("r1", 1, "Acme Gateway", reported="example-small"),
        attempt("r1", 2, "model-a"),
    ]
    before = build_inventory(inventory_of(runs).attempts())
    assert {model.key for model in before.models} == {"acme-gateway", "model-a"}
    after = build_inventory(inventory_of([*runs, declared("acme gateway")]).attempts())
    assert [model.key for model in after.models] == ["model-a"]
    (row,) = after.wrappers
    assert (row.key, row.sightings, row.reported) == ("acme gateway", 1, {"example-small": 1})


def test_a_snapshot_keeps_what_owners_said() -> None:
    index = inventory_of([declared("Acme Gateway"), withdrawn("amp")])
    again = AttemptIndex.decode(index.encode())
    assert again.names.wrappers == index.names.wrappers
    assert again.encode() == index.encode()


@pytest.mark.skipif(not RUNS.is_dir(), reason="the shared data is not here")
def test_the_models_of_the_real_runs_stay_models() -> None:
    view = build_inventory(inventory_of(list(real())).attempts())
    assert {row.key for row in view.wrappers} <= {"auto", "cursor"}
    keys = {model.key for model in view.models}
    assert {"claude-sonnet-4", "gpt-4o", "gpt-4o-mini", "gemini-2.0-flash", "deepseek-v3"} <= keys

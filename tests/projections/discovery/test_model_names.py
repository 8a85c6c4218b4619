"""What names come to: what owners say wins, the later event wins, and the rules of names do the rest."""

import pytest

from events.envelope import Draft
from projections.discovery.model_names import ResolvedName
from tests.projections.short_runs import alias, inventory_of, register

MODEL_A = (register("model-a"),)


def named(name: str, *drafts: Draft) -> tuple[str, str]:
    found: ResolvedName = inventory_of(drafts).names.resolve(name)
    return found.kind, found.key


@pytest.mark.parametrize(
    ("name", "kind", "key"),
    [
        ("Lab/Model-A-20250101", "model", "model-a"),
        ("Auto", "wrapper", "auto"),
        ("GitHub Copilot", "wrapper", "github copilot"),
        ("unknown", "unresolved", "unknown"),
        ("", "unresolved", ""),
    ],
)
def test_without_owners_the_rules_say(name: str, kind: str, key: str) -> None:
    assert named(name) == (kind, key)


def test_a_registered_key_gathers_the_dated_and_prefixed_names() -> None:
    for key in ("model-a", "Model-A", "model-a-20250101"):
        for name in ("model-a", "MODEL-A", "lab/model-a", "model-a-20250101", "model-a-20260202"):
            assert named(name, register(key)) == ("model", key)


def test_an_alias_wins_over_the_rules() -> None:
    assert named("zee", *MODEL_A, alias("model-a", "Zee")) == ("model", "model-a")
    assert named("zee-20250101", *MODEL_A, alias("model-a", "Zee")) == ("model", "model-a")
    assert named("auto", *MODEL_A, alias("model-a", "Auto")) == ("model", "model-a")
    assert named("unknown", *MODEL_A, alias("model-a", "unknown")) == ("model", "model-a")


def test_a_dated_alias_is_that_name_alone() -> None:
    said = (*MODEL_A, alias("model-a", "zee-20250101"))
    assert named("zee-20250101", *said) == ("model", "model-a")
    assert named("zee-20260101", *said) == named("zee", *said) == ("model", "zee")


def test_the_later_event_counts() -> None:
    both = (register("model-a"), register("model-b"))
    first, second = alias("model-a", "zee"), alias("model-b", "ZEE")
    assert named("zee", *both, first, second) == ("model", "model-b")
    assert named("zee", *both, second, first) == ("model", "model-a")
    assert named("model-a", *both, alias("model-b", "model-a")) == ("model", "model-b")
    names = inventory_of((*both, first, second)).names
    assert (names.aliases("model-a"), names.aliases("model-b")) == ([], ["ZEE"])


def test_a_name_registered_later_is_its_own_again() -> None:
    assert named("zee", *MODEL_A, alias("model-a", "zee"), register("zee")) == ("model", "zee")


def test_what_is_known() -> None:
    names = inventory_of((register("model-a"), alias("model-a", "zee"))).names
    assert [name for name in ("model-a", "Lab/Model-A", "ZEE", "other", "auto", "") if names.known(name)] == [
        "model-a", "Lab/Model-A", "ZEE",
    ]  # fmt: skip


def test_a_copy_stays_as_it_was() -> None:
    inventory = inventory_of(MODEL_A)
    before = inventory.names.copy()
    inventory.names.alias(alias("model-a", "zee").data)  # type: ignore[arg-type]
    assert inventory.names.known("zee")
    assert not before.known("zee")

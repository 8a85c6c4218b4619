"""Identifiers and names to patterns: found as people and programs write them, and nowhere else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.payload import STREAM_ID_PATTERN
from instruments.evals.benchmarks import CaseError, folder_name
from instruments.evals.benchmarks.key_terms import cause_patterns, term_patterns
from instruments.evals.benchmarks.term_patterns import (
    NAME_CHARS_MAX,
    denial_patterns,
    name_pattern,
    phrase_pattern,
    split_words,
)
from instruments.evals.regex_patterns import compile_selective

CAUSE = phrase_pattern("root_cause", "missing_service_account")


def found(pattern: str, text: str) -> bool:
    return compile_selective(pattern).search(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "missing service account", "missing-service-account", "missing_service_account", "MissingServiceAccount",
        "MISSING SERVICE ACCOUNT", "The pod has a missing\nservice account.", "(missing service accounts)",
        "cause=missing_service_account;", "_missing_service_account_",
    ],
)  # fmt: skip
def test_a_cause_is_found_however_its_words_are_joined(text: str) -> None:
    assert found(CAUSE, text)


@pytest.mark.parametrize(
    "text", ["missing service", "amissing service account", "missing service accounting", "missing the service account"]
)
def test_what_only_looks_like_a_cause_is_none(text: str) -> None:
    assert not found(CAUSE, text)


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("oom_killed", ("oom", "killed")),
        ("OOMKilled", ("OOM", "Killed")),
        ("kafkaQueueProblems", ("kafka", "Queue", "Problems")),
        ("HTTP5xx", ("HTTP5xx",)),
        ("--", ()),
    ],
)
def test_words_of_an_identifier(text: str, split: tuple[str, ...]) -> None:
    assert split_words(text) == split


@pytest.mark.parametrize(
    ("text", "is_it"),
    [
        ("the cause is in cart", True),
        ("deployment/cart", True),
        ("CART's pods", True),
        ("pod cart-7b5ff9bbd7-r2s5r", True),
        ("replica set cart-7b5ff9bbd7", True),
        ("cart-0 of the stateful set", True),
        ("cart.shop.svc", True),
        ("cart-", True),
        ("redis-cart", False),
        ("cart-proxy", False),
        ("cart_service", False),
        ("cartservice", False),
        ("discarted", False),
    ],
)
def test_an_object_is_found_as_a_whole_word_and_in_the_names_of_its_pods(text: str, is_it: bool) -> None:
    assert found(name_pattern("fault_object", "cart", "app"), text) is is_it


def test_a_node_owns_no_pods() -> None:
    worker = name_pattern("fault_object", "worker", "node")
    assert found(worker, "worker is cordoned")
    assert not found(worker, "worker-1 is cordoned")


@pytest.mark.parametrize("name", ["a.b", "a+b", "[cart]", "(x", "c{2}", "^$", "a|b", "\\d", "*", "a b", "é#~&-"])
def test_a_name_is_no_expression(name: str) -> None:
    pattern = name_pattern("fault_object", name)
    assert found(pattern, f"it is {name}, surely")
    assert not found(pattern, "it is axb, 1 cart, c2, a or b")


@given(st.text(min_size=1, max_size=NAME_CHARS_MAX))
def test_any_name_finds_itself(name: str) -> None:
    try:
        pattern = name_pattern("fault_object", name)
    except CaseError:
        assert not name.strip()
    else:
        assert found(pattern, f"in {name.strip()} it is")


@given(st.text(min_size=1, max_size=60))
def test_any_cause_finds_itself_or_has_no_word(cause: str) -> None:
    try:
        pattern = phrase_pattern("root_cause", cause)
    except CaseError:
        assert not re.search(r"[^\W_]", cause)
    else:
        assert found(pattern, " ".join(split_words(cause)))
        for denied in denial_patterns([pattern]):
            compile_selective(denied)


@pytest.mark.parametrize(
    "text",
    [
        "It is not a missing service account", "no missing service account", "not due to the missing_service_account",
        "It isn't a missing service account", "it isn\u2019t a missing service account",
        "rather than missing service account", "No evidence of a missing service account",
        "ruled out: not MissingServiceAccount", "missing service account is not the cause",
        "it is not `missing_service_account`", "it cannot be a **missing service account**",
        "`missing_service_account` on `adservice` is not the cause",
        "missing service account of adservice is not the root cause", "Missing service account was ruled out",
    ],
)  # fmt: skip
def test_a_denial_is_known(text: str) -> None:
    assert any(found(denied, text) for denied in denial_patterns([CAUSE]))


@pytest.mark.parametrize(
    "text",
    [
        "The pods are not created because of a missing service account", "not a quota problem: missing service account",
        "The missing service account was not created by the operator", "No, missing service account",
        "missing service account, so that the deployment is not ready", "cannot start: missing service account",
    ],
)  # fmt: skip
def test_what_speaks_of_something_else_denies_nothing(text: str) -> None:
    assert not any(found(denied, text) for denied in denial_patterns([CAUSE]))


@given(st.text(max_size=90), st.none() | st.text(max_size=20))
def test_any_id_names_a_folder_that_is_a_scenario_id_or_nothing(name: str, prefix: str | None) -> None:
    try:
        made = folder_name(name, prefix)
    except CaseError:
        return
    assert re.fullmatch(STREAM_ID_PATTERN, made)
    assert not made.startswith(("-", "."))
    assert folder_name(made) == made


def test_folders_are_named_by_the_id_and_long_ids_stay_apart() -> None:
    assert folder_name("boutique/startup/1") == "boutique-startup-1"
    assert folder_name("1", "a/b") == "a-b-1"
    assert folder_name("x" * 64) == "x" * 64
    assert len({folder_name("x" * 64 + end) for end in "abc"}) == 3


@pytest.mark.parametrize(
    ("sentence", "said", "unsaid"),
    [
        ("kafkaQueueProblems feature flag set", "kafka queue problems is on", "a feature flag is set"),
        ("QUOTE_ADDR set to a wrong port", "QUOTE_ADDR is wrong", "a wrong port"),
        ("Memory quota imposed on the namespace", "The memory-quota is too low", "memory is low"),
        ("Pod in CrashLoopBackOff state due to invalid command", "an invalid command", "it is in CrashLoopBackOff"),
        ("Password expired on valkey-cart service", "its password expired", "valkey-cart service is down"),
        ("Saturated", "it is saturated", "it is not"),
    ],
)
def test_a_condition_is_about_what_it_names_or_pairs_of_its_words(sentence: str, said: str, unsaid: str) -> None:
    patterns = cause_patterns("fault.condition", [sentence], ["valkey-cart"])
    assert any(found(pattern, said) for pattern in patterns)
    assert not any(found(pattern, unsaid) for pattern in patterns)


def test_a_story_is_no_condition() -> None:
    with pytest.raises(CaseError, match="comes to 26 terms; at most 24 are allowed"):
        term_patterns("fault.condition", [" ".join(f"word{chr(97 + n)}" for n in range(27))], [])

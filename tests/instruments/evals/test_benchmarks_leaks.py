"""What an import puts into an agent's input tells nothing of the label: laws, look-ups, and the real cases."""

import json
import shutil
from hashlib import sha256
from itertools import starmap
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from instruments.evals.benchmarks import Format
from tests.instruments.evals.labels import CASES, ITBENCH, LABELS, RCA, Json
from tests.instruments.evals.lookups import found_by_best, found_of_others, most_frequent
from tests.instruments.evals.published import (
    CAUSES,
    FORMATS,
    OBJECTS,
    SYMPTOMS,
    TAXONOMIES,
    TOOLS,
    Published,
    Truth,
    ids,
    imported,
    inputs,
    truths,
)

every_format = pytest.mark.parametrize("kind", FORMATS)
real = pytest.mark.skipif(not RCA.is_dir(), reason="the labelled cases are not beside this checkout")
distinct_ids = st.lists(ids, min_size=3, max_size=3, unique_by=lambda one: one.replace("/", "-"))
three_truths = st.lists(truths, min_size=3, max_size=3)


def test_the_laws_are_tried_on_every_format() -> None:
    assert set(FORMATS) == set(get_args(Format))


def many() -> list[Published]:
    """60 cases with one symptom: 5 causes, each with an object, a taxonomy and a golden path of its own length."""
    return [
        Published(
            f"shop/{TAXONOMIES[number % 3].lower()}/{number}",
            Truth(CAUSES[cause], OBJECTS[cause], TAXONOMIES[cause % 3], (*TOOLS[cause:], *TOOLS[:2]), cause % 4),
        )
        for number in range(60)
        for cause in [(number * number) % 7 % 5]
    ]


@pytest.mark.slow
@every_format
@given(distinct_ids, distinct_ids, three_truths, three_truths, st.integers(0, 9), st.integers(0, 9))
@settings(max_examples=25, phases=(Phase.explicit, Phase.reuse, Phase.generate))
def test_other_ids_labels_and_orders_give_the_same_inputs(
    kind: Format, names: list[str], others: list[str], known: list[Truth], changed: list[Truth], order: int, again: int
) -> None:
    before = imported(kind, list(starmap(Published, zip(names, known, SYMPTOMS, strict=True))), order)
    after = imported(kind, list(starmap(Published, zip(others, changed, SYMPTOMS, strict=True))), again)
    assert list(before.values()) == list(after.values())
    assert len(set(before.values())) == len(SYMPTOMS)


@every_format
def test_a_look_up_finds_no_more_than_the_most_frequent_cause(kind: Format) -> None:
    cases = many()
    given_to_agent = imported(kind, cases)
    known = [given_to_agent[one.id] for one in cases]
    for labels in (
        [one.truth.cause for one in cases],
        [one.truth.object for one in cases],
        [one.truth.taxonomy for one in cases],
        [repr(one.truth) for one in cases],
    ):
        assert found_by_best(known, labels)[0] == most_frequent(labels)


@pytest.mark.parametrize(
    ("leak", "found"),
    [
        (lambda number, one: {"fingerprint": sha256(one.id.encode()).hexdigest()[:16]}, 60),
        (lambda number, one: {"starts_at": f"2026-11-26T10:{number:02}:00Z"}, 60),
        (lambda number, one: {"labels": {"n": len(one.truth.tools)}}, 25),
        (lambda number, one: dict.fromkeys([one.truth.taxonomy, "Fault"]), 25),
        (lambda number, one: {"pods": [""] * CAUSES.index(one.truth.cause)}, 60),
    ],
    ids=["a digest of the id", "a time that grows", "a count", "a word", "a number of items"],
)
def test_the_look_ups_find_a_label_that_leaks(leak: "object", found: int) -> None:
    cases = many()
    assert callable(leak)
    given_to_agent = imported("opsbench", cases)
    known = [
        json.dumps(json.loads(given_to_agent[one.id]) | {"leak": leak(number, one)}).encode()
        for number, one in enumerate(cases)
    ]
    labels = [one.truth.cause for one in cases]
    assert found_by_best(known, labels)[0] >= found > most_frequent(labels)


def known_labels() -> list[Json]:
    return [json.loads(line) for line in LABELS.read_bytes().splitlines()]


def without_symptom(body: bytes, label: Json) -> bytes:
    """An input without the texts that the benchmark publishes as the symptom."""
    text = body.decode()
    for published in (label["query"], label["query"].rstrip(". "), label["namespace"]):
        text = text.replace(json.dumps(published), '"..."')
    return text.encode()


@pytest.mark.slow
@real
def test_what_is_added_to_the_328_real_cases_finds_no_more_than_the_most_frequent_cause() -> None:
    labels, given_to_agent = known_labels(), inputs("opsbench", LABELS)
    added = [without_symptom(given_to_agent[label["id"]], label) for label in labels]
    for keys, expected in (
        (("root_cause",), 29),
        (("fault_object",), 24),
        (("fault_taxonomy",), 82),
        (("root_cause", "fault_object"), 6),
    ):
        known = [" ".join(label[key] for key in keys) for label in labels]
        assert found_by_best(added, known)[0] == most_frequent(known) == expected


@pytest.mark.slow
@real
def test_what_the_published_symptom_of_the_328_real_cases_tells_is_as_documented() -> None:
    """Docs: how-to/import-benchmark-cases.md. The input tells the same as the symptom without the import."""
    labels = known_labels()
    given_to_agent = inputs("opsbench", LABELS)
    whole = [given_to_agent[label["id"]] for label in labels]
    published = [json.dumps([label["query"].rstrip(". "), label["namespace"]]).encode() for label in labels]
    assert len(set(whole)) == len(set(published)) == 8
    for known, best, of_others in (
        ([label["root_cause"] for label in labels], 67, 39),
        ([f"{label['root_cause']} {label['fault_object']}" for label in labels], 20, 3),
    ):
        assert found_by_best(whole, known) == (best, "whole")
        assert found_by_best(published, known)[0] == best
        assert found_of_others(whole, known) == of_others == found_of_others(published, known)


@real
@pytest.mark.parametrize("source", [*(CASES.iterdir() if RCA.is_dir() else ()), ITBENCH], ids=lambda path: path.name)
def test_a_real_folder_with_another_name_and_label_gives_the_same_input(source: Path, tmp_path: Path) -> None:
    kind: Format = "itbench" if source == ITBENCH else "case"
    copy = shutil.copytree(source, tmp_path / "other-7")
    if kind == "case":
        metadata = json.loads((copy / "metadata.json").read_bytes())
        metadata["result"] = {"fault_taxonomy": "Other", "fault_object": "app/other", "root_cause": "other_cause"}
        metadata["process"] = {"path1": ["Other::x"]}
        (copy / "metadata.json").write_text(json.dumps(metadata))
    else:
        truth = (copy / "groundtruth_v1.yaml").read_text()
        changed = truth.replace("kafkaQueueProblems", "otherProblem").replace("flagd", "other")
        assert changed != truth
        (copy / "groundtruth_v1.yaml").write_text(changed)
    (before,), (after,) = inputs(kind, source).values(), inputs(kind, copy).values()
    assert before == after

"""The scorers of text that check relation and direction: adversarial texts, honest ones, and laws of every answer."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instruments.probes import SCORERS, ProbeScore, find_probe
from instruments.probes.text.tokens import WORDS_MAX
from tests.instruments.probes.graded import GRADED, NEVER, NO_ANSWERS
from tests.support.scored_text import score_text

FOLDER = Path(__file__).parent / "texts"
PROBE_IDS = ("debugging", "summarising", "weighting")
SYNONYM_DIFFERENCE_MAX = 0.1
probe_ids = pytest.mark.parametrize("probe_id", PROBE_IDS)


def texts(probe_id: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{probe_id}.toml").read_text())


def score(probe_id: str, answer: str, version: str = "2") -> ProbeScore:
    return score_text(SCORERS[f"{probe_id}@{version}"], answer)


def total(probe_id: str, answer: str, version: str = "2") -> float:
    """The total; 0 of an answer that is not valid, as it counts."""
    return score(probe_id, answer, version).total or 0.0


def framed(probe_id: str, **parts: str) -> str:
    """The frame of the file with some of its parts in other words."""
    found = texts(probe_id)
    original = {name: text for name, text in found.items() if isinstance(text, str) and name != "frame"}
    frame: str = found["frame"]
    return frame.format(**(original | parts))


def reworded(probe_id: str) -> list[str]:
    return [framed(probe_id, **parts) for parts in texts(probe_id)["synonym"]]


@probe_ids
def test_adversarial_texts_are_below_every_honest_answer(probe_id: str) -> None:
    found = texts(probe_id)
    assert len(found["adversarial"]) >= 10
    assert len(found["honest"]) >= 6
    worst_honest = min(total(probe_id, honest["answer"]) for honest in found["honest"])
    best = {text["name"]: total(probe_id, text["answer"]) for text in found["adversarial"]}
    assert worst_honest >= 0.9
    assert max(best.values()) <= worst_honest - 0.05, best


@probe_ids
def test_the_first_version_was_fooled(probe_id: str) -> None:
    """Why there is a second version, and that the first one still scores as it did."""
    adversarial = [total(probe_id, text["answer"], "1") for text in texts(probe_id)["adversarial"]]
    honest = [total(probe_id, text["answer"], "1") for text in texts(probe_id)["honest"]]
    assert sum(value >= min(honest) for value in adversarial) >= 5


@probe_ids
def test_synonyms_are_worth_what_the_original_is(probe_id: str) -> None:
    original = total(probe_id, framed(probe_id))
    found = {answer: total(probe_id, answer) for answer in reworded(probe_id)}
    assert len(found) >= 8
    assert original >= 0.9
    assert {a: t for a, t in found.items() if abs(t - original) > SYNONYM_DIFFERENCE_MAX} == {}


@probe_ids
def test_graded_answers_keep_the_order_of_a_person(probe_id: str) -> None:
    """To a tenth, and but for notes without verbs, of which the second version of the scorer thinks less."""
    found = [(total(probe_id, graded.answer), graded.name) for graded in GRADED[probe_id]]
    totals = [round(value, 1) for value, name in found if name != "notes that say the same"]
    assert totals == sorted(totals, reverse=True)
    assert totals[0] == 1.0


@probe_ids
def test_what_is_no_answer_has_no_figures(probe_id: str) -> None:
    for answer in [*NO_ANSWERS[probe_id], *NEVER]:
        assert score(probe_id, answer) == ProbeScore(valid=False), answer


CAUSES = [parts["cause"] for parts in texts("debugging")["synonym"] if "cause" in parts]


@given(st.sampled_from([cause for cause in CAUSES if re.search(r"\b50\b", cause) and re.search(r"\b5\b", cause)]))
def test_numbers_that_change_places_are_no_cause(cause: str) -> None:
    swapped = re.sub(r"\b(50?)\b", lambda number: "5" if number[1] == "50" else "50", cause)
    found = score("debugging", framed("debugging", cause=swapped))
    assert found.dimensions is not None
    assert found.dimensions["cause"] <= 0.5, swapped


@given(
    st.sampled_from(CAUSES),
    st.sampled_from(("It is untrue that ", "It would be wrong to say that ", "There is no truth in it that ")),
)
def test_a_cause_that_is_denied_is_no_cause(cause: str, denial: str) -> None:
    found = score("debugging", framed("debugging", cause=denial + cause))
    assert found.dimensions is not None
    assert found.dimensions["cause"] <= 0.5, denial + cause


@given(st.sampled_from([text["answer"] for text in texts("summarising")["honest"]]), st.data())
def test_wrapped_lines_and_ornament_change_no_score(answer: str, data: st.DataObject) -> None:
    words = " ".join(answer.split()).split(" ")
    spaces = data.draw(st.lists(st.sampled_from((" ", "\n", "  ", "\t")), min_size=len(words), max_size=len(words)))
    ornament = data.draw(st.lists(st.sampled_from(("", "", "_", "**", "`")), min_size=len(words), max_size=len(words)))
    wrapped = "".join(f"{mark}{word}{mark}{space}" for word, mark, space in zip(words, ornament, spaces, strict=True))
    bare = wrapped.replace("_", "").replace("*", "").replace("`", "")
    if not any(line[:1] in "-#>" or line[:1].isdigit() or line[:1].isupper() for line in bare.splitlines()[1:]):
        assert total("summarising", wrapped) == total("summarising", " ".join(words))


@probe_ids
def test_handing_the_prompt_back_with_an_answer_never_pays(probe_id: str) -> None:
    probe = find_probe(probe_id)
    assert probe is not None
    for honest in texts(probe_id)["honest"]:
        for echo in (probe.prompt, probe.stimulus):
            assert total(probe_id, f"{echo}\n\n{honest['answer']}") <= total(probe_id, honest["answer"])


WORDS = sorted(
    {word for probe_id in PROBE_IDS for text in texts(probe_id)["adversarial"] for word in text["answer"].split()}
    | {"not", "that", "is", "false", "?", "(", "{", "## ", "\n", "\n- ", "->"}
)
DIMENSIONS = {
    "debugging": ("cause", "evidence", "rejection", "fix"),
    "summarising": ("kept", "faithful", "within", "prose"),
    "weighting": ("claim", "confidence", "evidence", "discounted", "consistent"),
}


@given(st.one_of(st.text(), st.lists(st.sampled_from(WORDS)).map(" ".join)))
@example("Confidence: ² percent")
@example("?")
@example("S4")
def test_any_text_is_scored_and_always_the_same(text: str) -> None:
    for probe_id, names in DIMENSIONS.items():
        found = score(probe_id, text)
        assert found == score(probe_id, text)
        if not found.valid:
            assert found == ProbeScore(valid=False)
            continue
        assert found.total is not None
        assert found.dimensions is not None
        assert tuple(found.dimensions) == names
        assert all(0.0 <= value <= 1.0 for value in (found.total, *found.dimensions.values()))


@pytest.mark.slow
@probe_ids
@pytest.mark.parametrize("piece", ["a ", ".", "9", "(", "not the pool, ", "cause: ", "S4 ", "\n- ", "pool 5 to 50 "])
def test_long_texts_are_read(probe_id: str, piece: str) -> None:
    assert not score(probe_id, piece * (1_000_000 // len(piece))).valid
    most = (piece * WORDS_MAX)[: 4 * WORDS_MAX]
    assert score(probe_id, most) == score(probe_id, most)

"""The probes of text: graded answers with exact figures, and laws that hold of every answer."""

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instruments.probes import SCORERS, ProbeScore, find_probe
from instruments.probes.text.tokens import WORDS_MAX
from projections.stats.discrimination import measure_discrimination
from tests.instruments.probes.graded import GRADED, NEVER, NO_ANSWERS, Graded
from tests.support.scored_text import score_text

DIMENSIONS = {
    "debugging": ("cause", "evidence", "rejection", "fix"),
    "summarising": ("kept", "faithful", "within"),
    "weighting": ("claim", "confidence", "evidence", "discounted"),
}
EVERY = [(probe_id, graded) for probe_id, answers in GRADED.items() for graded in answers]
probe_ids = pytest.mark.parametrize("probe_id", list(GRADED))
answers = st.sampled_from([(probe_id, graded.answer) for probe_id, graded in EVERY])

SPACES = (" ", "\n", "\t", "\r\n", "\n\n", "   ", "\u00a0")
BEFORE = ("", "", "", "- ", "* ", "> ", "# ", "### ", "| ", "~~~ ")
AROUND = ("", "", "", "**", "_", "`", "__", "***")
FILLER = "It should be noted that this is as important as it is interesting, and that people differ about such matters."


def score(probe_id: str, answer: str) -> ProbeScore:
    return score_text(SCORERS[f"{probe_id}@1"], answer)


def total(probe_id: str, answer: str) -> float:
    found = score(probe_id, answer).total
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("probe_id", "graded"), EVERY, ids=[f"{probe_id}: {graded.name}" for probe_id, graded in EVERY]
)
def test_known_answers(probe_id: str, graded: Graded) -> None:
    found = score(probe_id, graded.answer)
    dimensions = dict(zip(DIMENSIONS[probe_id], graded.dimensions, strict=True))
    assert (found.valid, found.counts) == (True, None)
    assert found.dimensions == pytest.approx(dimensions, abs=1e-6)
    assert found.total == pytest.approx(graded.total, abs=1e-6)


@probe_ids
def test_answers_are_in_the_order_of_a_person_and_reported_apart(probe_id: str) -> None:
    totals = [total(probe_id, graded.answer) for graded in GRADED[probe_id]]
    assert totals == sorted(totals, reverse=True)
    assert len(totals) >= 8
    again = [total(probe_id, "\n\n".join(graded.answer.split())) for graded in GRADED[probe_id]]
    found = measure_discrimination(zip(totals, again, strict=True))
    assert found.discrimination is not None
    assert found.discrimination > 0.8
    assert (found.within, found.tells_apart) == (0.0, True)


@probe_ids
def test_what_is_no_answer_has_no_figures(probe_id: str) -> None:
    for answer in [*NO_ANSWERS[probe_id], *NEVER]:
        assert score(probe_id, answer) == ProbeScore(valid=False), answer


@given(answers, st.randoms(use_true_random=False))
def test_white_space_and_ornament_never_change_a_score(one: tuple[str, str], random: Random) -> None:
    probe_id, answer = one
    reported = ""
    for word in answer.split():
        around = random.choice(AROUND)
        reported += random.choice(SPACES) + random.choice(BEFORE) + around + word + around
    assert score(probe_id, reported + random.choice(SPACES)) == score(probe_id, answer)


@probe_ids
def test_the_answer_to_another_probe_is_worth_next_to_nothing(probe_id: str) -> None:
    for other, graded in EVERY:
        if other != probe_id:
            assert (score(probe_id, graded.answer).total or 0.0) < 0.15, graded.name


@given(answers, st.integers(1, 40))
def test_padding_never_pays(one: tuple[str, str], times: int) -> None:
    probe_id, answer = one
    padded = score(probe_id, f"{answer}\n\n{FILLER * times}")
    assert (padded.total or 0.0) <= total(probe_id, answer)


@given(
    st.sets(
        st.sampled_from(("the cache", "the campaign", "release 88", "the payment provider", "the backup")), min_size=1
    )
)
def test_naming_more_causes_never_pays(others: set[str]) -> None:
    reported = GRADED["debugging"][0].answer
    stuffed = reported.replace("CAUSE: ", f"CAUSE: {', '.join(sorted(others))} and ")
    assert total("debugging", stuffed) <= total("debugging", reported) - 0.2
    denied = reported.replace("\nEVIDENCE", f" It was not {' or '.join(sorted(others))}.\nEVIDENCE")
    assert total("debugging", denied) == total("debugging", reported)


@given(st.sets(st.integers(1, 21), min_size=1))
def test_citing_more_lines_never_pays(lines: set[int]) -> None:
    reported = GRADED["debugging"][0].answer
    stuffed = reported.replace("EVIDENCE: ", "EVIDENCE: " + "".join(f"L{line:02}, " for line in sorted(lines)))
    assert total("debugging", stuffed) <= total("debugging", reported)


@probe_ids
def test_handing_the_prompt_back_with_an_answer_never_pays(probe_id: str) -> None:
    probe = find_probe(probe_id)
    assert probe is not None
    for graded in GRADED[probe_id]:
        for echo in (probe.prompt, probe.stimulus):
            assert (score(probe_id, f"{echo}\n\n{graded.answer}").total or 0.0) <= total(probe_id, graded.answer)


WORDS = sorted(
    {word for _, graded in EVERY for word in graded.answer.split()} | {"not", "and", "lines", "%", "n't", "can't"}
)
pieces = st.lists(
    st.one_of(st.sampled_from(WORDS), st.text(max_size=8), st.sampled_from([":", ".", ";", "-", "L1-L9"]))
)


@given(st.one_of(st.text(), pieces.map(" ".join), pieces.map("".join)))
@example("Confidence: ² percent")
def test_any_text_is_scored_and_always_the_same(text: str) -> None:
    for probe_id, names in DIMENSIONS.items():
        found = score(probe_id, text)
        assert found == score(probe_id, text)
        if not found.valid:
            assert found == ProbeScore(valid=False)
            continue
        assert found.total is not None
        assert found.dimensions is not None
        assert found.apart is not None
        assert tuple(found.dimensions) == names
        assert all(0.0 <= value <= 1.0 for value in (found.total, *found.dimensions.values()))
        assert all(value >= 0 for value in found.apart.values())


@probe_ids
@pytest.mark.parametrize(
    "piece", ["a ", ".", "9", "L1-", "'", "_", "1,", "cause: ", "not the cache, ", "é\u0301", "\ud800"]
)
def test_a_million_characters_are_read_in_bounded_time(probe_id: str, piece: str) -> None:
    assert not score(probe_id, piece * (1_000_000 // len(piece))).valid
    most = (piece * WORDS_MAX)[: 8 * WORDS_MAX]
    assert score(probe_id, most) == score(probe_id, most)

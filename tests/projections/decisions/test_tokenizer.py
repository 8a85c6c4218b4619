"""What a text is searched by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.decisions.tokenizer import fold_text, split_words

WORDS = [
    ("Ship the QUEUE, now!", {"ship", "the", "queue", "now"}),
    ("snake_case kebab-case v1.2", {"snake", "case", "kebab", "v1", "2"}),
    ("Café CAFE\u0301 café", {"cafe"}),
    ("Straße STRASSE", {"strasse"}),
    ("ΣΊΣΥΦΟΣ σίσυφος", {"σισυφοσ"}),
    ("\uff26ull ﬁt x² ½", {"full", "fit", "x2", "1", "2"}),
    ("İstanbul", {"istanbul"}),
    ("が か", {"か\u3099", "か"}),
    ("हिन्दी", {"हिन्दी"}),
    ("שָׁלוֹם שלום", {"שלום"}),
    ("go🚀now ❤️ 👩‍💻", {"go", "🚀", "now", "❤", "👩", "💻"}),
    ("co\u00adoperate zero\u200bwidth", {"cooperate", "zero", "width"}),
    ('NEAR("a" b) OR * ^ text:c \0 ; --', {"near", "a", "b", "or", "text", "c"}),
    ("", set()),
    ("\"'*()^:-+ \0\n…—", set()),
    ("lone \udcff surrogate", {"lone", "surrogate"}),
]


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_words(text: str, words: set[str]) -> None:
    assert split_words(text) == words


@given(st.text(), st.text())
def test_folding_is_done_once_and_does_not_depend_on_case_or_neighbours(text: str, other: str) -> None:
    words = split_words(text)
    assert split_words(" ".join(words)) == words
    assert split_words(text.casefold()) == words
    assert split_words(f"{text} {other}") == words | split_words(other)
    assert set(fold_text(f"é {text}").split()) == words | {"e"}


@given(st.text(st.characters(codec="ascii")))
def test_ascii_is_folded_like_the_rest(text: str) -> None:
    assert split_words(f"{text} é") == split_words(text) | {"e"}

"""What a text must contain for a regex to match: a text that the prefilter skips has no match."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruments.evals.regex_patterns import BadPattern, compile_pattern
from instruments.evals.scoring.regex_prefilter import Words, can_match, required_words


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("ImagePullBackOff", (("imagepullbackoff",),)),
        (r"image.*(?:not found|denied)", (("image",), ("not found", "denied"))),
        (r"\b403\b|forbidden", (("403", "forbidden"),)),
        (r"kills?ed{2}", (("kill",),)),
        (r"oom+x (?:kill)+?ed", (("oom",), ("x ",), ("kill",), ("ed",))),
        (r"(?i)a\.b(?P<x>cd)?", (("a.b",),)),
        (r"[Oo]ut of|memory", (("ut of", "memory"),)),
        (r"(a|bc)d(?:ef|)", ()),
        (r"(?=image)pull", ()),
        (r"(?:image){e<=1}", ()),
        (r"\x41bc|abc", ()),
        (r"[[abc]def", ()),
        (r"caf\u00e9 latte", ()),
        ("caf\u00e9 latte", (("caf",), (" latte",))),
    ],
)
def test_words_that_must_be_there(pattern: str, wanted: tuple[Words, ...]) -> None:
    assert required_words(pattern) == wanted


parts = st.sampled_from(
    ["im", "age", "PULL", "k", "ss", "ß", "(?:", "(", ")", "|", "?", "*", "+", "{2}", "{,1}", ".", r"\b", r"\.", r"\s",
     "[ab]", "[^m]", "(?i)", "^", "$", "(?!", "(?=", "{e<=1}", "\\", "i", "İ"]
)  # fmt: skip
patterns = st.lists(parts, max_size=7).map("".join)
letters = ["im", "age", "pull", "IM", "K", "\u212a", "\u017f", "ß", "ss", "SS", "İ", "\u0131", "a", "b", ".", " "]
texts = st.lists(st.sampled_from(letters), max_size=7).map("".join)


@pytest.mark.slow
@given(patterns, texts)
@settings(max_examples=2_000)
def test_no_match_is_passed_over(pattern: str, text: str) -> None:
    try:
        found = compile_pattern(pattern).search(text, timeout=0.1)
    except (BadPattern, TimeoutError):
        return
    assert found is None or can_match(pattern, text, text.casefold())

"""Negation, hedges, alternatives and lists of keywords, each on phrases as analyses have them.

In each phrase, the match is between angle brackets.
"""

import re
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from instruments.evals.scoring.keyword_list import keyword_list_size
from instruments.evals.scoring.mention_context import CONTEXT_CHARS_MAX, MentionContext, mention_context
from instruments.evals.scoring.mention_credit import ReadingRules, alternatives_in, credit_of_match, hedge_of
from instruments.evals.scoring.negation import negation_of
from instruments.evals.scoring.stated_spans import negation_words, stated_spans
from tests.support.paths import SHARED


def context(phrase: str) -> MentionContext:
    """Return the context of the part between angle brackets."""
    start, end = phrase.index("<"), phrase.index(">") - 1
    return mention_context(phrase.replace("<", "").replace(">", ""), start, end)


DENIED = {
    "This is not an <ImagePullBackOff>.": "not an",
    "This isn\N{RIGHT SINGLE QUOTATION MARK}t an <OOM kill>": "n't an",
    "It was not the <liveness probe> that killed it": "not the",
    "The pods are not <throttled>": "not",
    "The certificate has not <expired>": "not",
    "The pool was never <exhausted>": "never",
    "The container does not <leak> memory": "not",
    "We ruled out a <memory leak>": "ruled out",
    "I ruled the <quota> out": "out",
    "The <image tag> was ruled out": "was ruled out",
    "<Running out of memory> can be ruled out, as usage is flat": "can be ruled out",
    "An <expired certificate> was excluded with openssl": "was excluded",
    "There is no evidence of <throttling>": "no evidence of",
    "No sign of <disk pressure> on any node": "no sign of",
    "No indication that the <pool> ran out": "no indication that",
    "Nothing points to <DNS>": "nothing points to",
    "The outage is unrelated to the <certificate>": "unrelated to",
    "The <certificate> is unrelated": "is unrelated",
    "This has nothing to do with the <quota>": "nothing to do with",
    "The <probe> has nothing to do with the restarts": "has nothing to do with",
    "<DNS> is healthy, so it is not the cause": "is healthy",
    "The <network policy> is not the cause": "is not the cause",
    "The <selector> isn't the problem": "isn't the problem",
    "The <registry> is not to blame": "is not to blame",
    "A bad release rather than a <leak>": "rather than",
    "A bad release instead of <memory pressure>": "instead of",
    "Neither <DNS> nor the policy is at fault": "neither",
    "Neither DNS nor the <policy> is at fault": "neither",
    "No <memory leak> was found": "no",
    "There is no <certificate> problem": "no",
    "No <key> is missing from the secret": "no",
    "No key is missing from the <secret>": "no",
    "The node was without <disk pressure> all day": "without",
    "<Disk pressure> is unlikely": "is unlikely",
    "It is unlikely to be <disk pressure>": "unlikely to be",
    "A bad node, not the <image tag>": "not the",
    "The condition <DiskPressure> is False": "is false",
    "<Memory> stayed well below the limit": "stayed well below",
    "The <quota> is not exceeded": "is not exceeded",
    "<Memory> does not explain the restarts": "does not explain",
    "The secret <lacks> nothing": "nothing",
    "Do not <raise the memory limit>": "not",
    "There is no need to <raise the limit>": "there is no need to",
    "Keep the <memory limit> unchanged": "unchanged",
    "<Renewing the certificate> is not necessary": "is not necessary",
    "The <limit> need not be changed": "need not be",
    "<More memory> would not help": "would not help",
}

CLAIMED = (
    "The tag was <not found> in the registry",
    "The manifest for that tag <does not exist>",
    "The tag was not found in the <registry>",
    "The job is not allowed to write to the <bucket>",
    "The service account may not read the <secret>",
    "Pods cannot resolve names because <DNS> is blocked",
    "The pod is not ready, since the <liveness probe> fails",
    "The <probe> does not reach the port that the server opens",
    "The selector does not match the <labels> of any pod",
    "There are no <endpoints> behind the service",
    "No hostname can be resolved by <CoreDNS>",
    "There is no space left, the <disk> is full",
    "The <certificate> is no longer valid",
    "No doubt it is the <image tag>",
    "Not only the <memory limit> but also the probe is wrong",
    "It is not the network but the <image tag>",
    "The network is fine, but the <image tag> is wrong",
    "The node is healthy. The <disk> of the other one is full",
    "The registry is healthy while the <pull secret> has expired",
    "An <OOM kill> cannot be ruled out",
    "The <key> is missing and the rest of the secret is fine",
    "The kubelet kills a healthy container through a wrong <liveness probe>",
    "The <token> has not been renewed for a year",
    "The renewal never ran, so the <certificate> expired",
    "Without the <permission> the upload is refused",
    "The role lacks the <permission> to write",
    "The image was <never published>",
    "Write in <chunks> instead of loading all rows at once",
    "<Roll back> rather than wait for a fix",
    "Nothing but the <quota> stops new pods",
)


@pytest.mark.parametrize(("phrase", "trigger"), DENIED.items(), ids=list(DENIED))
def test_a_denied_match_is_negated_by_its_trigger(phrase: str, trigger: str) -> None:
    assert negation_of(context(phrase)) == trigger


@pytest.mark.parametrize("phrase", CLAIMED)
def test_a_failure_that_a_negation_describes_is_not_denied(phrase: str) -> None:
    assert negation_of(context(phrase)) is None


HEDGED = (
    "It is possibly an <OOM kill>",
    "Perhaps the <probe> is too strict",
    "The <image tag> might be wrong",
    "It could be the <registry>",
    "The evictions may be due to <disk pressure>",
    "I suspect an expired <certificate>",
    "A missing <key> is one possibility",
    "An <OOM kill> cannot be ruled out",
    "Wrong <probe port>?",
    "The container was killed (<memory limit> too low?)",
    "The symptoms are compatible with a <network policy>",
    "It is hard to say whether the <quota> is the cause",
)
FIRM = (
    "The <key> could not be renewed",
    "Double the <cpu> that each container may use",
    "Most likely the <image tag> is wrong",
    "The <memory limit> is too low, so pods may be killed at any time",
    "The <certificate> expired, which might have been noticed earlier",
    "The <token> expired in May 2026",
    "The container was <OOM-killed> (memory limit too low?)",
)


@pytest.mark.parametrize("phrase", HEDGED)
def test_a_hedge_is_recognized_in_the_clause_of_the_match(phrase: str) -> None:
    assert hedge_of(context(phrase)) is not None


@pytest.mark.parametrize("phrase", FIRM)
def test_a_permission_a_failure_and_another_clause_hedge_nothing(phrase: str) -> None:
    assert hedge_of(context(phrase)) is None


ALTERNATIVES = {
    "It is <OOM> or the probe": 2,
    "Either the <tag> does not exist, or the secret expired, or the registry is slow": 3,
    "It could be <DNS>, the registry or the disk": 3,
    "<DNS>, the registry, a full disk, or a bad node": 4,
    "The <image tag> does not exist": 1,
    "The registry answers 401 or 403, as the <secret> expired": 1,
    "The disk is full because <debug> logs fill it": 1,
    "The pull failed due to a wrong <tag> (see events or logs)": 1,
    "It restarts, whether or not the <probe> is on": 1,
}


@pytest.mark.parametrize(("phrase", "count"), ALTERNATIVES.items(), ids=list(ALTERNATIVES))
def test_alternatives_are_counted_in_the_clause_of_the_match(phrase: str, count: int) -> None:
    assert alternatives_in(context(phrase)) == count


LISTS = (
    "OOMKilled, memory limit, exit code 137, DNS, image pull",
    "image tag not found missing manifest unknown no such version never pushed ErrImagePull OOMKilled DNS",
    "cert / tls / dns / upstream",
    "#cpu #throttling #quota #limit",
    "selector; label; endpoint; port",
)
SENTENCES = (
    "",
    "ImagePullBackOff",
    "ImagePullBackOff: the registry answers 403 for shop/web:1.4",
    "Out of memory during month-end report",
    "Missing secret key api-token in payments-gateway after rotation",
    "Liveness probe on port 80 instead of 8080, container restarts",
    "kubectl get pods, kubectl logs",
    "The disk of worker-2 is full, pods are evicted, and new ones wait, since the agent writes debug logs",
    "Raise the memory limit to 1Gi, write in chunks, and add an alert",
    "Checkout service experiencing violations due to duplicate messages from slow payment processing consumer",
    'Failed to pull image "ghost.example/shop/web:v0.10.3": rpc error: code = NotFound desc = failed to resolve',
)


@pytest.mark.parametrize("text", LISTS)
def test_a_list_of_keywords_is_no_sentence(text: str) -> None:
    assert keyword_list_size(text) >= 4


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_and_a_headline_are_no_list(text: str) -> None:
    assert keyword_list_size(text) == 0


def real_texts() -> list[str]:
    """Return statements of causes and effects by people, and messages of programs, from published incidents."""
    texts: list[str] = []
    for path in SHARED.glob("rca/cases/*/path*.json"):
        for step in msgspec.json.decode(path.read_bytes())["diagnostic_trace"]:
            texts += [line for line in str(step["output"]).splitlines() if "Failed" in line or "rror" in line]
    pending: list[Any] = [
        yaml.safe_load(path.read_text()) for path in SHARED.glob("rca/itbench_scenario_11/groundtruth*.yaml")
    ]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            texts += [str(value[key]) for key in ("condition", "effect", "description") if key in value]
        pending += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return list(dict.fromkeys(texts))


@pytest.mark.skipif(not (SHARED / "rca").exists(), reason="the published incidents are not beside this checkout")
def test_real_statements_and_messages_claim_each_of_their_words_until_they_are_denied() -> None:
    texts = real_texts()
    assert len(texts) >= 10
    for text in texts:
        assert keyword_list_size(text) == 0, text
        for word in re.finditer(r"[A-Za-z]{4,}", text):
            assert negation_of(mention_context(text, *word.span())) is None, (text, word[0])
        first = re.search(r"[A-Za-z]{4,}", text)
        assert first is not None
        for prefix in ("We ruled out ", "There is no evidence of ", "It is not the case that "):
            denied = prefix + text
            at = len(denied) - len(text)
            assert negation_of(mention_context(denied, at + first.start(), at + first.end())) is not None, denied


def test_a_context_is_its_sentence_with_whole_words() -> None:
    text = "It waits. The pod web:1.4 is throttled, e.g. by CPU! Then it ends"
    start = text.index("throttl")
    assert mention_context(text, start, start + 7) == (" the pod web:1.4 is ", "throttled", ", e.g. by cpu")
    assert context("a\nb <c> d; e") == ("b ", "c", " d")
    huge = "x " * 1_000_000
    found = mention_context(huge, 1_000_000, 1_000_001)
    assert len(found.before) <= CONTEXT_CHARS_MAX
    assert len(found.after) <= CONTEXT_CHARS_MAX


def test_a_credit_says_why_it_is_not_1() -> None:
    rules = ReadingRules(hedges=True, alternatives_min=2, keywords=True)

    def read(phrase: str, used: ReadingRules = rules) -> tuple[float, str | None]:
        text = phrase.replace("<", "").replace(">", "")
        return tuple(credit_of_match(text, phrase.index("<"), phrase.index(">") - 1, used))  # type: ignore[return-value]

    assert read("The <tag> is wrong") == (1.0, None)
    assert read("<not missing>") == (1.0, None)
    assert read("It is not the <tag>") == (0.0, "negated by 'not the'")
    assert read("It might be the <tag>") == (0.5, "hedged by 'might'")
    assert read("It is the <tag>, the disk, DNS or the probe") == (0.25, "one of 4 alternatives")
    assert read("<tag>, disk, DNS, probe, quota") == (0.2, "one of 5 keywords, not a sentence")
    for phrase in ("It might be the <tag>", "It is the <tag>, the disk or DNS", "<tag>, disk, DNS, probe"):
        assert read(phrase, ReadingRules()) == (1.0, None)


@pytest.mark.parametrize(
    ("pattern", "text", "spans"),
    [
        (r"image\b.*\bmissing", "the image is not missing", ["image", "missing"]),
        (r"image\b.*\b(?:not found|missing)", "the image was not found", ["image", "not found"]),
        (r"disk[ -]?pressure", "disk pressure", ["disk pressure"]),
        (r"(?:does not|doesn.t) exist", "it does not exist", ["does not exist"]),
        (r"\bfill\w* the disk", "logs filled the disk", ["filled the disk"]),
        (r"(?<!no )\bmemory leak", "a memory leak", ["memory leak"]),
        (r"\d+", "exit 137", []),
    ],
)
def test_the_spans_of_a_match_are_those_that_the_regex_spells(pattern: str, text: str, spans: list[str]) -> None:
    assert [text[start:end] for start, end in stated_spans(pattern, text, 0, len(text))] == spans


def test_a_negation_that_a_match_does_not_need_is_none_of_the_pattern() -> None:
    text = "the tag is not missing"
    assert negation_words(text, 0, len(text)) == [(11, 14)]
    pattern = r"tag\b.*\b(?:(?:not|never) pushed|missing)"
    assert stated_spans(pattern, text, 0, len(text), [(11, 14)])[-1] == (15, 22)


phrases = st.lists(
    st.sampled_from(
        ["not", "no", "tag", "the", "is", "ruled out", "or", ",", ".", "?", "either", "might", "\n", "İ", "n't"]
    ),
    max_size=30,
).map(" ".join)


@given(phrases | st.text(max_size=60), st.text(min_size=1, max_size=5), phrases | st.text(max_size=60))
def test_any_text_has_a_credit_from_0_to_1_and_a_note_unless_it_is_1(before: str, match: str, after: str) -> None:
    rules = ReadingRules(hedges=True, alternatives_min=2, keywords=True)
    credit = credit_of_match(before + match + after, len(before), len(before) + len(match), rules)
    assert 0.0 <= credit.value <= 1.0
    assert (credit.note is None) is (credit.value == 1.0)

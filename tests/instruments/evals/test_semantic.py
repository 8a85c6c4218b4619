"""What texts mean, against an endpoint on a real socket that is right, failing, slow, or speaks nonsense."""

import threading
from pathlib import Path
from typing import Any

import pytest

from events.evaluation import EmbeddingsFacts
from instruments.evals.analysis import parse_analysis
from instruments.evals.scoring import embeddings_client
from instruments.evals.scoring.embedding_cache import EmbeddingCache
from instruments.evals.scoring.embeddings_client import EmbeddingsClient
from instruments.evals.scoring.scorer import ScenarioScore, score
from instruments.evals.scoring.scorer_version import scorer_version
from instruments.evals.scoring.semantic_matcher import (
    BATCH_TEXTS,
    FAILURES_MAX,
    PIECE_CHARS_MAX,
    SIMILARITY_MIN,
    SemanticMatcher,
    matcher_from_environment,
    split_pieces,
)
from tests.instruments.evals.answers import finding, scenario
from tests.instruments.evals.embedder import (
    Embedder,
    Reply,
    Script,
    embedded,
    embedder,
    vector,
)

EXPECTED = {"root_cause": {"patterns": ["out of memory and killed"], "match_type": "semantic"}}
SAME = {"rca": {"root_cause": "The pod is oom, and ended."}}
OTHER = {"rca": {"root_cause": "The disk has no room."}}
PATH = "root_cause.patterns[0]"
KEY = "sk-meadow-0123456789"


def knowing(running: Embedder, cache: Path | None = None, **more: str) -> SemanticMatcher:
    meaning = matcher_from_environment({"TALLYSTICK_EMBEDDINGS_URL": running.url, **more}, cache)
    assert meaning is not None
    return meaning


def reported(meaning: SemanticMatcher | None, answer: dict[str, Any]) -> ScenarioScore:
    return score(scenario(EXPECTED), parse_analysis(answer), meaning)


@pytest.mark.slow
def test_what_means_the_same_is_found_with_its_similarity_and_place() -> None:
    with embedder() as running:
        meaning = knowing(running, TALLYSTICK_EMBEDDINGS_MODEL="meadow-embed", TALLYSTICK_EMBEDDINGS_KEY=KEY)
        same, other = reported(meaning, SAME), reported(meaning, OTHER)
    assert (same.total, other.total) == (100.0, 0.0)
    found = finding(PATH, same)
    assert (found.matched, found.where, found.text) == (True, "rca.root_cause", SAME["rca"]["root_cause"])
    assert found.similarity is not None
    assert found.similarity >= SIMILARITY_MIN
    assert found.note is None
    missed = finding(PATH, other)
    assert missed.similarity is not None
    assert missed.similarity < SIMILARITY_MIN
    first = running.asked[0]
    assert (first.path, first.model) == ("/v1/embeddings", "meadow-embed")
    assert first.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.slow
def test_what_stands_there_word_for_word_needs_no_endpoint() -> None:
    with embedder() as running:
        result = reported(knowing(running), {"rca": {"root_cause": "It was OUT OF MEMORY and killed."}})
        assert running.asked == []
    assert result.total == 100.0
    assert finding(PATH, result).text == "OUT OF MEMORY and killed"


@pytest.mark.slow
def test_each_item_is_compared_and_the_nearest_counts() -> None:
    why = ["The disk is full", "image fetched", "ram was short, so it was stopped"]
    with embedder() as running:
        result = reported(knowing(running), {"decision": {"why": why}})
    assert result.total == 90.0
    assert finding(PATH, result).where == "decision.why[2]"


@pytest.mark.slow
def test_a_long_text_is_compared_in_pieces_that_end_with_sentences() -> None:
    text = "The disk has room. " * 200 + "It had no memory and was killed. " + "The volume is fine. " * 200
    spans = list(split_pieces(text))
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(end - start <= PIECE_CHARS_MAX for start, end in spans)
    assert all(text[start:end].endswith(". ") for start, end in spans[:-1])
    assert list(split_pieces("x" * 2_500)) == [(0, 1_000), (1_000, 2_000), (2_000, 2_500)]
    assert list(split_pieces(" " * 1_500 + "a")) == [(1_000, 1_501)]
    line = "y" * 900 + "\nno memory, killed\n" + "z" * 990
    with embedder(
        lambda asked: embedded([[1.0, float("no memory" in one or "out of" in one)] for one in asked.texts])
    ) as own:
        near = knowing(own).nearest("out of memory", ["disk", line])
    assert not isinstance(near, str)
    assert (near.text_index, line[near.start : near.end]) == (1, "y" * 900 + "\nno memory, killed\n")


def test_without_an_endpoint_only_the_literal_text_counts_and_anything_else_is_an_error() -> None:
    assert matcher_from_environment({}) is None
    assert matcher_from_environment({"TALLYSTICK_EMBEDDINGS_URL": " "}) is None
    literal = reported(None, {"rca": {"root_cause": "Out of memory and killed"}})
    assert (literal.total, finding(PATH, literal).note) == (100.0, None)
    result = reported(None, SAME)
    assert (result.total, result.passed, result.failure, result.embeddings) == (None, None, "embeddings", None)
    assert result.detail is not None
    assert "root_cause.patterns[0] (out of memory and killed) was not compared: no embeddings endpoint" in result.detail
    assert "Set TALLYSTICK_EMBEDDINGS_URL, or write another match_type" in result.detail
    assert reported(None, {"decision": {"next": ["Wait"]}}).total == 0.0, "no text has to be compared"


@pytest.mark.parametrize("address", ["meadow", "ftp://meadow/v1", "http://", "http://[::1", "http://a:b:c/"])
def test_an_address_that_is_none_is_an_error_that_names_the_variable(address: str) -> None:
    matcher = matcher_from_environment({"TALLYSTICK_EMBEDDINGS_URL": address})
    assert matcher is not None
    assert matcher.facts is None
    detail = unavailable(reported(matcher, SAME))
    assert "not compared: TALLYSTICK_EMBEDDINGS_URL names no embeddings endpoint: the addr" in detail


def unavailable(result: ScenarioScore) -> str:
    """Return why a score could not be had."""
    assert (result.total, result.passed, result.failure) == (None, None, "embeddings")
    assert result.detail is not None
    return result.detail


@pytest.mark.slow
def test_endpoint_model_and_threshold_are_stated_where_they_were_needed() -> None:
    with embedder() as running:
        matcher = knowing(running, TALLYSTICK_EMBEDDINGS_MODEL="meadow-embed")
        facts = EmbeddingsFacts(
            endpoint=f"127.0.0.1:{running.server.server_port}", model="meadow-embed", threshold=SIMILARITY_MIN
        )
        assert reported(matcher, SAME).embeddings == facts
        assert reported(matcher, {"rca": {"root_cause": "out of memory and killed"}}).embeddings is None
    assert reported(matcher, OTHER).embeddings == facts
    assert scorer_version([scenario(EXPECTED)], matcher) == "3 meadow-embed>=0.75"
    assert scorer_version([scenario(EXPECTED)], None) == "3"
    plain = scenario({"root_cause": {"all_of": ["memory"]}})
    assert scorer_version([plain], matcher) == "3"
    assert scorer_version([plain, scenario(EXPECTED)], matcher) == "3 meadow-embed>=0.75"
    long = SemanticMatcher(EmbeddingsClient("http://meadow/v1", model="m" * 300))
    assert len(scorer_version([scenario(EXPECTED)], long)) == 256


@pytest.mark.slow
def test_the_threshold_is_a_setting_and_part_of_the_version() -> None:
    near = {"rca": {"root_cause": "The ram is gone"}}
    with embedder() as running:
        strict, loose = knowing(running), knowing(running, TALLYSTICK_EMBEDDINGS_THRESHOLD="0.6")
        assert (reported(strict, near).total, reported(loose, near).total) == (0.0, 100.0)
        assert scorer_version([scenario(EXPECTED)], loose) == "3 text-embedding-3-small>=0.6"
        for wrong in ("0", "1.1", "nan", "high"):
            detail = unavailable(reported(knowing(running, TALLYSTICK_EMBEDDINGS_THRESHOLD=wrong), near))
            assert "TALLYSTICK_EMBEDDINGS_THRESHOLD is not a number above 0 and at most 1" in detail


@pytest.mark.slow
def test_an_outage_has_no_effect_where_it_can_change_no_points() -> None:
    expected = {"root_cause": {"all_of": ["disk", {"patterns": ["out of memory"], "match_type": "semantic"}]}}
    other = {"root_cause": {"any_of": ["pod", {"patterns": ["out of memory"], "match_type": "semantic"}]}}
    with embedder(answering(b"", 503)) as running:
        matcher = knowing(running)
        assert score(scenario(expected), parse_analysis(SAME), matcher).total == 0.0
        assert score(scenario(other), parse_analysis(SAME), matcher).total == 100.0
        assert score(scenario(other), parse_analysis(OTHER), matcher).failure == "embeddings"


def test_a_denied_literal_match_is_denied_without_an_endpoint() -> None:
    denied = {"rca": {"root_cause": "It is not out of memory and killed."}}
    assert reported(None, denied).total == 0.0


def answering(body: bytes, status: int = 200) -> Script:
    return lambda _: Reply(body, status)


def dimensions(*sizes: int) -> Script:
    return lambda asked: embedded([[1.0] * sizes[at % len(sizes)] for at in range(len(asked.texts))])


WRONG: dict[str, tuple[Script, str]] = {
    "refused": (
        answering(b'{"error": {"message": "no such key sk-meadow-0123456789"}}', 401),
        "answered 401: no such key",
    ),
    "down": (answering(b"", 503), "answered 503"),
    "garbage": (answering(b"<html>"), "answered with no embeddings"),
    "no list": (answering(b'{"data": 3}'), "answered with no embeddings"),
    "deep": (answering(b"[" * 100_000), "answered with no embeddings"),
    "no UTF-8": (answering(b'{"data": "\xff"}'), "answered with no embeddings"),
    "text": (lambda asked: embedded(["AAAA" for _ in asked.texts]), "answered with no embeddings"),
    "too few": (lambda _: embedded([[1.0, 0.0]]), "answered with 1 embeddings for 2 texts"),
    "other places": (
        answering(b'{"data": [{"embedding": [1], "index": 0}, {"embedding": [1], "index": 7}]}'),
        "of no text",
    ),
    "dimensions": (dimensions(2, 3), "different lengths"),
    "empty": (dimensions(0), "of none or of too many numbers"),
    "enormous": (dimensions(16_385), "of none or of too many numbers"),
    "zeros": (lambda asked: embedded([[0.0, 0.0] for _ in asked.texts]), "that is nothing, or no number"),
    "NaN": (lambda asked: embedded([[1.0, float("nan")] for _ in asked.texts]), "answered with no embeddings"),
    "infinite": (lambda asked: embedded([[1.0, float("inf")] for _ in asked.texts]), "answered with no embeddings"),
    "over all": (answering(b'{"data": [{"embedding": [1e999]}, {"embedding": [1]}]}'), "answered with"),
    "huge": (answering(b" " * (4 * 1024 * 1024 + 1)), "answered with more than 4,194,304 bytes"),
    "moved": (answering(b"", 307), "answered 307"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("script", "why"), WRONG.values(), ids=WRONG)
def test_where_an_endpoint_fails_the_attempt_is_an_error_that_says_why(script: Script, why: str) -> None:
    with embedder(script) as running:
        detail = unavailable(reported(knowing(running, TALLYSTICK_EMBEDDINGS_KEY=KEY), SAME))
    assert "was not compared: the embeddings endpoint answered" in detail
    assert why in detail
    assert KEY not in detail


@pytest.mark.slow
def test_a_slow_endpoint_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings_client, "TIMEOUT_S", 0.2)
    with embedder(lambda _: Reply(b"{", stall=True)) as running:
        detail = unavailable(reported(knowing(running), SAME))
    assert "not compared: the embeddings endpoint gave no whole answer within 0.2 s" in detail


@pytest.mark.slow
def test_an_endpoint_that_is_not_there_hides_what_its_address_hides() -> None:
    with embedder() as running:
        port = running.server.server_port
    secret = f"http://meadow:{KEY}@127.0.0.1:{port}/v1?api_key=abcdefgh"
    matcher = matcher_from_environment({"TALLYSTICK_EMBEDDINGS_URL": secret})
    assert matcher is not None
    assert matcher.facts is not None
    assert matcher.facts.endpoint == f"127.0.0.1:{port}"
    detail = unavailable(reported(matcher, SAME))
    assert "not compared: the embeddings endpoint gave no answer: " in detail
    assert KEY not in detail
    assert "abcdefgh" not in detail


@pytest.mark.slow
def test_an_endpoint_that_fails_again_and_again_is_not_asked_any_more() -> None:
    with embedder(answering(b"", 500)) as running:
        meaning = knowing(running)
        notes = [finding(PATH, reported(meaning, SAME)).note for _ in range(FAILURES_MAX + 2)]
        assert len(running.asked) == FAILURES_MAX
    assert notes[-1] == "not compared: the embeddings endpoint is not asked any more: answered 500"


@pytest.mark.slow
def test_an_endpoint_that_recovers_is_asked_again() -> None:
    def script(asked: Any) -> Reply:  # noqa: ANN401 - see embedder
        return Reply(b"", 500) if asked.number < FAILURES_MAX else embedded([vector(text) for text in asked.texts])

    with embedder(script) as running:
        meaning = knowing(running)
        assert [reported(meaning, SAME).total for _ in range(4)] == [None, None, 100.0, 100.0]


@pytest.mark.slow
def test_texts_are_asked_for_once_and_in_batches() -> None:
    why = [f"step {number} of the volume" for number in range(BATCH_TEXTS * 2)]
    with embedder() as running:
        meaning = knowing(running)
        for _ in range(3):
            reported(meaning, {"decision": {"why": why}})
        assert [len(asked.texts) for asked in running.asked] == [BATCH_TEXTS, BATCH_TEXTS, 1]


@pytest.mark.slow
def test_vectors_are_kept_in_a_file_that_may_be_damaged_or_deleted(tmp_path: Path) -> None:
    cache = tmp_path / "vectors"
    with embedder() as running:
        assert reported(knowing(running, cache), SAME).total == 100.0
        assert reported(knowing(running, cache), SAME).total == 100.0
        assert len(running.asked) == 1
        whole = cache.read_bytes()
        cache.write_bytes(whole[:-20] + b"\xff\n" + b"0" * 64 + b" AAAA 00000000\n torn")
        assert reported(knowing(running, cache), SAME).total == 100.0
        assert len(running.asked) == 2
        assert len(running.asked[1].texts) == 1
        cache.unlink()
        assert reported(knowing(running, cache), SAME).total == 100.0
        assert len(running.asked) == 3
        assert reported(knowing(running, tmp_path), SAME).total == 100.0, (
            "a folder in place of the cache file does no harm"
        )
        assert reported(knowing(running, cache, TALLYSTICK_EMBEDDINGS_MODEL="other"), SAME).total == 100.0
        assert len(running.asked) == 5


@pytest.mark.slow
def test_a_model_that_became_another_is_asked_for_everything_again(tmp_path: Path) -> None:
    cache = tmp_path / "vectors"
    with embedder(lambda asked: embedded([vector(text) for text in asked.texts])) as running:
        reported(knowing(running, cache), SAME)
        running.script = lambda asked: embedded([[*vector(text), 0.0] for text in asked.texts])
        assert reported(knowing(running, cache), {"rca": {"root_cause": "ram gone, stopped"}}).total == 100.0
        assert reported(knowing(running, cache), OTHER).total == 0.0
        assert [len(asked.texts) for asked in running.asked] == [2, 1, 1, 1]


@pytest.mark.slow
def test_a_file_that_grew_too_large_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("instruments.evals.scoring.embedding_cache.FILE_BYTES_MAX", 400)
    cache = tmp_path / "vectors"
    with embedder() as running:
        meaning = knowing(running, cache)
        for number in range(20):
            reported(meaning, {"rca": {"root_cause": f"memory {number}"}})
            assert cache.stat().st_size <= 400
    assert EmbeddingCache(cache).get("unknown") is None


@pytest.mark.slow
def test_threads_ask_at_once() -> None:
    with embedder() as running:
        meaning = knowing(running)
        found: list[float | None] = []
        threads = [threading.Thread(target=lambda: found.append(reported(meaning, SAME).total)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [100.0] * 8
        assert len(running.asked) == 1


@pytest.mark.slow
def test_half_a_surrogate_pair_is_no_reason_to_fail() -> None:
    with embedder() as running:
        assert reported(knowing(running), {"rca": {"root_cause": "\ud800 ram, stopped"}}).total == 100.0

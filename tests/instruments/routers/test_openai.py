"""`openai:`: an endpoint that is asked and heard, whatever it replies."""

import gzip
import json
import zlib
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from events.limits import ANSWER_BYTES_MAX
from instruments.answer import RouterAnswer
from instruments.routers import Router, parse_router
from tests.instruments.routers.simulated import (
    Asked,
    Reply,
    Script,
    Simulated,
    completed,
    error,
    in_turn,
    said,
    simulated,
)
from tests.support.event_loop import run

LONG_S = 60.0
KEY = "sk-meadow/+0123456789"


@pytest.fixture(autouse=True)
def _without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def router_at(url: str, **options: object) -> Router:
    settings = {"environment": {"OPENAI_API_KEY": KEY}, "model": "auto", **options}
    return parse_router(f"openai:{url}", **settings)  # type: ignore[arg-type]


def ask(script: Script, timeout_s: float = LONG_S, **options: object) -> RouterAnswer:
    with simulated(script) as simulator:
        return run(router_at(simulator.url, **options).ask("Who are you?", timeout_s))


def asked(reply: Reply | None = None, suffix: str = "", **options: object) -> Asked:
    """What the endpoint was asked."""
    with simulated(in_turn(reply or completed("x"))) as simulator:
        run(router_at(simulator.url + suffix, **options).ask("Who are you?", LONG_S))
    assert len(simulator.asked) == 1
    return simulator.asked[0]


def failure(reply: Reply, timeout_s: float = LONG_S, **options: object) -> str:
    answer = ask(in_turn(reply), timeout_s, **options)
    assert (answer.text, answer.failure) == (None, "failed")
    assert answer.detail is not None
    assert answer.elapsed_ns is not None
    assert KEY not in answer.detail
    return answer.detail


def body(**fields: object) -> Reply:
    return Reply(json.dumps(fields).encode())


@pytest.mark.slow
def test_the_whole_answer_with_what_the_endpoint_says_of_it() -> None:
    text = said("Aster 4")
    answer = ask(in_turn(completed(text)))
    assert answer.text == text
    assert answer.reported_model == "meadow/aster-4-0711"
    assert answer.tokens_used == 321
    assert answer.failure is None
    assert answer.elapsed_ns is not None
    assert answer.elapsed_ns > 0


@pytest.mark.slow
def test_what_it_is_asked() -> None:
    request = asked(model="meadow/any")
    assert request.path == "/v1/chat/completions"
    assert request.model == "meadow/any"
    assert request.prompt == "Who are you?"
    assert request.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", "/", "/chat/completions", "/?api-version=2026-01", "#part"])
def test_a_base_is_written_in_many_ways(suffix: str) -> None:
    path = asked(suffix=suffix).path
    assert path == "/v1/chat/completions" + ("?api-version=2026-01" if "?" in suffix else "")


@pytest.mark.slow
def test_headers_and_keys_come_from_the_environment() -> None:
    environment = {"MY_KEY": " my-key\n", "OTHER": "other-value", "OPENAI_API_KEY": KEY}
    headers = ["X-Other:env:OTHER", "X-Plain: a value: with a colon", "Accept-Encoding: gzip"]
    request = asked(environment=environment, key_env="MY_KEY", headers=headers)
    assert request.headers["authorization"] == "Bearer my-key"
    assert request.headers["x-other"] == "other-value"
    assert request.headers["x-plain"] == "a value: with a colon"
    request = asked(environment=environment, headers=["Authorization: Custom env"])
    assert request.headers["authorization"] == "Custom env"
    assert "authorization" not in asked(environment={}).headers


@pytest.mark.slow
def test_a_user_in_the_address_is_sent_as_basic_and_named_nowhere() -> None:
    with simulated(in_turn(error(403, "no user:p%40ss-word, p@ss-word"))) as simulator:
        router = router_at(simulator.url.replace("://", "://user:p%40ss-word@") + "?sig=query-secret")
        answer = run(router.ask("?", LONG_S))
    assert simulator.asked[0].headers["authorization"] == f"Basic {b64encode(b'user:p@ss-word').decode()}"
    assert simulator.asked[0].path.endswith("?sig=query-secret")
    assert router.name == f"openai:{simulator.url}"
    assert answer.detail == "answered 403: no [redacted], [redacted]"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", ""),
        (None, ""),
        (17, ""),
        ([], ""),
        (["a", {"type": "text", "text": "b"}, {"type": "image_url", "image_url": {}}, None, {"text": "c"}], "abc"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("whole \ud83d\ude00 pair", "whole \U0001f600 pair"),
        ("nul \x00", "nul \x00"),
    ],
)
def test_content_of_any_shape(content: object, text: str) -> None:
    answer = ask(in_turn(completed(content)))
    assert answer.text == text
    assert answer.failure is None


@pytest.mark.slow
def test_a_refusal_beside_the_content_is_the_answer() -> None:
    assert ask(in_turn(completed(None, refusal="I will not"))).text == "I will not"


@pytest.mark.slow
@pytest.mark.parametrize("model", [None, "", 4, "m" * 257, ["m"]])
@pytest.mark.parametrize("tokens", [None, "12", -1, 2.5, True, 10**30])
def test_what_the_endpoint_says_amiss_is_left_out(model: object, tokens: object) -> None:
    answer = ask(in_turn(completed("fine", model, tokens)))
    assert (answer.text, answer.reported_model, answer.tokens_used) == ("fine", None, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (Reply(b""), "answered with no JSON object:"),
        (Reply(b"<html>Sign in</html>"), "answered with no JSON object: <html>Sign in</html>"),
        (Reply(b"[1]"), "answered with no JSON object: [1]"),
        (Reply(b'{"choices": [{"mess'), 'answered with no JSON object: {"choices": [{"mess'),
        (Reply(b"\xff\xfe{}"), "answered with no JSON object: \ufffd\ufffd{}"),
        (body(choices=[]), 'answered without a message in choices: {"choices": []}'),
        (body(choices={"0": 1}), 'answered without a message in choices: {"choices": {"0": 1}}'),
        (body(choices=[None]), 'answered without a message in choices: {"choices": [null]}'),
        (body(object="x"), 'answered without a message in choices: {"object": "x"}'),
        (body(error={"message": "no credit", "code": 402}), "answered without a message in choices: no credit"),
        (error(401, f"Incorrect API key provided: {KEY}."), "answered 401: Incorrect API key provided: [redacted]."),
        (error(400, f"{KEY.upper()}, sk-meadow%2F%2B0123456789"), "answered 400: [redacted], [redacted]"),
        (Reply(b"Bad\n  gateway", 502), "answered 502: Bad gateway"),
        (Reply(b"", 500), "answered 500"),
        (Reply(b"{}", 201), "answered 201: {}"),
        (Reply(b"", 302, {"location": "http://127.0.0.1:9/"}), "answered 302"),
        (Reply(b"x" * 10, how="cut"), "no answer: peer closed connection without sending complete message body"),
        (Reply(b"\x1b[2Jgone", 404), "answered 404: \x1b[2Jgone"),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_a_failure_in_words(reply: Reply, detail: str) -> None:
    assert failure(reply).startswith(detail)


@pytest.mark.slow
def test_details_stay_short_whatever_is_said() -> None:
    assert len(failure(Reply(b"<p>" + b"x" * 100_000, 500))) < 400


@pytest.mark.slow
def test_values_without_end_or_bottom_are_no_answer() -> None:
    assert "no JSON object" in failure(Reply(b"[" * 500_000))
    assert "no JSON object" in failure(Reply(b'{"a":' + b"1" * 50_000 + b"}"))


@pytest.mark.slow
def test_redirects_are_not_followed() -> None:
    with simulated(in_turn(completed("stolen"))) as other:
        assert failure(Reply(b"", 307, {"location": f"{other.url}/chat/completions"})) == "answered 307"
        assert other.asked == []


@pytest.mark.slow
def test_a_body_over_the_limit_is_no_answer() -> None:
    huge = completed("x" * ANSWER_BYTES_MAX)
    assert failure(huge) == f"no answer: answered with more than {ANSWER_BYTES_MAX:,} bytes"
    assert len(ask(in_turn(completed("x" * (ANSWER_BYTES_MAX - 1000)))).text or "") == ANSWER_BYTES_MAX - 1000


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_bodies_are_read_and_bombs_are_not(encoding: str) -> None:
    def packed(body: bytes) -> bytes:
        return gzip.compress(body) if encoding == "gzip" else zlib.compress(body)

    headers = {"content-encoding": encoding}
    assert ask(in_turn(Reply(packed(completed("small").body), headers=headers))).text == "small"
    bomb = Reply(packed(completed("x" * 200_000_000).body), headers=headers)
    assert "answered with more than" in failure(bomb)
    assert failure(Reply(b"not packed", headers=headers)) == f"no answer: answered in {encoding}, and not well"


@pytest.mark.slow
def test_an_encoding_that_was_not_asked_for_is_no_answer() -> None:
    reply = Reply(b"x", headers={"content-encoding": "br"})
    assert failure(reply) == "no answer: answered in br, which was not asked for"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stall", "drip"])
def test_the_deadline_is_for_the_whole_answer(how: str) -> None:
    answer = ask(in_turn(Reply(b"{", how=how)), timeout_s=0.5)  # type: ignore[arg-type]
    assert (answer.text, answer.failure) == (None, "timeout")
    assert answer.detail == "no whole answer within 0.5 s"
    assert answer.elapsed_ns is not None
    assert answer.elapsed_ns >= 500_000_000


@pytest.mark.slow
def test_nobody_there_is_a_failure() -> None:
    with simulated(in_turn()) as simulator:
        url = simulator.url
    answer = run(router_at(url).ask("?", LONG_S))
    assert answer.failure == "failed"
    assert answer.detail == "no answer: All connection attempts failed"


@pytest.mark.slow
def test_retry_after_is_waited_for_within_the_attempt() -> None:
    script = in_turn(error(429, "slow down", **{"retry-after": "0"}), completed("rested"))
    with simulated(script) as simulator:
        answer = run(router_at(simulator.url).ask("?", LONG_S))
    assert answer.text == "rested"
    assert len(simulator.asked) == 2
    assert answer.elapsed_ns is not None


def waited(simulator: Simulated, timeout_s: float) -> str:
    answer = run(router_at(simulator.url).ask("?", timeout_s))
    assert answer.failure == "failed"
    return answer.detail or ""


@pytest.mark.slow
def test_retry_after_is_waited_for_twice_at_most_and_never_beyond_the_deadline() -> None:
    with simulated(in_turn(error(503, "warming up", **{"retry-after": "1"}))) as simulator:
        assert waited(simulator, LONG_S) == "answered 503 (it asks to wait 1 s): warming up"
        assert len(simulator.asked) == 3
    with simulated(in_turn(error(429, "slow down", **{"retry-after": "3600"}))) as simulator:
        assert waited(simulator, LONG_S) == "answered 429 (it asks to wait 3600 s): slow down"
        assert len(simulator.asked) == 1
    date = format_datetime(datetime.now(UTC) + timedelta(days=2), usegmt=True)
    for said_so, count in (("soon", 1), ("-1", 1), (date, 1), ("9" * 400, 1), ("", 1)):
        with simulated(in_turn(error(429, "slow down", **{"retry-after": said_so}))) as simulator:
            assert waited(simulator, LONG_S).startswith("answered 429")
            assert len(simulator.asked) == count


@pytest.mark.slow
def test_a_key_that_is_echoed_is_kept_nowhere() -> None:
    def echo(request: Asked) -> Reply:
        return completed(f"{said('Aster 4')} {request.headers}", model=f"for {KEY}")

    headers = ["X-Org: env:ORG", "X-Tag: plain-tag-value", "X-Route: auto"]
    environment = {"OPENAI_API_KEY": KEY, "ORG": 'org-"quoted"-123'}
    answer = ask(echo, environment=environment, headers=headers)
    assert answer.text is not None
    assert answer.reported_model == "for [redacted]"
    assert answer.text.count("[redacted]") >= 3
    assert "'x-route': 'auto'" in answer.text
    for secret in (KEY, "org-", "plain-tag-value"):
        assert secret not in answer.text


def test_a_proxy_that_cannot_be_used_is_a_failure_without_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "socks9://someone:proxy-password@127.0.0.1:9")
    answer = run(router_at("http://meadow.invalid/v1").ask("?", LONG_S))
    assert answer.failure == "failed"
    assert answer.detail == "no answer: the proxy of HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used"

"""A judge asks a real endpoint, and gives votes or an error: never a score for an invalid reply."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from events.errors import InvalidQuery
from instruments.evals.judging.judge import Judge, Judgement, agent_of
from instruments.evals.judging.judge_spec import parse_judge
from instruments.evals.scenario import Criterion, Rubric, Scenario
from tests.instruments.evals.scenarios import scenario
from tests.instruments.evals.simulated_judge import (
    FAULTS,
    MODEL,
    SimulatedJudge,
    judging,
    parse_prompt,
    valid_reply,
)
from tests.instruments.routers.simulated import Asked, Reply, Script, completed, error, simulated

RIGHT = {"rca": {"root_cause": "root_cause is right: the tag is missing", "remediation": ["fix is wrong"]}}
CRITERIA = tuple(Criterion(name=name, question=f"Is {name} right?", weight=1) for name in ("root_cause", "fix"))


def with_rubric(tmp_path: Path) -> Scenario:
    """A scenario with two criteria."""
    loaded = scenario(tmp_path, "image-pull")
    return structs.replace(loaded, about=structs.replace(loaded.about, judge=Rubric(criteria=CRITERIA)))


def made(address: str, environment: Mapping[str, str] = {}, **settings: Any) -> Judge:  # noqa: ANN401 - as `parse_judge`
    return parse_judge(f"openai:{address}", environment=environment, model="judge-1", **settings)


def judged(tmp_path: Path, script: Script, answer: dict[str, Any] = RIGHT, **settings: Any) -> Judgement:  # noqa: ANN401 - as `parse_judge`
    with simulated(script) as endpoint:
        return asyncio.run(made(endpoint.url, **settings).judge(with_rubric(tmp_path), answer))


@pytest.mark.slow
def test_each_criterion_gets_a_vote_with_reason_and_quote(tmp_path: Path) -> None:
    found = judged(tmp_path, valid_reply)
    assert found.detail is None
    assert {name: [vote.passed for vote in votes] for name, votes in found.votes.items()} == {
        "root_cause": [True],
        "fix": [False],
    }
    (vote,) = found.votes["root_cause"]
    assert (vote.confidence, vote.reason, vote.quote) == (
        0.9, "root_cause is met.", "rca.root_cause: root_cause is right:",
    )  # fmt: skip
    assert (found.usage.input_tokens, found.usage.output_tokens) == (300, 21)
    assert found.usage.reported_model == MODEL


@pytest.mark.slow
def test_the_endpoint_gets_the_schema_the_model_and_the_temperature(tmp_path: Path) -> None:
    with simulated(valid_reply) as endpoint:
        judge = made(endpoint.url, {"OPENAI_API_KEY": "sk-secret-1"}, temperature=0.5)
        asyncio.run(judge.judge(with_rubric(tmp_path), RIGHT))
    (asked,) = endpoint.asked
    assert (asked.model, asked.path, asked.headers["authorization"]) == (
        "judge-1", "/v1/chat/completions", "Bearer sk-secret-1",
    )  # fmt: skip
    assert asked.fields["temperature"] == 0.5
    form = asked.fields["response_format"]
    assert (form["type"], form["json_schema"]["strict"]) == ("json_schema", True)
    assert form["json_schema"]["schema"]["required"] == ["verdicts"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_an_invalid_reply_is_an_error(fault: str, tmp_path: Path) -> None:
    limit_s = 0.3 if fault in {"late", "dripping"} else 30.0
    found = judged(tmp_path, FAULTS[fault], timeout_s=limit_s)
    assert found.votes == {}
    assert found.detail is not None
    assert found.detail.startswith("the judge's reply: ")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["prose", "contradicting verdicts", "busy"])
def test_one_bad_reply_of_several_is_an_error_of_all(fault: str, tmp_path: Path) -> None:
    def script(asked: Asked) -> Reply:
        return (FAULTS[fault] if asked.number == 3 else valid_reply)(asked)

    found = judged(tmp_path, script, repeats=3)
    assert found.votes == {}
    assert (found.detail or "").startswith("reply 3 of 3 of the judge: ")


@pytest.mark.slow
def test_the_judge_is_asked_k_times_and_tokens_add_up(tmp_path: Path) -> None:
    with simulated(judging(SimulatedJudge(seed=3, sensitivity=0.5))) as endpoint:
        found = asyncio.run(made(endpoint.url, repeats=5).judge(with_rubric(tmp_path), RIGHT))
    assert len(endpoint.asked) == 5
    assert len({asked.prompt for asked in endpoint.asked}) == 1
    votes = [vote.passed for vote in found.votes["root_cause"]]
    assert len(votes) == 5
    assert 0 < sum(votes) < 5
    assert (found.usage.input_tokens, found.usage.output_tokens) == (1500, 105)


@pytest.mark.slow
def test_tokens_that_one_reply_does_not_state_stay_unknown(tmp_path: Path) -> None:
    def script(asked: Asked) -> Reply:
        body = json.loads(valid_reply(asked).body)
        if asked.number == 2:
            del body["usage"]
        return Reply(json.dumps(body).encode())

    assert judged(tmp_path, script, repeats=2).usage.input_tokens is None


@pytest.mark.slow
def test_an_endpoint_without_schemas_is_asked_again_without(tmp_path: Path) -> None:
    def script(asked: Asked) -> Reply:
        if "response_format" in asked.fields:
            return error(400, "Unknown parameter: response_format")
        return valid_reply(asked)

    with simulated(script) as endpoint:
        judge = made(endpoint.url, repeats=3)
        found = asyncio.run(judge.judge(with_rubric(tmp_path), RIGHT))
    assert found.detail is None
    assert ["response_format" in asked.fields for asked in endpoint.asked] == [True, False, False, False]


@pytest.mark.slow
def test_a_code_block_around_the_verdict_is_read(tmp_path: Path) -> None:
    def script(asked: Asked) -> Reply:
        return completed(f"```json\n{json.dumps(SimulatedJudge().reply(asked.prompt))}\n```", MODEL)

    assert judged(tmp_path, script).detail is None


@pytest.mark.slow
def test_secrets_stay_out_of_an_error(tmp_path: Path) -> None:
    key = "sk-secret-abcdef"
    with simulated(lambda asked: error(401, f"Incorrect key {key}")) as endpoint:
        judge = made(endpoint.url, {"OPENAI_API_KEY": key})
        found = asyncio.run(judge.judge(with_rubric(tmp_path), RIGHT))
    assert found.detail == "the judge's reply: answered 401: Incorrect key [redacted]"


@pytest.mark.slow
def test_pairs_are_asked_in_both_orders(tmp_path: Path) -> None:
    second = {"rca": {"root_cause": "root_cause is right and fix is right"}}
    with simulated(judging(SimulatedJudge())) as endpoint:
        found = asyncio.run(made(endpoint.url, repeats=2).compare(with_rubric(tmp_path), RIGHT, second))
    assert [(vote.swapped, vote.preferred) for vote in found.votes] == [
        (False, "second"), (True, "second"), (False, "second"), (True, "second"),
    ]  # fmt: skip
    shown = [parse_prompt(asked.prompt).answers for asked in endpoint.asked]
    assert shown[0] == shown[2] == shown[1][::-1] == shown[3][::-1]


@pytest.mark.slow
def test_a_judge_that_prefers_the_first_place_is_seen(tmp_path: Path) -> None:
    second = {"rca": {"root_cause": "root_cause is right and fix is right"}}
    with simulated(judging(SimulatedJudge(prefers_first=1.0))) as endpoint:
        found = asyncio.run(made(endpoint.url).compare(with_rubric(tmp_path), RIGHT, second))
    assert [vote.preferred for vote in found.votes] == ["first", "second"]


@pytest.mark.slow
def test_an_answer_that_is_too_long_is_not_judged_in_part(tmp_path: Path) -> None:
    with simulated(valid_reply) as endpoint:
        answer = {"rca": {"root_cause": "x" * 200_001}}
        found = asyncio.run(made(endpoint.url).judge(with_rubric(tmp_path), answer))
    assert (found.votes, endpoint.asked) == ({}, [])
    assert "a judge gets at most 200,000" in (found.detail or "")


def test_the_version_names_whatever_makes_another_judge() -> None:
    def version(**settings: Any) -> str:  # noqa: ANN401 - as `parse_judge`
        return made("http://127.0.0.1:1/v1", **settings).scorer_version

    versions = {version(), version(repeats=2), version(temperature=0.0), version(name="mine")}
    assert len(versions) == 4
    assert version().startswith("judge-1/")


def test_agents_are_named_after_models() -> None:
    assert agent_of("gpt-4o") == "judge:gpt-4o"
    odd, long = agent_of("my model"), agent_of("m" * 100)
    assert odd.startswith("judge:my-model-")
    assert len(long) == 64
    assert len({agent_of("a b"), agent_of("a-b"), agent_of("a  b"), agent_of("m" * 101), long}) == 5


@pytest.mark.parametrize(
    ("spec", "settings", "field"),
    [
        ("gpt-4o", {}, "judge"),
        ("openai:ftp://host", {"model": "m"}, "judge"),
        ("openai:http://host/v1", {}, "judge_model"),
        ("openai:http://host/v1", {"model": ""}, "judge_model"),
        ("openai:http://host/v1", {"model": "m", "key_env": "NO_SUCH_KEY"}, "judge_key_env"),
        ("openai:http://host/v1", {"model": "m", "temperature": 3.0}, "judge_temperature"),
        ("openai:http://host/v1", {"model": "m", "repeats": 0}, "judge_repeats"),
        ("openai:http://host/v1", {"model": "m", "repeats": 16}, "judge_repeats"),
        ("openai:http://host/v1", {"model": "m", "name": "a b"}, "judge_name"),
        ("command:no-such-program-here", {}, "judge"),
        ("command:cat", {"temperature": 0.5}, "judge_temperature"),
        ("command:cat", {"key_env": "HOME"}, "judge_key_env"),
    ],
)
def test_a_wrong_judge_is_refused(spec: str, settings: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        parse_judge(spec, environment=os.environ, **settings)
    assert refused.value.field == field
    assert "--router" not in refused.value.advice

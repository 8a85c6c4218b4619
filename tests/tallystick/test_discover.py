"""The loop of discovery, driven by a function of the caller's."""

import asyncio
from uuid import uuid4

import pytest

from tallystick import AsyncClient, Client, InvalidEvent, Reply

MODELS = ("example-large-1", "example-small-2")
ANSWER = "CAUSE: change 4417 set the connection pool of inv-1 and inv-2 to 5. EVIDENCE: L07, L09. FIX: set it back"


def router(prompt: str) -> str:
    """Two models behind one function; each is silent once it was excluded."""
    for model in MODELS:
        if model not in prompt:
            return f'{{"model_name": "{model}", "provider": "Example"}}\n\n{ANSWER}'
    return "EXCLUDED"


def test_a_run_finds_the_models_behind_a_function(client: Client) -> None:
    lines: list[str] = []
    report = client.discover(router, probe_id="debugging", progress=lines.append)
    assert [model.model_name for model in report.unique_models] == list(MODELS)
    assert report.end_time is not None
    assert "EXCLUDED" in (report.termination_reason or "")
    assert len(report.results) == 2
    assert any("example-large-1" in line for line in lines)
    events = client.events(subjects=[f"discovery/{report.run_id}"])
    attempts = [event.data for event in events if "outcome" in event.data]
    assert [attempt["outcome"] for attempt in attempts] == ["accepted", "accepted", "refused"]
    assert all(attempt["elapsed_ns"] > 0 for attempt in attempts)


def test_a_run_that_was_interrupted_goes_on(client: Client) -> None:
    run_id, asked = f"r-{uuid4().hex}", 0

    def fails_once(prompt: str) -> str:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise OSError("the router went away")
        return router(prompt)

    with pytest.raises(OSError, match="went away"):
        client.discover(fails_once, probe_id="debugging", run_id=run_id)
    report = client.discover(fails_once, probe_id="debugging", run_id=run_id)
    assert [model.model_name for model in report.unique_models] == list(MODELS)
    assert asked == 4
    again = client.discover(fails_once, probe_id="debugging", run_id=run_id)
    assert (again, asked) == (report, 4), "a run that has ended asks nothing"


def test_a_reply_says_more_than_its_text(client: Client) -> None:
    replies: list[Reply | None] = [
        Reply(response=router(""), reported_model="gateway/example-large-1", tokens_used=120),
        None,
        Reply(failure="failed", detail="503"),
    ]

    def answers(prompt: str) -> str | Reply:
        reply = replies.pop(0)
        if reply is None:
            raise TimeoutError
        return reply

    report = client.discover(answers, probe_id="debugging")
    events = client.events(subjects=[f"discovery/{report.run_id}"])
    attempts = [event.data for event in events if "outcome" in event.data]
    assert [attempt["outcome"] for attempt in attempts] == ["accepted", "timeout", "failed"]
    assert (attempts[0]["reported_model"], attempts[0]["tokens_used"]) == ("gateway/example-large-1", 120)
    assert attempts[2]["detail"] == "503"


def test_halves_of_characters_end_no_run(client: Client) -> None:
    report = client.discover(lambda prompt: "\ud83d", probe_id="debugging", max_attempts=1, keep_going=True)
    assert report.unique_models == ()


def test_an_option_that_is_wrong_is_named(client: Client) -> None:
    with pytest.raises(InvalidEvent) as refused:
        client.discover(router, probe_id="nothing")
    assert refused.value.field == "probe_id"


@pytest.mark.parametrize("waits", [False, True])
def test_asyncio_takes_functions_and_coroutine_functions(url: str, agent: str, waits: bool) -> None:
    async def slow(prompt: str) -> str:
        await asyncio.sleep(0)
        return router(prompt)

    async def program() -> None:
        async with AsyncClient(url, agent=agent) as client:
            report = await client.discover(slow if waits else router, probe_id="debugging")
            assert [model.model_name for model in report.unique_models] == list(MODELS)

    asyncio.run(program())

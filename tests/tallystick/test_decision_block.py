"""`with client.decision(...)`: what is recorded before the block, and what after it."""

import asyncio
from uuid import uuid4

import pytest

from tallystick import AsyncClient, Client, Conflict, ConnectionFailed
from tallystick.results import DecisionState
from tests.tallystick.proxy import proxying


def outcomes(client: Client, decision_id: str) -> list[str]:
    """The outcomes that were recorded, the oldest first."""
    history = client.get_decision(decision_id).history
    return [entry.data["outcome"] for entry in history if entry.type == "decision.reviewed.v1"]


def review_of(state: DecisionState) -> tuple[str, str | None, str | None]:
    assert state.review is not None
    return state.review.outcome, state.review.actual_result, state.review.lessons


def test_a_block_that_ends_is_a_success(client: Client) -> None:
    with client.decision("Index the table", confidence=0.8) as decision:
        assert client.get_decision(decision.decision_id).review is None, "it is recorded before the block"
        decision.think("It takes a minute.")
        decision.amend(context="At night.")
    state = client.get_decision(decision.decision_id)
    assert review_of(state) == ("success", None, None)
    assert (state.thoughts, state.decision.context) == (("It takes a minute.",), "At night.")


def test_a_block_that_raises_is_a_failure_and_the_error_goes_on(client: Client) -> None:
    with pytest.raises(KeyError, match="secret"), client.decision("Read the key") as decision:
        raise KeyError("secret")
    assert review_of(client.get_decision(decision.decision_id)) == ("failure", "KeyError was raised", None)


def test_a_block_says_its_own_outcome(client: Client) -> None:
    with client.decision("Move the data") as partly:
        partly.partial("Half of it moved.", lessons="Ask for more time.")
    with client.decision("Move the rest") as abandoned:
        abandoned.abandon("The disk is full.")
    with client.decision("Try again") as reviewed:
        reviewed.partial()
        reviewed.review("failure", lessons="Once is enough.")
    stated = client.decision("Stop early")

    def stops_early() -> None:
        with stated:
            stated.partial("Most of it.")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        stops_early()
    assert review_of(client.get_decision(partly.decision_id)) == ("partial", "Half of it moved.", "Ask for more time.")
    assert review_of(client.get_decision(abandoned.decision_id)) == ("abandoned", "The disk is full.", None)
    assert review_of(client.get_decision(reviewed.decision_id)) == ("failure", None, "Once is enough.")
    assert review_of(client.get_decision(stated.decision_id)) == ("partial", "Most of it.", None)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_a_block_that_is_interrupted_stays_without_a_review(client: Client, interruption: type[BaseException]) -> None:
    with pytest.raises(interruption), client.decision("Wait for it") as decision:
        raise interruption
    assert client.get_decision(decision.decision_id).review is None


def test_a_block_that_cannot_be_recorded_is_not_run(client: Client) -> None:
    decision_id = f"d-{uuid4().hex}"
    client.record("One thing", decision_id=decision_id)
    ran = False
    with pytest.raises(Conflict), client.decision("Another thing", decision_id=decision_id):
        ran = True
    assert not ran


def test_a_block_that_ran_before_adds_nothing(client: Client) -> None:
    decision_id = f"d-{uuid4().hex}"
    for again in (False, True, True):
        with client.decision("Deploy", confidence=0.9, decision_id=decision_id) as decision:
            assert decision.event.duplicate == again
    assert outcomes(client, decision_id) == ["success"]


def test_the_latest_run_of_a_block_counts(client: Client) -> None:
    """Runs of one program that turn out differently: each change is recorded, and a run that changes nothing is not."""
    decision_id = f"d-{uuid4().hex}"
    for outcome in ("failure", "success", "success", "failure", "failure", "success"):
        with client.decision("Deploy", decision_id=decision_id) as decision:
            decision.review(outcome)
    assert outcomes(client, decision_id) == ["failure", "success", "failure", "success"]


@pytest.mark.slow
def test_an_unrecorded_failure_does_not_hide_the_error(url: str) -> None:
    with proxying(url) as proxy, Client(proxy.url, retry_s=0) as client:

        def fails() -> None:
            with client.decision("Read the key"):
                proxy.faults.append("lose request")
                raise KeyError("k")

        with pytest.raises(KeyError) as raised:
            fails()
        assert "could not record" in raised.value.__notes__[0]
        with pytest.raises(ConnectionFailed), client.decision("Read the key"):
            proxy.faults.append("lose request")


def test_a_block_in_asyncio(url: str, agent: str) -> None:
    async def program() -> None:
        async with AsyncClient(url, agent=agent) as client:
            async with client.decision("Index the table") as done:
                await done.think("It takes a minute.")
                await done.amend(context="At night.")
            with pytest.raises(ValueError, match="no"):
                async with client.decision("Fail") as failed:
                    raise ValueError("no")

            async def endless() -> None:
                async with client.decision("Wait", decision_id=f"{agent}-wait"):
                    entered.set()
                    await asyncio.Event().wait()

            entered = asyncio.Event()
            task = asyncio.create_task(endless())
            await entered.wait()
            task.cancel()
            await asyncio.wait([task])
            states = [await client.get_decision(one) for one in (done.decision_id, failed.decision_id, f"{agent}-wait")]
            assert [state.review and state.review.outcome for state in states] == ["success", "failure", None]

    asyncio.run(program())

"""Answers that take long: a request waits for one only shortly, an older one serves meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from api.service.kept_answers import KEPT_MAX, RUNNING_MAX, Found, KeptAnswers

LONG_S = 60.0
"""Longer than any computation here takes."""

SHORT_S = 0.05

STARTED = Found(None, current=False)


class Question:
    """A question whose answers are given one after the other, when the test says so. An exception is raised."""

    def __init__(self, *answers: str | Exception) -> None:
        self.asked = 0
        self.ended = 0
        self._answers = list(answers)
        self.may_answer = asyncio.Event()

    async def __call__(self) -> str:
        self.asked += 1
        try:
            await self.may_answer.wait()
        finally:
            self.ended += 1
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def at_once(answer: str) -> Callable[[], Awaitable[str]]:
    """Return what answers without waiting."""

    async def compute() -> str:
        return answer

    return compute


def found(answer: str) -> Found[str]:
    """Return what a request gets to the version that it asked for."""
    return Found(answer, current=True)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    while not condition():  # noqa: ASYNC110 - what a test waits for tells nobody
        await asyncio.sleep(0.001)


def test_an_answer_is_kept_for_its_version() -> None:
    async def main() -> None:
        kept = KeptAnswers(1)
        assert await kept.find("drift", 1, at_once("first"), LONG_S) == found("first")
        assert await kept.find("drift", 1, at_once("second"), LONG_S) == found("first")
        assert await kept.find("trend", 1, at_once("third"), LONG_S) == found("third")
        assert await kept.find("drift", 2, at_once("second"), LONG_S) == found("second")

    asyncio.run(main())


@pytest.mark.slow
def test_a_long_answer_comes_later_and_is_computed_once() -> None:
    async def main() -> None:
        kept, question = KeptAnswers(1), Question("found")
        assert await kept.find("drift", 1, question, SHORT_S) == STARTED
        waiting = [asyncio.ensure_future(kept.find("drift", 1, question, LONG_S)) for _ in range(3)]
        await asyncio.sleep(SHORT_S)
        question.may_answer.set()
        assert [await each for each in waiting] == [found("found")] * 3
        assert question.asked == 1

    asyncio.run(main())


def test_an_older_answer_serves_while_a_new_one_is_computed() -> None:
    async def main() -> None:
        kept, question = KeptAnswers(1), Question("new")
        assert await kept.find("drift", 1, at_once("old"), LONG_S) == found("old")
        assert await kept.find("drift", 2, question, SHORT_S) == Found("old", current=False)
        question.may_answer.set()
        assert await kept.find("drift", 2, question, LONG_S) == found("new")

    asyncio.run(main())


@pytest.mark.slow
def test_a_request_that_waits_gets_its_own_version() -> None:
    async def main() -> None:
        kept, older, newer = KeptAnswers(1), Question("of version 1"), Question("of version 2")
        assert await kept.find("drift", 1, older, SHORT_S) == STARTED
        asking = asyncio.ensure_future(kept.find("drift", 2, newer, LONG_S))
        await asyncio.sleep(SHORT_S)
        assert newer.asked == 0
        older.may_answer.set()
        newer.may_answer.set()
        assert await asking == found("of version 2")

    asyncio.run(main())


@pytest.mark.slow
def test_an_answer_that_took_long_is_not_computed_at_every_change() -> None:
    async def main() -> None:
        kept, question = KeptAnswers(1, busy_share=0.001), Question("found")
        asking = asyncio.ensure_future(kept.find("drift", 1, question, LONG_S))
        await asyncio.sleep(SHORT_S)
        question.may_answer.set()
        assert await asking == found("found")
        for version in range(2, 10):
            assert await kept.find("drift", version, at_once("too early"), LONG_S) == Found("found", current=False)

    asyncio.run(main())


def test_an_error_is_that_of_the_requests_that_wait() -> None:
    async def main() -> None:
        kept, question = KeptAnswers(1), Question(LookupError("broken"))
        question.may_answer.set()
        asked = [kept.find("drift", 1, question, LONG_S) for _ in range(2)]
        for answer in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(answer, LookupError)
        assert await kept.find("drift", 1, at_once("well"), LONG_S) == found("well")

    asyncio.run(main())


@pytest.mark.slow
def test_an_error_that_comes_later_is_that_of_the_next_request() -> None:
    async def main() -> None:
        kept, question = KeptAnswers(1, only_missed=True), Question(LookupError("broken"), LookupError("broken again"))
        assert await kept.find("drift", 1, question, SHORT_S) == STARTED
        question.may_answer.set()
        await until(lambda: question.ended == 1)
        with pytest.raises(LookupError, match="broken"):
            await kept.find("drift", 1, at_once("too early"), LONG_S)
        assert await kept.find("drift", 1, at_once("well"), LONG_S) == found("well")

        question.may_answer.clear()
        assert await kept.find("trend", 1, question, SHORT_S) == STARTED
        question.may_answer.set()
        await until(lambda: question.ended == 2)
        assert await kept.find("trend", 2, at_once("of another version"), LONG_S) == found("of another version")

    asyncio.run(main())


def test_only_what_was_missed_is_kept() -> None:
    async def main() -> None:
        kept, question = KeptAnswers(1, only_missed=True), Question("slow")
        assert await kept.find("fast", 1, at_once("first"), LONG_S) == found("first")
        assert await kept.find("fast", 1, at_once("second"), LONG_S) == found("second")
        assert await kept.find("slow", 1, question, SHORT_S) == STARTED
        question.may_answer.set()
        assert await kept.find("slow", 1, question, LONG_S) == found("slow")
        assert await kept.find("slow", 1, at_once("second"), LONG_S) == found("slow")

    asyncio.run(main())


def test_few_answers_are_kept() -> None:
    async def main() -> None:
        kept = KeptAnswers(1)
        for number in range(KEPT_MAX + 1):
            await kept.find(number, 1, at_once(str(number)), LONG_S)
        assert await kept.find(0, 1, at_once("again"), LONG_S) == found("again")
        assert await kept.find(KEPT_MAX, 1, at_once("again"), LONG_S) == found(str(KEPT_MAX))

    asyncio.run(main())


@pytest.mark.slow
def test_a_computation_that_nobody_asks_for_ends() -> None:
    async def main() -> None:
        kept, question = KeptAnswers(1, alone_s=SHORT_S), Question("found", "found")
        assert await kept.find("drift", 1, question, 0) == STARTED
        await until(lambda: question.ended == 1)
        asking = asyncio.ensure_future(kept.find("drift", 1, question, LONG_S))
        assert await kept.find("drift", 1, question, 0) == STARTED
        await asyncio.sleep(4 * SHORT_S)
        assert not asking.done()
        question.may_answer.set()
        assert await asking == found("found")
        assert question.asked == 2

    asyncio.run(main())


def test_few_computations_go_on_alone() -> None:
    async def main() -> None:
        kept, questions = KeptAnswers(RUNNING_MAX + 1), [Question("found") for _ in range(RUNNING_MAX + 1)]
        for number, question in enumerate(questions):
            assert await kept.find(number, 1, question, 0) == STARTED
            await asyncio.sleep(0)
        await until(lambda: all(question.asked for question in questions[1:]))
        await until(lambda: questions[0].ended == 1)
        assert sum(question.ended for question in questions) == 1
        await kept.close()

    asyncio.run(main())


def test_closing_ends_what_is_being_computed() -> None:
    async def main() -> None:
        kept, question = KeptAnswers(1), Question("never")
        assert await kept.find("drift", 1, question, SHORT_S) == STARTED
        await kept.close()
        assert question.ended == 1
        assert await kept.find("drift", 1, at_once("anew"), LONG_S) == found("anew")

    asyncio.run(main())

"""A request of a test that names no time limit has that of the tests."""

import httpx

from tests.conftest import ANSWER_S


def test_a_request_waits_as_long_as_the_tests_say() -> None:
    assert httpx.Client().timeout == httpx.Timeout(ANSWER_S)
    assert httpx.AsyncClient().timeout == httpx.Timeout(ANSWER_S)

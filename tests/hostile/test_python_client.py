"""The Python client reads no more than an answer can have, and nothing compressed."""

import asyncio
import re
import resource
from http.server import BaseHTTPRequestHandler

import pytest

from tallystick import AsyncClient, Client, ConnectionFailed, UnexpectedAnswer
from tests.hostile.malicious_server import FLOOD_BYTES, Response, bomb, flood, malicious
from tests.hostile.memory import MB

pytestmark = pytest.mark.slow


def feed_without_end(handler: BaseHTTPRequestHandler) -> None:
    """Answer a feed with one message that does not end."""
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("content-length", str(FLOOD_BYTES))
    handler.end_headers()
    handler.wfile.write(b"data: " + b"x" * (FLOOD_BYTES - 6))


@pytest.mark.trial("C6")
def test_a_message_without_end_is_cut_off() -> None:
    with malicious(feed_without_end) as url, Client(url) as client, pytest.raises(UnexpectedAnswer, match="1,048,576"):
        next(iter(client.follow()))


@pytest.mark.trial("C6")
@pytest.mark.parametrize(
    ("attack", "reason"), [(flood, "more than 67,108,864 bytes"), (bomb, "the encoding 'gzip'")], ids=["flood", "bomb"]
)
def test_an_answer_without_end_is_cut_off(attack: Response, reason: str) -> None:
    async def record(url: str) -> None:
        async with AsyncClient(url) as client:
            await client.record("ship it")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with malicious(attack) as url:
        with Client(url) as client, pytest.raises(ConnectionFailed, match=re.escape(reason)):
            client.record("ship it")
        with pytest.raises(ConnectionFailed, match=re.escape(reason)):
            asyncio.run(record(url))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < before + 180 * MB

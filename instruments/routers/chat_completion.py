"""What a chat endpoint's reply says, read leniently: only its text has to be there."""

import json
from typing import Any, NamedTuple

from events.limits import LABEL_CHARS_MAX
from events.payload import COUNT_MAX


class ChatCompletion(NamedTuple):
    """The text, which model the endpoint says it used, and the tokens of prompt and answer."""

    text: str
    model: str | None
    tokens: int | None


def completion(body: bytes) -> ChatCompletion | str:
    """A completion, or in words what the reply is instead."""
    reply = _parsed(body)
    if not isinstance(reply, dict):
        return f"answered with no JSON object: {_text(body)}"
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        return f"answered without a message in choices: {complaint(body)}"
    model, usage = reply.get("model"), reply.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    return ChatCompletion(
        text=_content(message),
        model=_whole(model) if isinstance(model, str) and 0 < len(model) <= LABEL_CHARS_MAX else None,
        tokens=tokens if type(tokens) is int and 0 <= tokens <= COUNT_MAX else None,
    )


def complaint(body: bytes) -> str:
    """What a reply says went wrong: its error's message, or the whole of it."""
    reply = _parsed(body)
    error = reply.get("error") if isinstance(reply, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return _whole(message) if isinstance(message, str) and message else _text(body)


def _content(message: dict[str, Any]) -> str:
    """The text of a message: as it stands, or put together from its parts; where there is none, why it was refused."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(map(_part, content))
    if not isinstance(content, str) or not content:
        content = message.get("refusal")
    return _whole(content) if isinstance(content, str) else ""


def _part(part: object) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else ""


def _parsed(body: bytes) -> object:
    """The JSON value, None where it is none or nests too deep."""
    try:
        return json.loads(_text(body))
    except (ValueError, RecursionError):
        return None


def _text(body: bytes) -> str:
    return body.decode("utf-8-sig", "replace")


def _whole(text: str) -> str:
    """The text without halves of surrogate pairs, which no UTF-8 can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

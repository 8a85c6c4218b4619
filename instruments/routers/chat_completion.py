"""Parse the reply of a chat completions endpoint leniently: only the text is required."""

import json
from typing import Any, NamedTuple

from instruments.stored_text import count_of, label_of


class ChatCompletion(NamedTuple):
    """The text, the model that the endpoint says it used, and the tokens of prompt and answer: together, and each."""

    text: str
    model: str | None
    tokens: int | None
    input_tokens: int | None
    output_tokens: int | None
    cut_off: bool
    """Whether the text ends at the endpoint's limit of tokens."""


def parse_completion(body: bytes) -> ChatCompletion | str:
    """Parse a reply's body; return a description of the problem if it is not a completion."""
    reply = _decode_json(body)
    if not isinstance(reply, dict):
        return f"answered with no JSON object: {_decode_text(body)}"
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        return f"answered without a message in choices: {error_message(body)}"
    model, usage = label_of(reply.get("model")), reply.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return ChatCompletion(
        text=_content(message),
        model=None if model is None else _replace_surrogates(model),
        tokens=count_of(counts.get("total_tokens")),
        input_tokens=count_of(counts.get("prompt_tokens")),
        output_tokens=count_of(counts.get("completion_tokens")),
        cut_off=first is not None and first.get("finish_reason") == "length",
    )


def error_message(body: bytes) -> str:
    """Return the message of a reply's `error`, or the whole reply if it has none."""
    reply = _decode_json(body)
    error = reply.get("error") if isinstance(reply, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return _replace_surrogates(message) if isinstance(message, str) and message else _decode_text(body)


def _content(message: dict[str, Any]) -> str:
    """Return a message's text, with its parts joined; without a text, that of its refusal."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(map(_part_text, content))
    if not isinstance(content, str) or not content:
        content = message.get("refusal")
    return _replace_surrogates(content) if isinstance(content, str) else ""


def _part_text(part: object) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else ""


def _decode_json(body: bytes) -> object:
    """Decode JSON; None if it is not JSON or nests too deep."""
    try:
        return json.loads(_decode_text(body))
    except (ValueError, RecursionError):
        return None


def _decode_text(body: bytes) -> str:
    return body.decode("utf-8-sig", "replace")


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

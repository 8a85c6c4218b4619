"""What a model's name says: its key, whether it names a host instead of a model, and which names are one model.

Rules are data, applied alike by who parses an answer and by who folds the inventory. They speak of names alone: who
really answered is for the evidence to say.
"""

import re
from functools import lru_cache

from events.limits import STREAM_ID_CHARS_MAX

WRAPPERS = frozenset({"auto", "azure", "composer", "copilot", "cursor"})
"""Hosts that name themselves where the model was asked for. Source: reference implementation of discovery."""

FILLERS = frozenset({
    "agent", "ai", "assistant", "chat", "cli", "default", "editor", "foundry", "github", "ide", "microsoft", "mode",
    "model", "openai", "router", "select", "service",
})  # fmt: skip
"""Words that leave a wrapper's name a wrapper's name: `github copilot`, `azure-openai`, `cursor agent`."""

UNRESOLVED = frozenset({
    "ai", "assistant", "llm", "model", "n/a", "na", "none", "null", "unavailable", "undefined", "undisclosed",
    "unknown", "unnamed", "unspecified",
})  # fmt: skip
"""Names that name nothing."""

NAMES_KEPT = 4_096
"""So many different names are judged once; a history has few, and a client may make up many."""

_parts = re.compile(r"[^a-z0-9]+")
_version = re.compile(r"v?\d+")

ALIAS_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^.*/"), ""),  # a provider's prefix: anthropic/NAME, models/NAME
    (re.compile(r"^(?:[a-z]{2,6}\.)?(?:amazon|anthropic|cohere|deepseek|meta|mistral|openai|qwen)\.(?=[a-z])"), ""),
    (re.compile(r"-v\d+:\d+$"), ""),  # eu.anthropic.NAME-v1:0, as clouds write it
    (re.compile(r":(?:exacto|floor|free|nitro)$"), ""),  # how a router is to choose who serves it
    (re.compile(r"[:-]latest$"), ""),
    (re.compile(r"[^a-z0-9.]+"), "-"),  # NAME 4, name_4 and name-4
    (re.compile(r"-(?:20\d{6}|20\d\d-[01]\d-[0-3]\d)(?=-|$)"), ""),  # the date of a release
    (re.compile(r"-(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])(?=-preview$|$)"), ""),  # month and day: NAME-0613
    (re.compile(r"(?<=\D\d)-(?=\d(?:[^\dbkm]|$))"), "."),  # 3-5 is 3.5; a size as in 3-8b is not
    (re.compile(r"^[-.]+|[-.]+$"), ""),
)
"""Pattern and replacement, in this order and until nothing changes: what makes the names of one model the same name."""


def key_of(model_name: str) -> str:
    """The key of a claimed name: `GPT-X ` and `gpt-x` are the same claim."""
    return model_name.strip().lower()


@lru_cache(NAMES_KEPT)
def is_wrapper(model_name: str) -> bool:
    """Whether a name is a host's own: one of WRAPPERS, or a compound of them."""
    words = [word for word in _parts.split(key_of(model_name)) if word]
    return any(word in WRAPPERS for word in words) and all(
        word in WRAPPERS or word in FILLERS or _version.fullmatch(word) for word in words
    )


@lru_cache(NAMES_KEPT)
def is_unresolved(model_name: str) -> bool:
    """Whether a name names no model: `unknown`, a placeholder left as it was, nothing at all."""
    key = key_of(model_name)
    return canonical(key) == "" or key in UNRESOLVED or (key[0] in "<[{" and key[-1] in ">]}")


@lru_cache(NAMES_KEPT)
def canonical(model_name: str) -> str:
    """The name that a model's dated, prefixed and differently written names share; fit to name a stream.

    Empty where nothing is left.
    """
    name, before = key_of(model_name), ""
    while name != before:
        before = name
        for pattern, replacement in ALIAS_RULES:
            name = pattern.sub(replacement, name)
    return name[:STREAM_ID_CHARS_MAX].rstrip("-.")

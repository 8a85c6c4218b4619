"""Rules for model names: normalised keys, names that identify no model, and canonical names.

The rules are data; the parser of answers and the fold of the inventory apply the same ones. They judge names alone. The
evidence shows which model really answered.
"""

import re
from functools import lru_cache

from events.host_names import CACHED_NAMES_MAX
from events.limits import STREAM_ID_CHARS_MAX

UNRESOLVED = frozenset({
    "ai", "assistant", "llm", "model", "n/a", "na", "none", "null", "unavailable", "undefined", "undisclosed",
    "unknown", "unnamed", "unspecified",
})  # fmt: skip
"""Names that identify no model."""

_BETWEEN = "\x1f"
"""What separates two joined names: the unit separator of ASCII."""

ALIAS_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"^.*/"), ""),  # a provider's prefix: anthropic/NAME, models/NAME
    (re.compile(r"^(?:[a-z]{2,6}\.)?(?:amazon|anthropic|cohere|deepseek|meta|mistral|openai|qwen)\.(?=[a-z])"), ""),
    (re.compile(r"-v\d+:\d+$"), ""),  # eu.anthropic.NAME-v1:0, as clouds write it
    (re.compile(r":(?:exacto|floor|free|nitro)$"), ""),  # a router's rule for choosing the provider
    (re.compile(r"[:-]latest$"), ""),
    (re.compile(r"[^a-z0-9.]+"), "-"),  # NAME 4, name_4 and name-4
    (re.compile(r"-(?:20\d{6}|20\d\d-[01]\d-[0-3]\d)(?=-|$)"), ""),  # the date of a release
    (re.compile(r"-(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])(?=-preview$|$)"), ""),  # month and day: NAME-0613
    (re.compile(r"(?<=\D\d)-(?=\d(?:[^\dbkm]|$))"), "."),  # 3-5 is 3.5; a size as in 3-8b is not
    (re.compile(r"^[-.]+|[-.]+$"), ""),
)
"""Patterns and replacements that give all names of a model one form. Apply in this order, until nothing changes."""


def claim_key(model_name: str) -> str:
    """Return the key of a claimed name: `GPT-X ` and `gpt-x` are the same claim."""
    return model_name.strip().lower()


def join_names(claimed: str | None, reported: str | None) -> str | None:
    """Return the claimed name of a model and the one that its endpoint reported as one text; None without any."""
    return claimed if reported is None else f"{claimed or ''}{_BETWEEN}{reported}"


def split_names(joined: str) -> tuple[str, str]:
    """Return the two names that `join_names` joined. A missing one is empty."""
    claimed, _, reported = joined.partition(_BETWEEN)
    return claimed, reported


@lru_cache(CACHED_NAMES_MAX)
def is_unresolved(model_name: str) -> bool:
    """Return whether a name identifies no model: `unknown`, a placeholder, or an empty name."""
    key = claim_key(model_name)
    return canonical_name(key) == "" or key in UNRESOLVED or (key[0] in "<[{" and key[-1] in ">]}")


@lru_cache(CACHED_NAMES_MAX)
def canonical_name(model_name: str) -> str:
    """Return the form that a model's dated, prefixed and differently written names share.

    It is valid as the id of a stream, or empty where the rules leave nothing.
    """
    name, previous = claim_key(model_name), ""
    while name != previous:
        previous = name
        for pattern, replacement in ALIAS_RULES:
            name = pattern.sub(replacement, name)
    return name[:STREAM_ID_CHARS_MAX].rstrip("-.")

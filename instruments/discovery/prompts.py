"""The discovery prompt: identify yourself, refuse if you are an excluded model, and solve the probe's task.

The prompt names no model, provider or host as an example: 40 % of the names that the first implementation collected
were the examples of its own prompt. The only names in a prompt are those that earlier answers claimed.
"""

from collections.abc import Sequence

from events.model import ModelIdentity
from instruments.discovery.identity_parser import one_line

PROMPT_VERSION = "1"
"""Raised whenever a byte of a prompt changes; golden files contain the prompts of each version."""

REFUSAL = "EXCLUDED"
"""The word that an excluded model must answer."""

IDENTITY = """\
First say who is answering. The first line of your answer is one JSON object of this form:

{"model_name": "<name>", "provider": "<provider>", "version": "<version>", "wrapper": "<wrapper>"}

In it, model_name is the exact name of the language model that writes this answer, and not of a program, editor or
service that passes it on; provider is who made that model; version is its version or its release date; wrapper is the
program, editor or service that passes this answer on, and is left out where there is none.

Put your own facts in place of each <...>. Where you do not know one, write "unknown" and do not guess.
Below that line, give your answer to the task.
"""
"""Asks for the model's identity. The parser ignores placeholders (in angle brackets) that an answer repeats."""

_EXCLUSION = """\
This task is for a model that has not answered it yet. These have, and must not answer again, whatever date or release
their names carry:

{names}

If you are one of them, answer with the one word {refusal} and nothing else: no identity, no answer to the task.
"""


def build_exclusion(excluded: Sequence[ModelIdentity]) -> str:
    """Build the part of a prompt that lists the excluded models; empty if there are none."""
    if not excluded:
        return ""
    return _EXCLUSION.format(
        names="\n".join(f"- {_describe_identity(identity)}" for identity in excluded), refusal=REFUSAL
    )


def build_prompt(task: str, excluded: Sequence[ModelIdentity] = ()) -> str:
    """Build the whole prompt: the exclusion, the request for an identity, and the task (a probe's text)."""
    return "\n".join(part for part in (build_exclusion(excluded), IDENTITY, f"The task:\n\n{task}") if part)


def _describe_identity(identity: ModelIdentity) -> str:
    """Describe a claimed identity on one line: `NAME (PROVIDER, version VERSION)`."""
    provider = one_line(identity.provider or "")
    version = one_line(identity.version or "")
    about = ", ".join(part for part in (provider, version and f"version {version}") if part)
    return f"{one_line(identity.model_name)} ({about})" if about else one_line(identity.model_name)

"""What a model is asked: to say who it is, not to be one of those seen already, and to do the probe's task.

No model, provider or host is named as an example: of the names that the first implementation collected, two in five
were the very examples its prompt gave. The only names a prompt may hold are those that answers claimed before.
"""

from collections.abc import Sequence

from events import ModelIdentity
from instruments.discovery.identity_parser import one_line

PROMPT_VERSION = "1"
"""Raised whenever a byte of a prompt changes; the bytes of each version are pinned by golden files."""

REFUSAL = "EXCLUDED"
"""What one of the excluded is to answer."""

IDENTITY = """\
First say who is answering. The first line of your answer is one JSON object of this form:

{"model_name": "<name>", "provider": "<provider>", "version": "<version>", "wrapper": "<wrapper>"}

In it, model_name is the exact name of the language model that writes this answer, and not of a program, editor or
service that passes it on; provider is who made that model; version is its version or its release date; wrapper is the
program, editor or service that passes this answer on, and is left out where there is none.

Put your own facts in place of each <...>. Where you do not know one, write "unknown" and do not guess.
Below that line, give your answer to the task.
"""
"""Asks who answers. Its placeholders stand in angle brackets, so that one that is echoed is no claim."""

_EXCLUSION = """\
This task is for a model that has not answered it yet. These have, and must not answer again, whatever date or release
their names carry:

{names}

If you are one of them, answer with the one word {refusal} and nothing else: no identity, no answer to the task.
"""


def exclusion(excluded: Sequence[ModelIdentity]) -> str:
    """The part of a prompt that says whom it must not be; empty where nobody is excluded."""
    if not excluded:
        return ""
    return _EXCLUSION.format(names="\n".join(f"- {_named(identity)}" for identity in excluded), refusal=REFUSAL)


def prompt(task: str, excluded: Sequence[ModelIdentity] = ()) -> str:
    """The whole prompt: whom it must not be, who it is, and the task, which is the text of a probe."""
    return "\n".join(part for part in (exclusion(excluded), IDENTITY, f"The task:\n\n{task}") if part)


def _named(identity: ModelIdentity) -> str:
    """A claimed identity on one line, whatever it is made of: `NAME (PROVIDER, version VERSION)`."""
    provider = one_line(identity.provider or "")
    version = one_line(identity.version or "")
    about = ", ".join(part for part in (provider, version and f"version {version}") if part)
    return f"{one_line(identity.model_name)} ({about})" if about else one_line(identity.model_name)

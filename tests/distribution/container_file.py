"""The container file, as instructions."""

import json
import re
import shlex

from tests.support.paths import ROOT


def instructions() -> list[tuple[str, str]]:
    """Every instruction with its arguments, in order."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def last(name: str) -> str:
    """The arguments of the last instruction of a kind."""
    return [rest for word, rest in instructions() if word == name][-1]


def commands() -> list[str]:
    """What the first stage runs."""
    stage = [index for index, (word, _) in enumerate(instructions()) if word == "FROM"][1]
    return [" ".join(rest.split()) for word, rest in instructions()[:stage] if word == "RUN"]


def started() -> list[str]:
    """The command of a container, as words."""
    return [*json.loads(last("ENTRYPOINT")), *json.loads(last("CMD"))]


def health_check() -> list[str]:
    """The command that asks for its health, as words."""
    found = re.search(r"CMD (\[.*\])$", last("HEALTHCHECK"))
    assert found
    return [str(word) for word in json.loads(found[1])]


def variables() -> dict[str, str]:
    """What the last stage sets."""
    return dict(word.split("=", 1) for word in shlex.split(last("ENV")))

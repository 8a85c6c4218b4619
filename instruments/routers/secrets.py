"""What must not be kept: keys and passwords, taken out of whatever a router says.

A secret is looked for as it is and as URLs and JSON write it, whatever the case. Values shorter than SECRET_CHARS_MIN
are no secrets: taking them out would take letters out of every answer.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

HIDDEN = "[redacted]"
SECRET_CHARS_MIN = 6

_credential = re.compile(
    r"(?:^|[^a-z])(?:authorization|(?:api)?(?:key|token|secret|password|passwd|pass|credential)s?)(?:[^a-z]|$)",
    re.IGNORECASE,
)
_assigned = re.compile(r"-{0,2}([\w.-]+)(?:=|:\s*)(.+)", re.DOTALL)


class Secrets:
    """Values to be hidden."""

    def __init__(self, values: Iterable[str]) -> None:
        known = {value.strip() for value in values}
        forms = {form for value in known for form in (value, quote(value, safe=""), json.dumps(value)[1:-1])}
        hidden = sorted((form for form in forms if len(form) >= SECRET_CHARS_MIN), key=lambda form: (-len(form), form))
        self._hidden = re.compile("|".join(map(re.escape, hidden)), re.IGNORECASE) if hidden else None

    def hide(self, text: str) -> str:
        """The text with `[redacted]` in place of each secret."""
        return text if self._hidden is None else self._hidden.sub(HIDDEN, text)


def of_environment(variables: Mapping[str, str]) -> list[str]:
    """The values of variables whose names say that they are secret, as OPENAI_API_KEY and GITHUB_TOKEN do."""
    return [value for name, value in variables.items() if _credential.search(name)]


def of_arguments(words: Sequence[str]) -> list[str]:
    """The values of arguments whose names say so: `--token VALUE`, `--api-key=VALUE`, `X-Key: VALUE`."""
    found = []
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if (assigned := _assigned.fullmatch(word)) is not None:
            if _credential.search(assigned[1]):
                found += [assigned[2], assigned[2].rpartition(" ")[2]]
        elif word.startswith("-") and _credential.search(word):
            found.append(following)
    return found

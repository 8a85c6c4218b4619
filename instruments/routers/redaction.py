"""What must not be kept: keys and passwords, taken out of whatever a router says.

A secret is looked for as it is and as URLs and JSON write it, whatever the case. Values shorter than SECRET_CHARS_MIN
are no secrets: taking them out would take letters out of every answer.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

HIDDEN = "[redacted]"
SECRET_CHARS_MIN = 6

SAID_CHARS_MAX = 2_000
"""So much of the end of what a program wrote is kept."""

_NAMES = r"(?:authorization|(?:api)?(?:key|token|secret|password|passwd|pass|credential)s?)"

_credential = re.compile(rf"(?<![a-z]){_NAMES}(?![a-z])", re.IGNORECASE)
_told = re.compile(
    rf"(?<![a-z]){_NAMES}[=:\s\0\"']+(?=((?:(?:bearer|basic|token)\s+)?([^\s\0\"'&]+)[^\0]*))", re.IGNORECASE
)
_user = re.compile(r"//([^/\s@]+)@")


class Redactor:
    """Values to be hidden."""

    def __init__(self, values: Iterable[str]) -> None:
        known = {value.strip() for value in values}
        forms = {form for value in known for form in (value, quote(value, safe=""), json.dumps(value)[1:-1])}
        hidden = sorted((form for form in forms if len(form) >= SECRET_CHARS_MIN), key=lambda form: (-len(form), form))
        self._forms = tuple(form.casefold() for form in hidden)
        self._hidden = re.compile("|".join(map(re.escape, hidden)), re.IGNORECASE) if hidden else None

    def hide(self, text: str) -> str:
        """The text with `[redacted]` in place of each secret."""
        return text if self._hidden is None else self._hidden.sub(HIDDEN, text)

    def hide_within(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        """A JSON value with `[redacted]` in place of each secret, in names, too; a number that is one ends as text."""
        if isinstance(value, dict):
            return {self.hide(name): self.hide_within(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.hide_within(each) for each in value]
        if isinstance(value, str):
            return self.hide(value)
        told = str(value)
        hidden = self.hide(told)
        return value if hidden == told else hidden

    def last_lines(self, data: bytes) -> str:
        """The end of what a program wrote, without secrets: SAID_CHARS_MAX characters, whole lines where they fit."""
        text = self.hide(data.decode("utf-8", "replace")).strip()
        if len(text) <= SAID_CHARS_MAX:
            return text
        end = text[-SAID_CHARS_MAX:]
        return end.partition("\n")[2] or end

    def hide_cut(self, text: str) -> str:
        """The same of a text that was cut out of another, where it may begin and end within a secret."""
        text = self.hide(text)
        for form in self._forms:
            if SECRET_CHARS_MIN <= len(text) < len(form) and text.casefold() in form:
                return HIDDEN
            for size in range(min(len(form) - 1, len(text)), SECRET_CHARS_MIN - 1, -1):
                if text[-size:].casefold() == form[:size]:
                    text = text[:-size] + HIDDEN
                if text[:size].casefold() == form[-size:]:
                    text = HIDDEN + text[size:]
        return text


def of_environment(variables: Mapping[str, str]) -> list[str]:
    """The values of variables whose names say that they are secret, as OPENAI_API_KEY and GITHUB_TOKEN do."""
    return [value for name, value in variables.items() if _credential.search(name)]


def of_arguments(words: Sequence[str]) -> list[str]:
    """What arguments give to names that say that it is secret, and the user and password of an address.

    `--token VALUE`, `--api-key=VALUE`, `-H 'X-Key: VALUE'`, `?key=VALUE`, and the like within one argument.
    """
    line = "\0".join(words)
    return [value for told in _told.finditer(line) for value in told.groups()] + _user.findall(line)

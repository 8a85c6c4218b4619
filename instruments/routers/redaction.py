"""Remove secrets (keys, passwords) from the output of programs and endpoints.

A secret is found as it is, escaped for URLs and escaped for JSON, ignoring case. Values shorter than SECRET_CHARS_MIN
are not treated as secrets: removing them would remove letters from every answer.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

HIDDEN = "[redacted]"
SECRET_CHARS_MIN = 6

OUTPUT_TAIL_CHARS_MAX = 2_000
"""Characters kept of the end of a program's output."""

_NAMES = r"(?:authorization|(?:api)?(?:key|token|secret|password|passwd|pass|credential)s?)"

_credential = re.compile(rf"(?<![a-z]){_NAMES}(?![a-z])", re.IGNORECASE)
_named_value = re.compile(
    rf"(?<![a-z]){_NAMES}[=:\s\0\"']+(?=((?:(?:bearer|basic|token)\s+)?([^\s\0\"'&]+)[^\0]*))", re.IGNORECASE
)
_userinfo = re.compile(r"//([^/\s@]+)@")


class Redactor:
    """Replaces secret values with `[redacted]`."""

    def __init__(self, values: Iterable[str]) -> None:
        secrets = {value.strip() for value in values}
        forms = {form for value in secrets for form in (value, quote(value, safe=""), json.dumps(value)[1:-1])}
        sorted_forms = sorted(
            (form for form in forms if len(form) >= SECRET_CHARS_MIN), key=lambda form: (-len(form), form)
        )
        self._forms = tuple(form.casefold() for form in sorted_forms)
        self._hidden = re.compile("|".join(map(re.escape, sorted_forms)), re.IGNORECASE) if sorted_forms else None

    def hide(self, text: str) -> str:
        """Return the text with each secret replaced."""
        return text if self._hidden is None else self._hidden.sub(HIDDEN, text)

    def hide_within(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        """Return a JSON value with each secret replaced, in keys too; a number that is a secret becomes a text."""
        if isinstance(value, dict):
            return {self.hide(name): self.hide_within(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.hide_within(inner) for inner in value]
        if isinstance(value, str):
            return self.hide(value)
        text = str(value)
        hidden = self.hide(text)
        return value if hidden == text else hidden

    def last_lines(self, data: bytes) -> str:
        """Return the last OUTPUT_TAIL_CHARS_MAX characters of a program's output, redacted; whole lines if they fit."""
        text = self.hide(data.decode("utf-8", "replace")).strip()
        if len(text) <= OUTPUT_TAIL_CHARS_MAX:
            return text
        end = text[-OUTPUT_TAIL_CHARS_MAX:]
        return end.partition("\n")[2] or end

    def hide_cut(self, text: str) -> str:
        """Redact a part of a longer text, which may begin or end with a part of a secret."""
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


def secrets_in_environment(variables: Mapping[str, str]) -> list[str]:
    """Return the values of variables whose names are those of secrets, such as OPENAI_API_KEY and GITHUB_TOKEN."""
    return [value for name, value in variables.items() if _credential.search(name)]


def secrets_in_arguments(words: Sequence[str]) -> list[str]:
    """Return the values of arguments whose names are those of secrets, and user and password of URLs.

    Examples: `--token VALUE`, `--api-key=VALUE`, `-H 'X-Key: VALUE'`, `?key=VALUE`.
    """
    line = "\0".join(words)
    return [value for match in _named_value.finditer(line) for value in match.groups()] + _userinfo.findall(line)
